import { describe, expect, it } from 'vitest';
import {
  accountDetails,
  depositOf,
  findRecords,
  findServer,
  judgeOrder,
  loginCandidates,
  toOrder,
} from '../../../lib/accounts/order.ts';
import type { AccountClient } from '../../../lib/records/account-directory.ts';
import type { AccountType, Connection } from '../../../lib/records/crm-records.ts';
import type { Operation } from '../../../lib/records/operations.ts';
import type { Violation } from '../../../lib/validators/primitives.ts';
import { ANN, BODY, DEMO, FUNDED, LIVE } from '../../support/account-fakes.ts';

const OPERATION: Operation = {
  pk: 'key#1',
  operationId: 'the-operation',
  nonce: 'bm9uY2U',
  lease: 'a-lease',
  revision: 0,
};
const PASSWORDS = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };
const ORDER = toOrder(BODY, ANN, OPERATION, PASSWORDS, undefined);
const RECORDS = { client: ANN, connection: LIVE, accountType: undefined, rebateUser: undefined };
const { groups: _groups, ...anyGroup } = LIVE;
const BY_INDEX: Connection = {
  ...{ id: 'tp4-live-1', host: 'mt4.example.com', port: 443, demo: false, secret: 'platform/tp4-live-1' },
  ...{ platform: 'tp4', protocol: 'web-registration', groups: { standard: 1 }, code_page: 'windows-1252' },
};

describe('The records that a request names', () => {
  it('are the client, the connection and the account type', () => {
    const records = { ...RECORDS, accountType: FUNDED };
    expect(findRecords('tp5', { ...BODY, account_type_id: 'ATDEMO01' }, records)).toEqual({
      client: ANN,
      connection: LIVE,
      accountType: FUNDED,
    });
  });

  it('may leave the account type out on a live connection, and may name one', () => {
    expect(findRecords('tp5', BODY, RECORDS).accountType).toBeUndefined();
    expect(() => findRecords('tp5', BODY, { ...RECORDS, connection: DEMO })).toThrow('account_type_required');
  });

  it('are not found in what was not asked for', () => {
    // A rebate user that stands in the records but not in the request is nobody's concern, and the other way round.
    expect(() => findRecords('tp5', { ...BODY, rebate_user_id: 'CLIENT02' }, RECORDS)).toThrow('rebate_user_not_found');
    expect(() => findRecords('tp5', { ...BODY, account_type_id: 'ATDEMO01' }, RECORDS)).toThrow(
      'account_type_not_found',
    );
  });
});

describe('The records that a request needs to be settled', () => {
  it('are the client and the connection: what else it named may be gone', () => {
    const records = { ...RECORDS, connection: DEMO };
    expect(findServer('tp5', records)).toEqual({ client: ANN, connection: DEMO, accountType: undefined });
    expect(() => findServer('tp5', { ...RECORDS, client: undefined })).toThrow('user_not_found');
    expect(() => findServer('tp4', RECORDS)).toThrow('tp4_connection_not_found');
  });
});

describe('A connection takes', () => {
  it.each([
    ['a group that the connection offers', LIVE, 'real\\standard', true],
    ['a group that it does not offer', LIVE, 'real\\raw', false],
    ['a group in another case', LIVE, 'REAL\\standard', false],
    ['any group where the connection names none', anyGroup, 'whatever', true],
    ['no group where the connection offers none', { ...LIVE, groups: [] }, 'real\\standard', false],
    ['a group that has an index', BY_INDEX, 'standard', true],
    ['a group that has no index', BY_INDEX, 'raw', false],
    ['a group named like a member of every object', BY_INDEX, 'constructor', false],
    ['no group of managers, whatever the connection names', anyGroup, 'Managers\\dealers', false],
    ['no group of managers though it is named', { ...LIVE, groups: ['manager'] }, 'manager', false],
    ['a group that only begins like one of managers', anyGroup, 'managers-club', true],
  ] as const)('%s', (title, connection, group, allowed) => {
    const judge = () => judgeOrder({ ...ORDER, group }, connection as Connection, { unsupported: () => [] });
    if (allowed) expect(judge, title).not.toThrow();
    else expect(judge, title).toThrow('group_not_found');
  });

  it('what its protocol can do, and names the fields of what it cannot', () => {
    const errors: Violation[] = [{ pointer: '#/login', rule: 'not_supported', detail: 'cannot be chosen' }];
    expect(() => judgeOrder(ORDER, LIVE, { unsupported: () => errors })).toThrow(
      expect.objectContaining({ type: 'not_supported_by_connection', options: { errors } }),
    );
  });
});

describe('The logins that an operation asks for', () => {
  const range = { from: 500_000, to: 599_999 };
  const candidates = (nonce: string, of = range) => [...loginCandidates({ nonce }, of)];

  it('are a few of the range, always the same ones, and others for another operation', () => {
    const logins = candidates('a nonce');
    expect(logins).toEqual(candidates('a nonce'));
    expect(logins.length).toBeGreaterThan(10);
    expect(logins.length).toBeLessThanOrEqual(16);
    for (const login of logins) expect(login).toSatisfy((one: number) => one >= range.from && one <= range.to);
    expect(candidates('another nonce')).not.toEqual(logins);
  });

  it('are never asked for twice, however small the range is', () => {
    const logins = candidates('a nonce', { from: 1, to: 8 });
    expect(new Set(logins).size).toBe(logins.length);
  });

  it('are uniform over the range, so that its ends are as likely as its middle', () => {
    const counts = Array.from({ length: 10 }, () => 0);
    const nonces = Array.from({ length: 5_000 }, (_, index) => `nonce-${index}`);
    for (const nonce of nonces) {
      const [first = 0] = candidates(nonce);
      const tenth = Math.floor((first - range.from) / 10_000);
      counts[tenth] = (counts[tenth] ?? 0) + 1;
    }
    // Chi-squared of nine degrees of freedom: beyond 33.7 once in ten thousand times.
    const chiSquared = counts.reduce((sum, count) => sum + (count - 500) ** 2 / 500, 0);
    expect(chiSquared).toBeLessThan(33.7);
  });

  it('are exact where the platform can hold more than 32 bits', () => {
    const wide = { from: 2 ** 40, to: Number.MAX_SAFE_INTEGER };
    for (const login of candidates('a nonce', wide)) {
      expect(Number.isSafeInteger(login)).toBe(true);
      expect(login).toBeGreaterThanOrEqual(wide.from);
    }
  });
});

describe('What the platform is asked for', () => {
  const order = (changes: object = {}, client: AccountClient = ANN, deposit?: number) =>
    toOrder({ ...BODY, ...changes }, client, OPERATION, PASSWORDS, deposit);

  it('is the request, the client and the operation', () => {
    expect(order()).toEqual({
      operationId: 'the-operation',
      group: 'real\\standard',
      leverage: 100,
      masterPassword: 'Ma5ter#word',
      investorPassword: 'Inve5tor#wd',
      name: 'Ann Lee',
      email: 'ann@example.com',
      phone: '+447400123456',
      country: 'GB',
      readonly: false,
    });
  });

  it('leaves out what the client’s record does not say', () => {
    const client = { id: 'CLIENT06', email: 'kim@example.org', name: 'Kim' };
    const { phone, country } = order({}, client);
    expect([phone, country]).toEqual([undefined, undefined]);
  });

  it.each([
    ['a demo connection and a type with a deposit', DEMO, FUNDED, 10_000],
    ['a demo connection and a type without one', DEMO, { ...FUNDED, deposit: undefined }, undefined],
    ['a demo connection and a deposit of nothing', DEMO, { ...FUNDED, deposit: 0 }, undefined],
    ['a live connection, whatever the type', LIVE, FUNDED, undefined],
  ])('has, with %s, its deposit', (_, connection, accountType, deposit) => {
    expect(depositOf({ client: ANN, connection, accountType: accountType as AccountType })).toBe(deposit);
    expect(order({}, ANN, deposit).deposit).toBe(deposit);
  });

  it('is read-only and has a login of its own where that was asked for', () => {
    expect(order({ enable_readonly: true, login: 700_123 })).toMatchObject({ readonly: true, login: 700_123 });
  });
});

describe('The record of an account', () => {
  it('says what was asked for, flags that were left out as false, and no password', () => {
    const body = { ...BODY, ...PASSWORDS, rebate_user_id: 'CLIENT02', account_type_id: 'ATLIVE05' };
    expect(accountDetails('tp5', 'CLIENT01', body, OPERATION)).toEqual({
      user_id: 'CLIENT01',
      version: 'tp5',
      connection_id: 'tp5-live-1',
      group: 'real\\standard',
      leverage: 100,
      account_type_id: 'ATLIVE05',
      enable_readonly: false,
      enable_rebate: false,
      rebate_user_id: 'CLIENT02',
      operation_id: 'the-operation',
    });
  });
});
