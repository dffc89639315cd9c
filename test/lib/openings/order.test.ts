import { describe, expect, it } from 'vitest';
import { buildDetails, buildOrder, checkRecords, demoDeposit, judgeOrder } from '../../../lib/openings/order.ts';
import type { AccountClient, AccountType, Connection } from '../../../lib/records/crm-records.ts';
import type { Violation } from '../../../lib/validators/primitives.ts';
import { LIVE, PLUG_IN } from '../../support/crm-example.ts';
import { ACCOUNT_BODY, CLIENT_ANN, DEMO } from '../../support/openings.ts';

const OPERATION = 'the-operation';
const FUNDED: AccountType = { id: 'ATDEMO01', name: 'Demo', platform: 'tp5', deposit: 10_000 };
const PASSWORDS = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };
const ORDER = buildOrder(ACCOUNT_BODY, CLIENT_ANN, OPERATION, PASSWORDS, undefined);
const RECORDS = { client: CLIENT_ANN, connection: LIVE, accountType: undefined, rebateUser: undefined };
const { groups: _groups, ...anyGroup } = LIVE;
describe('The records that a request names', () => {
  it('may leave out the account type on a live connection, or name one', () => {
    checkRecords('tp5', { ...ACCOUNT_BODY, account_type_id: 'ATDEMO01' }, { ...RECORDS, accountType: FUNDED });
    checkRecords('tp5', ACCOUNT_BODY, RECORDS);
    expect(() => checkRecords('tp5', ACCOUNT_BODY, { ...RECORDS, connection: DEMO })).toThrow('account_type_required');
  });

  it('are refused in the order of the contract, the client first', () => {
    expect(() => checkRecords('tp5', ACCOUNT_BODY, { ...RECORDS, client: undefined })).toThrow('user_not_found');
    expect(() => checkRecords('tp4', ACCOUNT_BODY, RECORDS)).toThrow('tp4_connection_not_found');
    expect(() => checkRecords('tp5', { ...ACCOUNT_BODY, rebate_user_id: 'CLIENT02' }, RECORDS)).toThrow(
      'rebate_user_not_found',
    );
    expect(() => checkRecords('tp5', { ...ACCOUNT_BODY, account_type_id: 'ATDEMO01' }, RECORDS)).toThrow(
      'account_type_not_found',
    );
  });
});

describe('A connection accepts', () => {
  it.each([
    ['a group that the connection offers', LIVE, 'real\\standard', true],
    ['a group that it does not offer', LIVE, 'real\\raw', false],
    ['a group in another case', LIVE, 'REAL\\standard', false],
    ['any group where the connection names none', anyGroup, 'whatever', true],
    ['no group where the connection offers none', { ...LIVE, groups: [] }, 'real\\standard', false],
    ['a group that has an index', PLUG_IN, 'standard', true],
    ['a group that has no index', PLUG_IN, 'raw', false],
    ['a group named like a member of every object', PLUG_IN, 'constructor', false],
    ['no group of managers, whatever the connection names', anyGroup, 'Managers\\dealers', false],
    ['no group of managers though it is named', { ...LIVE, groups: ['manager'] }, 'manager', false],
    ['no group of managers with spaces around it', anyGroup, ' Managers \\dealers', false],
    ['a group that only begins like one of managers', anyGroup, 'managers-club', true],
  ] as const)('%s', (title, connection, group, allowed) => {
    const judge = () => judgeOrder({ ...ORDER, group }, connection as Connection, { unsupported: () => [] });
    if (allowed) expect(judge, title).not.toThrow();
    else expect(judge, title).toThrow('group_not_found');
  });

  it.each([
    ['at the limit', 500, undefined],
    ['above it', 501, 'validation_failed'],
  ])('a leverage %s of the connection', (_, leverage, type) => {
    const judge = () => judgeOrder({ ...ORDER, leverage }, { ...LIVE, max_leverage: 500 }, { unsupported: () => [] });
    if (type === undefined) return expect(judge).not.toThrow();
    const errors = [{ pointer: '#/leverage', rule: 'maximum', detail: 'must be at most 500 on this connection' }];
    expect(judge).toThrow(expect.objectContaining({ type, options: expect.objectContaining({ errors }) }));
  });

  it('only supported orders, and names the unsupported fields', () => {
    const errors: Violation[] = [{ pointer: '#/login', rule: 'not_supported', detail: 'cannot be chosen' }];
    expect(() => judgeOrder(ORDER, LIVE, { unsupported: () => errors })).toThrow(
      expect.objectContaining({ type: 'not_supported_by_connection', options: { errors } }),
    );
  });
});

describe('The order for the platform', () => {
  const order = (changes: object = {}, client: AccountClient = CLIENT_ANN, deposit?: number) =>
    buildOrder({ ...ACCOUNT_BODY, ...changes }, client, OPERATION, PASSWORDS, deposit);

  it('is the request, the client and the operation', () => {
    expect(order()).toEqual({
      operationId: 'the-operation',
      group: 'real\\standard',
      leverage: 100,
      loginGiven: false,
      masterPassword: 'Ma5ter#word',
      investorPassword: 'Inve5tor#wd',
      name: 'Ann Lee',
      email: 'ann@example.com',
      phone: '+447400123456',
      country: 'GB',
      readonly: false,
    });
  });

  it.each([
    ['  Ana  ', 'Ana'],
    ['\u2068Ana Ruiz\u2069', 'Ana Ruiz'],
    ['\ufeffJose\u0301\n', 'José'],
    ['\u200fسارا\u200f', 'سارا'],
  ])('has the client’s name without the white space and marks around it: %j', (name, read) => {
    expect(order({}, { ...CLIENT_ANN, name }).name).toBe(read);
  });

  it('omits data that the client’s record lacks', () => {
    const client = { id: 'CLIENT06', email: 'kim@example.org', name: 'Kim' };
    const { phone, country } = order({}, client);
    expect([phone, country]).toEqual([undefined, undefined]);
  });

  it.each([
    ['a demo connection and a type with a deposit', DEMO, FUNDED, 10_000],
    ['a demo connection and a type without one', DEMO, { ...FUNDED, deposit: undefined }, undefined],
    ['a demo connection and a deposit of nothing', DEMO, { ...FUNDED, deposit: 0 }, undefined],
    ['a live connection, whatever the type', LIVE, FUNDED, undefined],
  ])('has the deposit of the account type, or none: %s', (_, connection, accountType, deposit) => {
    expect(demoDeposit({ connection, accountType: accountType as AccountType })).toBe(deposit);
    expect(order({}, CLIENT_ANN, deposit).deposit).toBe(deposit);
  });

  it('is read-only and has a chosen login if requested', () => {
    expect(order({ enable_readonly: true, login: 700_123 })).toMatchObject({
      readonly: true,
      login: 700_123,
      loginGiven: true,
    });
  });
});

describe('The record of an account', () => {
  it('has the requested data, absent flags as false, and no password', () => {
    const body = { ...ACCOUNT_BODY, ...PASSWORDS, rebate_user_id: 'CLIENT02', account_type_id: 'ATLIVE05' };
    expect(buildDetails({ version: 'tp5', userId: 'CLIENT01', body, caller: 'iam:caller' }, 'the-operation')).toEqual({
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
      caller: 'iam:caller',
    });
  });
});
