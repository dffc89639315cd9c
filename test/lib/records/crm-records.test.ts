import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { AccountTypeSchema, ClientSchema, ConnectionSchema } from '../../../lib/records/crm-records.ts';
import { FIXED_FIELDS, FormSchema } from '../../../lib/validators/form.ts';
import { toFaults } from '../../../lib/validators/primitives.ts';

const form = {
  id: 'FORM0001',
  name: 'Retail',
  fields: [
    { key: 'k3J9xQ', type: 'select', label: 'Experience', required: true, options: ['none', 'some', 'pro'] },
    { key: 'd0cUpl', type: 'document', label: 'Proof', accept: ['application/pdf', 'image/*'] },
  ],
};
const client = {
  id: 'CLIENT01',
  email: 'ann@example.com',
  name: 'Ann Lee',
  phone: { country_code: '44', number: '7400123456' },
  country: 'GB',
  language: 'en',
  referral_code: 'REFANN01',
};
const accountType = { id: 'ATDEMO01', name: 'Demo', platform: 'tp5', deposit: 10000 };
const server = { host: 'mt.example.com', port: 443, demo: false, secret: 'platform/x' };
const webApi = { ...server, id: 'tp5-live-1', platform: 'tp5', protocol: 'web-api', groups: ['real\\standard'] };
const webRegistration = {
  ...server,
  id: 'tp4-live-1',
  platform: 'tp4',
  protocol: 'web-registration',
  groups: { standard: 1 },
};
const gateway = { ...server, id: 'tp4-gw-1', platform: 'tp4', protocol: 'interface-gateway', groups: ['demoforex'] };

const rulesOf = (schema: v.GenericSchema, record: unknown) => {
  const result = v.safeParse(schema, record);
  return result.success ? [] : toFaults(result.issues).map(({ pointer, rule }) => `${pointer} ${rule}`);
};

describe('the records of the contract', () => {
  test.each([
    ['form', FormSchema, form],
    ['client', ClientSchema, client],
    ['account type', AccountTypeSchema, accountType],
    ['web-api connection', ConnectionSchema, webApi],
    ['interface-gateway connection', ConnectionSchema, { ...gateway, code_page: 'windows-1251' }],
    ['web-registration connection', ConnectionSchema, { ...webRegistration, code_page: 'windows-1252' }],
  ] as const)('are accepted as they are: %s', (_, schema, record) => {
    expect(v.parse(schema as v.GenericSchema, record)).toEqual(record);
  });
});

describe('a form', () => {
  test.each([...FIXED_FIELDS, '__proto__'])('has no field with the key %s', (key) => {
    expect(rulesOf(FormSchema, { ...form, fields: [{ key, type: 'text' }] })).toEqual(['#/fields/0/key format']);
  });

  test('has each key once', () => {
    const fields = [...form.fields, ...form.fields];
    expect(rulesOf(FormSchema, { ...form, fields })).toEqual(['#/fields/2/key format', '#/fields/3/key format']);
  });

  test('is told all its faults at once', () => {
    const fields = [{ key: '', type: 'rating', size: 3 }, 'text', { type: 'document', accept: ['pdf'] }];
    expect(rulesOf(FormSchema, { id: 'F', fields, x: 1 })).toEqual([
      '#/id length',
      '#/fields/0/key length',
      '#/fields/0/type one_of',
      '#/fields/0/size unknown_field',
      '#/fields/1 type',
      '#/fields/2/key required',
      '#/fields/2/accept/0 media_type',
      '#/x unknown_field',
    ]);
  });
});

test('A client has an e-mail address, an ISO country and 8-character codes', () => {
  expect(rulesOf(ClientSchema, { ...client, email: 'ann', country: 'XK', id: 'x', referral_code: 'y' })).toEqual([
    '#/id length',
    '#/email format',
    '#/country country',
    '#/referral_code length',
  ]);
});

test('An account type is of one platform version, and funded with no negative sum', () => {
  expect(rulesOf(AccountTypeSchema, { ...accountType, platform: 'tp6', deposit: -1 })).toEqual([
    '#/platform one_of',
    '#/deposit minimum',
  ]);
});

describe('a connection', () => {
  test('speaks a protocol of its platform version', () => {
    expect(rulesOf(ConnectionSchema, { ...webApi, protocol: 'fix' })).toEqual(['#/protocol one_of']);
    expect(rulesOf(ConnectionSchema, { ...webApi, protocol: undefined })).toEqual(['#/protocol required']);
    expect(rulesOf(ConnectionSchema, { ...webApi, platform: 'tp4' })).toEqual(['#/platform one_of']);
  });

  test('has a port, and what its protocol knows only', () => {
    expect(rulesOf(ConnectionSchema, { ...webApi, port: 70_000, code_page: 'utf-8', fingerprint: 'x' })).toEqual([
      '#/port maximum',
      '#/fingerprint format',
      '#/code_page unknown_field',
    ]);
  });

  test('of the web-registration protocol gives each group its index, counted from 1', () => {
    expect(rulesOf(ConnectionSchema, { ...webRegistration, groups: { a: 0, b: 1.5, '': 1 } })).toEqual([
      '#/groups/a minimum',
      '#/groups/b integer',
      '#/groups/ length',
    ]);
    expect(rulesOf(ConnectionSchema, { ...webRegistration, groups: ['a'] })).toEqual(['#/groups/0 type']);
  });
});
