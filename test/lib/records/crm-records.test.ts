import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { CRM_KINDS, RECORD_KINDS } from '../../../infra/ops/crm-items.ts';
import {
  type Connection,
  isManagerGroup,
  loginsOverlap,
  StoredConnectionSchema,
} from '../../../lib/records/crm-records.ts';
import { FIXED_FIELDS } from '../../../lib/validators/form.ts';
import { jsonPointer, listViolations, type PathKey } from '../../../lib/validators/primitives.ts';
import { EXAMPLE_FILE, GATEWAY, LIVE, PLUG_IN } from '../../support/crm-example.ts';

const {
  forms: [form = expect.fail()],
  clients: [client = expect.fail()],
  account_types: [accountType],
} = EXAMPLE_FILE;

const {
  forms: { written: FormSchema },
  clients: { written: ClientSchema },
  account_types: { written: AccountTypeSchema },
  connections: { written: ConnectionSchema },
} = RECORD_KINDS;

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

/** The paths of the objects in a record that have fixed members: all but `groups`, whose members are names of groups. */
function objectPaths(value: unknown, path: readonly PathKey[] = []): (readonly PathKey[])[] {
  if (typeof value !== 'object' || value === null || path.at(-1) === 'groups') return [];
  const isList = Array.isArray(value);
  const below = Object.entries(value).flatMap(([key, member]) =>
    objectPaths(member, [...path, isList ? Number(key) : key]),
  );
  return isList ? below : [path, ...below];
}

/** A copy of a record with one more member in the object at a path. */
function withMember(record: object, path: readonly PathKey[]): object {
  const copy = structuredClone(record);
  const object = path.reduce<object>((parent, key) => parent[key as keyof object], copy);
  Object.assign(object, { newer: 1 });
  return copy;
}

describe('A member that no record has', () => {
  const severalRanges = { ...LIVE, logins: [LIVE.logins, { from: 1, to: 1_000 }] };
  const records = { ...EXAMPLE_FILE, connections: [...EXAMPLE_FILE.connections, severalRanges] };
  const rows = CRM_KINDS.flatMap((kind) =>
    records[kind].flatMap((record) => objectPaths(record).map((path) => [kind, path.join('.'), record, path] as const)),
  );

  it.each(rows)('is left out of what is read from an item, and refused in a file: $0 $1', (kind, _, record, path) => {
    const newer = withMember(record, path);
    expect(v.parse(RECORD_KINDS[kind].stored as v.GenericSchema, newer)).toEqual(record);
    // One range or several: the rule of the union names the member `logins`.
    const named = path[0] === 'logins' ? '#/logins type' : `${jsonPointer([...path, 'newer'])} unknown_field`;
    expect(rulesOf(RECORD_KINDS[kind].written, newer)).toEqual([named]);
  });

  it('hides no other error of an item', () => {
    expect(rulesOf(StoredConnectionSchema, { ...LIVE, newer: 1, port: 0 })).toEqual(['#/port minimum']);
  });
});
