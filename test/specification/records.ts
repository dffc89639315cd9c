import type { CrmFile } from '../../infra/ops/crm-file.ts';
import { CUSTOM_FIELD_TYPES } from '../../lib/validators/field-values.ts';
import type { FormField } from '../../lib/validators/form.ts';
import type { Version } from './table.ts';

/** The key of a field in the form that has one of every type, none of which is required. */
export const keyOf = (type: FormField['type']) => `k3y_${type}`;
/** More fields: with options, with accepted media types, and under a key that a JSON Pointer has to escape. */
export const MORE_KEYS = {
  radio: '0pt_radio',
  select: '0pt_select',
  multiselect: '0pt_multiselect',
  checkbox: '0pt_checkbox',
  document: '4ny_document',
  escaped: 'a/b~c d%é',
} as const;
export const OPTIONS = ['fx', 'metals', 'indices'];

export const FORM = 'FORMSPEC';
/** Has one field of every type. */
export const DEMANDING_FORM = 'FORMREQD';
/** Has a field for a consent. */
export const CONSENT_FORM = 'FORMMUST';

const fields: FormField[] = [
  ...CUSTOM_FIELD_TYPES.map((type) => ({
    key: keyOf(type),
    type,
    ...(type === 'document' ? { accept: ['application/pdf', 'image/*', 'text/plain'] } : {}),
  })),
  ...(['radio', 'select', 'multiselect', 'checkbox'] as const).map((type) => ({
    key: MORE_KEYS[type],
    type,
    options: OPTIONS,
  })),
  { key: MORE_KEYS.document, type: 'document' },
  { key: MORE_KEYS.escaped, type: 'boolean' },
];

/** The client that accounts are opened for, by default. */
export const CLIENT = {
  id: 'CLIENT01',
  email: 'ann@clients.example',
  name: 'Ann Lee',
  phone: { country_code: '44', number: '7400123456' },
  country: 'GB',
  language: 'en',
  referral_code: 'REFANN01',
};
/** Clients like it, so that the notices of simultaneous openings can be distinguished. */
export const TRADERS = Array.from({ length: 80 }, (_, index) => {
  const { phone, referral_code, ...rest } = CLIENT;
  return { ...rest, id: `TRADER${index + 10}`, email: `trader${index}@clients.example` };
});
export const SPANISH_CLIENT = {
  id: 'CLIENT02',
  email: 'juan@clients.example',
  name: 'Juan Pérez',
  country: 'ES',
  language: 'es',
};

const server = { host: 'local', port: 443, demo: false };
const tp5 = { ...server, platform: 'tp5', protocol: 'web-api' } as const;
const plugin = { ...server, platform: 'tp4', protocol: 'web-registration', code_page: 'windows-1252' } as const;
/** A range of its own for each connection. */
const logins = (place: number) => ({ from: place * 1_000_000, to: place * 1_000_000 + 99_999 });
const gateway = { ...server, platform: 'tp4', protocol: 'interface-gateway', code_page: 'windows-1252' } as const;

/** The connection and the group of an account, by defaults. */
export const PLACES = {
  tp5: { connection_id: 'tp5-live', group: 'real\\standard' },
  tp4: { connection_id: 'tp4-gateway', group: 'standard' },
} as const satisfies Record<Version, { connection_id: string; group: string }>;
/** A demo connection of each version, and account types of it that fund an account and that do not. */
export const DEMO_PLACES = {
  tp5: { connection_id: 'tp5-demo', group: 'demo\\forex', funded: 'DEMOTYP5', deposit: 10_000, unfunded: 'LIVETYP5' },
  tp4: {
    connection_id: 'tp4-plugin-demo',
    group: 'demoforex',
    funded: 'DEMOTYP4',
    deposit: 5_000,
    unfunded: 'LIVETYP4',
  },
} as const;

/** A connection and a group of each version whose names are as long as any may be. */
export const LONG_PLACES = {
  tp5: { connection_id: 'tp5-'.padEnd(64, 'x'), group: 'real\\'.padEnd(64, 'x') },
  tp4: { connection_id: 'tp4-'.padEnd(64, 'x'), group: 'real-'.padEnd(64, 'x') },
} as const satisfies Record<Version, { connection_id: string; group: string }>;

/** The longest language tag; a letter more still makes a well-formed one. */
export const LONG_LANGUAGE = `en-x-${'abcdefgh-'.repeat(6)}abcde`;

export const RECORDS: CrmFile = {
  forms: [
    { id: FORM, fields },
    { id: DEMANDING_FORM, fields: CUSTOM_FIELD_TYPES.map((type) => ({ key: keyOf(type), type, required: true })) },
    { id: CONSENT_FORM, fields: [{ key: keyOf('boolean'), type: 'boolean', must: true, version: '2026-11' }] },
    { id: '~!@#$%^&', fields: [] },
  ],
  clients: [
    CLIENT,
    ...TRADERS,
    SPANISH_CLIENT,
    { id: '~!@$%^&*', email: 'kim@clients.example', name: 'Kim', referral_code: '*&^%$#@!' },
  ],
  account_types: [
    { id: DEMO_PLACES.tp5.funded, platform: 'tp5', deposit: DEMO_PLACES.tp5.deposit },
    { id: DEMO_PLACES.tp4.funded, platform: 'tp4', deposit: DEMO_PLACES.tp4.deposit },
    { id: DEMO_PLACES.tp5.unfunded, platform: 'tp5' },
    { id: DEMO_PLACES.tp4.unfunded, platform: 'tp4' },
  ],
  connections: [
    {
      ...tp5,
      id: PLACES.tp5.connection_id,
      groups: ['real\\standard', 'real\\strict'],
      logins: logins(1),
      secret: 'tp5-live',
    },
    { ...tp5, id: DEMO_PLACES.tp5.connection_id, demo: true, logins: logins(2), secret: 'tp5-demo' },
    {
      ...gateway,
      id: PLACES.tp4.connection_id,
      groups: ['standard', 'strict'],
      logins: logins(3),
      secret: 'tp4-gateway',
    },
    { ...gateway, id: 'tp4-gateway-demo', demo: true, logins: logins(4), secret: 'tp4-gateway-demo' },
    { ...plugin, id: 'tp4-plugin', groups: { standard: 1, strict: 2 }, secret: 'tp4-plugin' },
    {
      ...plugin,
      id: DEMO_PLACES.tp4.connection_id,
      demo: true,
      groups: { standard: 1, demoforex: 2 },
      secret: 'tp4-plugin-demo',
    },
    {
      ...tp5,
      id: LONG_PLACES.tp5.connection_id,
      groups: [PLACES.tp5.group, LONG_PLACES.tp5.group],
      logins: logins(5),
      secret: 'tp5-long',
    },
    // A server of this version takes such a long group only by index, not by name.
    {
      ...plugin,
      id: LONG_PLACES.tp4.connection_id,
      groups: { [PLACES.tp4.group]: 1, [LONG_PLACES.tp4.group]: 2 },
      secret: 'tp4-long',
    },
  ],
  local_secrets: {},
};
