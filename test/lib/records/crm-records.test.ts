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
import { FIXED_FIELDS, FormSchema } from '../../../lib/validators/form.ts';
import { listViolations, parseLeniently } from '../../../lib/validators/primitives.ts';
import { EXAMPLE_FILE, GATEWAY, LIVE, PLUG_IN } from '../../support/crm-example.ts';

const {
  forms: [form = expect.fail()],
  clients: [client = expect.fail()],
  account_types: [accountType],
} = EXAMPLE_FILE;

const rulesOf = (schema: v.GenericSchema, record: unknown) => {
  const result = v.safeParse(schema, record);
  return result.success ? [] : listViolations(result.issues).map(({ pointer, rule }) => `${pointer} ${rule}`);
};

describe('The records of the contract', () => {
  it.each([
    ['form', FormSchema, form],
    ['client', ClientSchema, client],
    ['account type', AccountTypeSchema, accountType],
    ['web-api connection', ConnectionSchema, LIVE],
    ['connection with several ranges', ConnectionSchema, { ...LIVE, logins: [LIVE.logins, { from: 1, to: 1_000 }] }],
    ['interface-gateway connection', ConnectionSchema, { ...GATEWAY, code_page: 'windows-1251' }],
    ['web-registration connection', ConnectionSchema, { ...PLUG_IN, code_page: 'windows-1252' }],
  ] as const)('are accepted unchanged: %s', (_, schema, record) => {
    expect(v.parse(schema as v.GenericSchema, record)).toEqual(record);
  });
});

describe('A form', () => {
  it.each([...FIXED_FIELDS, '__proto__'])('has no field with the key %s', (key) => {
    expect(rulesOf(FormSchema, { ...form, fields: [{ key, type: 'text' }] })).toEqual(['#/fields/0/key format']);
  });

  it('may not have two fields with one key', () => {
    const fields = [...form.fields, ...form.fields];
    expect(rulesOf(FormSchema, { ...form, fields })).toEqual([3, 4, 5].map((index) => `#/fields/${index}/key format`));
  });

  it('that breaks several rules gets all its errors at once', () => {
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

it.each([
  [64, true],
  [65, false],
])('The version of a consent may have 64 characters: %i', (length, accepted) => {
  const consent = { key: 'terms', type: 'boolean', version: 'x'.repeat(length) };
  expect(v.is(FormSchema, { ...form, fields: [consent] })).toBe(accepted);
});

describe('A client', () => {
  it('has an email address, an ISO country and 8-character codes', () => {
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
  it('has a protocol of its platform version', () => {
    expect(rulesOf(ConnectionSchema, { ...LIVE, protocol: 'fix' })).toEqual(['#/protocol one_of']);
    expect(rulesOf(ConnectionSchema, { ...LIVE, protocol: undefined })).toEqual(['#/protocol required']);
    expect(rulesOf(ConnectionSchema, { ...LIVE, platform: 'tp4' })).toEqual(['#/platform one_of']);
    expect(rulesOf(ConnectionSchema, { ...LIVE, max_leverage: 0 })).toEqual(['#/max_leverage minimum']);
  });

  it('has a port, and only members that its protocol knows', () => {
    expect(rulesOf(ConnectionSchema, { ...LIVE, port: 70_000, code_page: 'utf-8', fingerprint: 'x' })).toEqual([
      '#/port maximum',
      '#/fingerprint format',
      '#/code_page unknown_field',
    ]);
  });

  it('of the web-registration protocol gives each group its index, counted from 1', () => {
    expect(rulesOf(ConnectionSchema, { ...PLUG_IN, groups: { a: 0, b: 1.5, '': 1 } })).toEqual([
      '#/groups/a minimum',
      '#/groups/b integer',
      '#/groups/ length',
    ]);
    expect(rulesOf(ConnectionSchema, { ...PLUG_IN, groups: ['a'] })).toEqual(['#/groups/0 type']);
  });
});

describe('The logins of a connection', () => {
  const violationsOf = (connection: object, logins: unknown) => rulesOf(ConnectionSchema, { ...connection, logins });

  it('are required if the protocol names them', () => {
    expect(violationsOf(LIVE, undefined)).toEqual(['#/logins required']);
    expect(violationsOf(GATEWAY, [])).toEqual(['#/logins size']);
  });

  it('are ranges of at least 1,000', () => {
    expect(violationsOf(LIVE, { from: 1, to: 1_000 })).toEqual([]);
    expect(violationsOf(LIVE, { from: 1, to: 999 })).toEqual(['#/logins size']);
    expect(violationsOf(GATEWAY, { from: 2_000, to: 1_000 })).toEqual(['#/logins size']);
  });

  it('are integers from 1 on that the platform can hold', () => {
    expect(violationsOf(LIVE, { from: 0, to: 10_000.5 })).toEqual(['#/logins/from minimum', '#/logins/to integer']);
    expect(violationsOf(LIVE, { from: 2 ** 31, to: 2 ** 32 })).toEqual([]);
    expect(violationsOf(GATEWAY, { from: 1, to: 2 ** 31 })).toEqual(['#/logins/to maximum']);
    expect(violationsOf(LIVE, { from: 1 })).toEqual(['#/logins type']);
  });

  it('are not chosen on web-registration, whose server chooses them', () => {
    expect(violationsOf(PLUG_IN, { from: 1, to: 10_000 })).toEqual(['#/logins unknown_field']);
  });

  const withLogins = (from: number, to: number, changes: object = {}) =>
    ({ ...LIVE, logins: { from, to }, ...changes }) as Connection;

  it.each([
    ['of another range of the host', withLogins(3_000, 3_999), false],
    ['of a range that begins where the other ends', withLogins(2_000, 3_999), true],
    ['of a range within the other', withLogins(1_000, 9_999), true],
    ['of the same host on another port', withLogins(2_000, 3_999, { port: 444 }), true],
    ['of the same host in other letters', withLogins(2_000, 3_999, { host: LIVE.host.toUpperCase() }), true],
    ['of another host', withLogins(2_000, 3_999, { host: 'mt2.example.com' }), false],
    [
      'of the second range of the host',
      { ...LIVE, logins: [LIVE.logins, { from: 1_500, to: 2_500 }] } as Connection,
      true,
    ],
    ['of a connection without logins', v.parse(ConnectionSchema, PLUG_IN), false],
  ])('overlap with the logins $0: $2', (_, other, overlap) => {
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
  ])('%j counts as a group of managers: %s', (group, expected) => {
    expect(isManagerGroup(group)).toBe(expected);
  });
});

describe('A record of the CRM', () => {
  it('may have members that only a newer version of the service knows', () => {
    expect(parseLeniently(ConnectionSchema, { ...LIVE, shard: 3, logins: [{ from: 1, to: 2_000, step: 2 }] })).toEqual({
      ...LIVE,
      logins: [{ from: 1, to: 2_000 }],
    });
    const fields = form.fields.map((field) => ({ ...field, hint: 'Please choose.' }));
    expect(parseLeniently(FormSchema, { ...form, fields, version: 2 })).toEqual(form);
    expect(parseLeniently(ClientSchema, { ...client, phone: { ...client.phone, verified: true } })).toEqual(client);
  });

  it('counts as absent if it breaks a rule', () => {
    expect(parseLeniently(ConnectionSchema, { ...LIVE, shard: 3, port: 0 })).toBeUndefined();
    expect(parseLeniently(ClientSchema, { id: 'CLIENT01', verified: true })).toBeUndefined();
    expect(parseLeniently(ConnectionSchema, { ...LIVE, protocol: 'fix' })).toBeUndefined();
  });
});
