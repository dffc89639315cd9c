import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import {
  AccountTypeSchema,
  ClientSchema,
  type Connection,
  ConnectionSchema,
  isManagerGroup,
  loginsOverlap,
} from '../../../lib/records/crm-records.ts';
import { readRecord } from '../../../lib/records/crm-table.ts';
import { FIXED_FIELDS, FormSchema } from '../../../lib/validators/form.ts';
import { listViolations } from '../../../lib/validators/primitives.ts';

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
const logins = { from: 500_000, to: 599_999 };
const webApi = {
  ...server,
  logins,
  id: 'tp5-live-1',
  platform: 'tp5',
  protocol: 'web-api',
  groups: ['real\\standard'],
};
const webRegistration = {
  ...server,
  id: 'tp4-live-1',
  platform: 'tp4',
  protocol: 'web-registration',
  groups: { standard: 1 },
};
const gateway = {
  ...server,
  logins,
  id: 'tp4-gw-1',
  platform: 'tp4',
  protocol: 'interface-gateway',
  groups: ['demoforex'],
};

const rulesOf = (schema: v.GenericSchema, record: unknown) => {
  const result = v.safeParse(schema, record);
  return result.success ? [] : listViolations(result.issues).map(({ pointer, rule }) => `${pointer} ${rule}`);
};

describe('The records of the contract', () => {
  it.each([
    ['form', FormSchema, form],
    ['client', ClientSchema, client],
    ['account type', AccountTypeSchema, accountType],
    ['web-api connection', ConnectionSchema, webApi],
    ['connection with several ranges', ConnectionSchema, { ...webApi, logins: [logins, { from: 1, to: 1_000 }] }],
    ['interface-gateway connection', ConnectionSchema, { ...gateway, code_page: 'windows-1251' }],
    ['web-registration connection', ConnectionSchema, { ...webRegistration, code_page: 'windows-1252' }],
  ] as const)('are accepted as they are: %s', (_, schema, record) => {
    expect(v.parse(schema as v.GenericSchema, record)).toEqual(record);
  });
});

describe('A form', () => {
  it.each([...FIXED_FIELDS, '__proto__'])('has no field with the key %s', (key) => {
    expect(rulesOf(FormSchema, { ...form, fields: [{ key, type: 'text' }] })).toEqual(['#/fields/0/key format']);
  });

  it('has each key once', () => {
    const fields = [...form.fields, ...form.fields];
    expect(rulesOf(FormSchema, { ...form, fields })).toEqual(['#/fields/2/key format', '#/fields/3/key format']);
  });

  it('is told all its faults at once', () => {
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

describe('A client', () => {
  it('has an e-mail address, an ISO country and 8-character codes', () => {
    expect(rulesOf(ClientSchema, { ...client, email: 'ann', country: 'ZZ', id: 'x', referral_code: 'y' })).toEqual([
      '#/id length',
      '#/email format',
      '#/country country',
      '#/referral_code length',
    ]);
  });
});

describe('An account type', () => {
  it('is of one platform version, and funded with no negative sum', () => {
    expect(rulesOf(AccountTypeSchema, { ...accountType, platform: 'tp6', deposit: -1 })).toEqual([
      '#/platform one_of',
      '#/deposit minimum',
    ]);
  });
});

describe('A connection', () => {
  it('speaks a protocol of its platform version', () => {
    expect(rulesOf(ConnectionSchema, { ...webApi, protocol: 'fix' })).toEqual(['#/protocol one_of']);
    expect(rulesOf(ConnectionSchema, { ...webApi, protocol: undefined })).toEqual(['#/protocol required']);
    expect(rulesOf(ConnectionSchema, { ...webApi, platform: 'tp4' })).toEqual(['#/platform one_of']);
    expect(rulesOf(ConnectionSchema, { ...webApi, max_leverage: 0 })).toEqual(['#/max_leverage minimum']);
  });

  it('has a port, and what its protocol knows only', () => {
    expect(rulesOf(ConnectionSchema, { ...webApi, port: 70_000, code_page: 'utf-8', fingerprint: 'x' })).toEqual([
      '#/port maximum',
      '#/fingerprint format',
      '#/code_page unknown_field',
    ]);
  });

  it('of the web-registration protocol gives each group its index, counted from 1', () => {
    expect(rulesOf(ConnectionSchema, { ...webRegistration, groups: { a: 0, b: 1.5, '': 1 } })).toEqual([
      '#/groups/a minimum',
      '#/groups/b integer',
      '#/groups/ length',
    ]);
    expect(rulesOf(ConnectionSchema, { ...webRegistration, groups: ['a'] })).toEqual(['#/groups/0 type']);
  });
});

describe('The logins of a connection', () => {
  const faultsOf = (connection: object, logins: unknown) => rulesOf(ConnectionSchema, { ...connection, logins });

  it('are required where the protocol names them', () => {
    expect(faultsOf(webApi, undefined)).toEqual(['#/logins required']);
    expect(faultsOf(gateway, [])).toEqual(['#/logins size']);
  });

  it('are ranges of at least 1,000', () => {
    expect(faultsOf(webApi, { from: 1, to: 1_000 })).toEqual([]);
    expect(faultsOf(webApi, { from: 1, to: 999 })).toEqual(['#/logins size']);
    expect(faultsOf(gateway, { from: 2_000, to: 1_000 })).toEqual(['#/logins size']);
  });

  it('are integers from 1 on that the platform can hold', () => {
    expect(faultsOf(webApi, { from: 0, to: 10_000.5 })).toEqual(['#/logins/from minimum', '#/logins/to integer']);
    expect(faultsOf(webApi, { from: 2 ** 31, to: 2 ** 32 })).toEqual([]);
    expect(faultsOf(gateway, { from: 1, to: 2 ** 31 })).toEqual(['#/logins/to maximum']);
    expect(faultsOf(webApi, { from: 1 })).toEqual(['#/logins type']);
  });

  it('are not chosen on web-registration, where the server chooses every one', () => {
    expect(faultsOf(webRegistration, { from: 1, to: 10_000 })).toEqual(['#/logins unknown_field']);
  });

  const withLogins = (from: number, to: number, changes: object = {}) =>
    ({ ...webApi, logins: { from, to }, ...changes }) as Connection;

  it.each([
    ['of another range of the host', withLogins(3_000, 3_999), false],
    ['of a range that begins where the other ends', withLogins(2_000, 3_999), true],
    ['of a range within the other', withLogins(1_000, 9_999), true],
    ['of the same host on another port', withLogins(2_000, 3_999, { port: 444 }), true],
    ['of the same host in other letters', withLogins(2_000, 3_999, { host: 'MT.example.com' }), true],
    ['of another host', withLogins(2_000, 3_999, { host: 'mt2.example.com' }), false],
    [
      'of the second range of the host',
      { ...webApi, logins: [logins, { from: 1_500, to: 2_500 }] } as Connection,
      true,
    ],
    ['of a connection without logins', v.parse(ConnectionSchema, webRegistration), false],
  ])('overlap with those %s: %#', (_, other, overlap) => {
    const one = withLogins(1_001, 2_000);
    expect(loginsOverlap(one, other)).toBe(overlap);
    expect(loginsOverlap(other, one)).toBe(overlap);
  });
});

describe('A group', () => {
  it.each([
    ['manager', true],
    ['Managers\\dealers', true],
    [' managers ', true],
    ['MANAGERS \\ dealers', true],
    ['\u00a0manager', true],
    ['managers-club', false],
    ['real\\managers', false],
  ])('%j is one of managers: %s', (group, expected) => {
    expect(isManagerGroup(group)).toBe(expected);
  });
});

describe('A record that is read', () => {
  it('may have members that only a newer version of the service knows', () => {
    expect(readRecord(ConnectionSchema, { ...webApi, shard: 3, logins: [{ from: 1, to: 2_000, step: 2 }] })).toEqual({
      ...webApi,
      logins: [{ from: 1, to: 2_000 }],
    });
    const fields = form.fields.map((field) => ({ ...field, hint: 'Please choose.' }));
    expect(readRecord(FormSchema, { ...form, fields, version: 2 })).toEqual(form);
    expect(readRecord(ClientSchema, { ...client, phone: { ...client.phone, verified: true } })).toEqual(client);
  });

  it('is not one when it breaks a rule', () => {
    expect(readRecord(ConnectionSchema, { ...webApi, shard: 3, port: 0 })).toBeUndefined();
    expect(readRecord(ClientSchema, { id: 'CLIENT01', verified: true })).toBeUndefined();
    expect(readRecord(ConnectionSchema, { ...webApi, protocol: 'fix' })).toBeUndefined();
  });
});
