import { describe, expect, it } from 'vitest';
import { accountDetails, findRecords, toOrder } from '../../lib/account-order.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import type { Operation } from '../../lib/records/operations.ts';
import { ANN, BODY, DEMO, FUNDED, LIVE } from '../support/account-fakes.ts';

const OPERATION: Operation = { pk: 'key#1', operationId: 'the-operation', nonce: 'bm9uY2U', lease: 'a-lease' };
const PASSWORDS = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };
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

  it.each([
    ['a group that the connection offers', 'tp5', LIVE, 'real\\standard', true],
    ['a group that it does not offer', 'tp5', LIVE, 'real\\raw', false],
    ['a group in another case', 'tp5', LIVE, 'REAL\\standard', false],
    ['any group where the connection names none', 'tp5', anyGroup, 'whatever', true],
    ['no group where the connection offers none', 'tp5', { ...LIVE, groups: [] }, 'real\\standard', false],
    ['a group that has an index', 'tp4', BY_INDEX, 'standard', true],
    ['a group that has no index', 'tp4', BY_INDEX, 'raw', false],
    ['a group named like a member of every object', 'tp4', BY_INDEX, 'constructor', false],
    ['no group of managers, whatever the connection names', 'tp5', anyGroup, 'Managers\\dealers', false],
    ['no group of managers though it is named', 'tp5', { ...LIVE, groups: ['manager'] }, 'manager', false],
    ['a group that only begins like one of managers', 'tp5', anyGroup, 'managers-club', true],
  ] as const)('allow %s', (title, version, connection, group, allowed) => {
    const find = () =>
      findRecords(version, { ...BODY, group }, { ...RECORDS, connection: { ...connection } as Connection });
    if (allowed) expect(find, title).not.toThrow();
    else expect(find, title).toThrow('group_not_found');
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

describe('What the platform is asked for', () => {
  const order = (changes: object = {}, found: object = {}) =>
    toOrder(
      { ...BODY, ...changes },
      { client: ANN, connection: LIVE, accountType: undefined, ...found },
      OPERATION,
      PASSWORDS,
    );

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
    const { phone, country } = order({}, { client });
    expect([phone, country]).toEqual([undefined, undefined]);
  });

  it.each([
    ['a demo connection and a type with a deposit', DEMO, FUNDED, 10_000],
    ['a demo connection and a type without one', DEMO, { ...FUNDED, deposit: undefined }, undefined],
    ['a demo connection and a deposit of nothing', DEMO, { ...FUNDED, deposit: 0 }, undefined],
    ['a live connection, whatever the type', LIVE, FUNDED, undefined],
  ])('has, with %s, its deposit', (_, connection, accountType, deposit) => {
    expect(order({}, { connection, accountType }).deposit).toBe(deposit);
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
