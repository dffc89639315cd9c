import { CUSTOM_FIELD_TYPES } from '../../lib/validators/field-values.ts';
import type { FormField } from '../../lib/validators/form.ts';
import type { CrmFile } from '../ops/crm-file.ts';

const PROOF = { label: 'Proof of identity', accept: ['application/pdf', 'image/png', 'image/jpeg'] };
/** The additional rules of the full form's fields. The others accept any value of their type. */
const FULL_FORM_DETAILS: Partial<Record<FormField['type'], Partial<FormField>>> = {
  text: { label: 'Occupation', required: true },
  radio: { label: 'Do you trade already?', options: ['yes', 'no'] },
  select: { label: 'Experience', options: ['none', 'some', 'pro'] },
  multiselect: { label: 'Markets', options: ['fx', 'metals', 'indices'] },
  checkbox: { label: 'Consents', options: ['terms', 'news'] },
  document: PROOF,
};

const WEB_API = { platform: 'tp5', protocol: 'web-api', host: 'local', port: 443 } as const;
const TP4 = { platform: 'tp4', host: 'local', port: 443, code_page: 'windows-1252' } as const;
const PLUG_IN = { ...TP4, protocol: 'web-registration' } as const;
const GATEWAY = { ...TP4, protocol: 'interface-gateway' } as const;

const CONNECTIONS = [
  {
    ...WEB_API,
    id: 'tp5-live-1',
    name: 'Live',
    demo: false,
    groups: ['real\\standard', 'real\\raw', 'real\\strict'],
    logins: { from: 500_000, to: 599_999 },
  },
  {
    ...WEB_API,
    id: 'tp5-demo-1',
    name: 'Demo, any group that the server has',
    demo: true,
    logins: { from: 600_000, to: 699_999 },
  },
  {
    ...PLUG_IN,
    id: 'tp4-live-1',
    name: 'Live, by the registration plug-in',
    demo: false,
    groups: { standard: 1, raw: 2, strict: 3 },
  },
  {
    ...PLUG_IN,
    id: 'tp4-demo-1',
    name: 'Demo, by the registration plug-in',
    demo: true,
    groups: { demoforex: 1 },
  },
  {
    ...GATEWAY,
    id: 'tp4-gw-1',
    name: 'Demo, by a gateway',
    demo: true,
    groups: ['demoforex'],
    logins: { from: 600_000, to: 649_999 },
  },
  {
    ...GATEWAY,
    id: 'tp4-gw-2',
    name: 'Live, by a gateway, any group that the server has',
    demo: false,
    logins: { from: 650_000, to: 699_999 },
  },
];

/** The records that `npm start` has when it is given no `CRM_FILE`. Every server among them is simulated. */
export const DEMO_RECORDS: CrmFile = {
  forms: [
    {
      id: 'FORM0001',
      name: 'Retail',
      fields: [
        { key: 'k3J9xQ', type: 'select', label: 'Experience', required: true, options: ['none', 'some', 'pro'] },
        { key: 'd0cUpl', type: 'document', ...PROOF },
      ],
    },
    { id: 'FORM0002', name: 'Short', fields: [] },
    {
      id: 'FORMFULL',
      name: 'Every type of field, each under its own name',
      fields: CUSTOM_FIELD_TYPES.map((type) => ({
        key: `field_${type}`,
        type,
        label: type,
        ...FULL_FORM_DETAILS[type],
      })),
    },
  ],
  clients: [
    {
      id: 'CLIENT01',
      email: 'ann@example.com',
      name: 'Ann Lee',
      phone: { country_code: '44', number: '7400123456' },
      country: 'GB',
      language: 'en',
      referral_code: 'REFANN01',
    },
    { id: 'CLIENT02', email: 'juan@example.com', name: 'Juan Pérez', country: 'ES', language: 'es' },
    {
      id: 'CLIENT03',
      email: 'yuki@example.jp',
      name: '山田 雪',
      phone: { country_code: '81', number: '9012345678' },
      country: 'JP',
      language: 'ja',
      referral_code: 'REFYUKI3',
    },
    { id: 'CLIENT04', email: 'layla@example.com', name: 'ليلى حداد', country: 'AE', language: 'ar' },
    { id: 'CLIENT05', email: 'joerg@bücher.example', name: 'Jörg Müller', country: 'DE', language: 'de-AT' },
    { id: 'CLIENT06', email: 'nobody@example.org', name: 'Kim' },
  ],
  account_types: [
    { id: 'ATDEMO01', name: 'Demo', platform: 'tp5', deposit: 10_000 },
    { id: 'ATDEMO04', name: 'Demo', platform: 'tp4', deposit: 5_000 },
    { id: 'ATLIVE05', name: 'Standard', platform: 'tp5' },
    { id: 'ATLIVE04', name: 'Standard', platform: 'tp4' },
  ],
  connections: CONNECTIONS.map((one) => ({ ...one, secret: `platform/${one.id}` })),
  local_secrets: {},
};
