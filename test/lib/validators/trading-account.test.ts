import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { toViolations } from '../../../lib/validators/primitives.ts';
import {
  TradingAccountAnswerSchema,
  tradingAccountRequestSchema,
  UserIdSchema,
} from '../../../lib/validators/trading-account.ts';

const least = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
const full = {
  ...least,
  login: 700123,
  account_type_id: 'ATDEMO01',
  rebate_user_id: 'CLIENT02',
  master_password: 'Tr4de-It-Now',
  investor_password: 'L00k-Only-Pls',
  enable_readonly: true,
  enable_rebate: false,
  send_email: true,
  send_pop_up: false,
  language: 'pt-BR',
};

const faultsOf = (body: unknown, version: 'tp5' | 'tp4' = 'tp5') => {
  const result = v.safeParse(tradingAccountRequestSchema(version), body);
  return result.success ? [] : toViolations(result.issues).map(({ pointer, rule }) => `${pointer} ${rule}`);
};

describe('a request for a trading account', () => {
  test.each([
    ['tp5', least],
    ['tp5', full],
    ['tp4', least],
    ['tp4', full],
  ] as const)('of %s is parsed to itself: %j', (version, body) => {
    expect(v.parse(tradingAccountRequestSchema(version), body)).toEqual(body);
  });

  test('needs connection_id, group and leverage, and nothing else', () => {
    expect(faultsOf({})).toEqual(['#/connection_id required', '#/group required', '#/leverage required']);
  });

  test.each([
    ['connection_id', '', 'length'],
    ['connection_id', 'c'.repeat(256), 'length'],
    ['connection_id', 5, 'type'],
    ['connection_id', null, 'type'],
    ['connection_id', 'a\nb', 'characters'],
    ['group', '', 'length'],
    ['group', 'g'.repeat(65), 'length'],
    ['group', 'a\u0000b', 'characters'],
    ['group', ['a'], 'type'],
    ['leverage', 0, 'minimum'],
    ['leverage', -1, 'minimum'],
    ['leverage', 5001, 'maximum'],
    ['leverage', 1.5, 'integer'],
    ['leverage', '100', 'type'],
    ['leverage', null, 'type'],
    ['login', 0, 'minimum'],
    ['login', -7, 'minimum'],
    ['login', 1.5, 'integer'],
    ['login', '700123', 'type'],
    ['login', 2 ** 53, 'maximum'],
    ['account_type_id', 'short', 'length'],
    ['account_type_id', 'ATDEMO0 ', 'characters'],
    ['rebate_user_id', 'CLIENT002', 'length'],
    ['rebate_user_id', null, 'type'],
    ['master_password', 'alllowercase', 'complexity'],
    ['investor_password', 'Sh0rt-!', 'length'],
    ['enable_readonly', 'true', 'type'],
    ['enable_rebate', 1, 'type'],
    ['send_email', null, 'type'],
    ['send_pop_up', 'no', 'type'],
    ['language', 'en_US', 'language'],
    ['language', 7, 'type'],
    ['user_id', 'CLIENT01', 'unknown_field'],
    ['constructor', {}, 'unknown_field'],
  ])('with %s %j breaks rule %s', (field, value, rule) => {
    expect(faultsOf({ ...least, [field]: value })).toEqual([`#/${field} ${rule}`]);
  });

  test('takes leverage from 1 to 5000', () => {
    expect(faultsOf({ ...least, leverage: 1 })).toEqual([]);
    expect(faultsOf({ ...least, leverage: 5000 })).toEqual([]);
    expect(faultsOf({ ...least, leverage: 100.0 })).toEqual([]);
    expect(faultsOf({ ...least, leverage: JSON.parse('1e999') })).toContain('#/leverage type');
  });

  test('takes a login as large as its platform can hold', () => {
    expect(faultsOf({ ...least, login: Number.MAX_SAFE_INTEGER }, 'tp5')).toEqual([]);
    expect(faultsOf({ ...least, login: 2 ** 31 - 1 }, 'tp4')).toEqual([]);
    expect(faultsOf({ ...least, login: 2 ** 31 }, 'tp4')).toEqual(['#/login maximum']);
  });

  test('has the password rules of its version', () => {
    const passwords = { master_password: 'abc12', investor_password: 'ABC12' };
    expect(faultsOf({ ...least, ...passwords }, 'tp4')).toEqual([]);
    expect(faultsOf({ ...least, ...passwords }, 'tp5')).toEqual([
      '#/master_password length',
      '#/master_password complexity',
      '#/investor_password length',
      '#/investor_password complexity',
    ]);
  });

  test('tells all its problems at once', () => {
    const body = { group: 7, leverage: 0.5, send_email: 'yes', x: 1, y: 2 };
    expect(faultsOf(body)).toEqual([
      '#/connection_id required',
      '#/group type',
      '#/leverage integer',
      '#/leverage minimum',
      '#/send_email type',
      '#/x unknown_field',
      '#/y unknown_field',
    ]);
  });
});

describe('the path parameter user_id', () => {
  test('is 8 visible ASCII characters', () => {
    const rulesOf = (id: unknown) => toViolations(v.safeParse(UserIdSchema, id).issues ?? []).map(({ rule }) => rule);
    expect(rulesOf('CLIENT01')).toEqual([]);
    expect(rulesOf('short')).toEqual(['length']);
    expect(rulesOf('CLIENT 1')).toEqual(['characters']);
    expect(rulesOf(undefined)).toEqual(['required']);
  });
});

describe('the answer to an opened account', () => {
  const answer = { login: 954402, master_password: 'Tr4de-It-Now', investor_password: 'L00k-Only-Pls' };

  test('holds login and both passwords, and lets nothing else out', () => {
    expect(v.parse(TradingAccountAnswerSchema, { ...answer, operation_id: 'x' })).toEqual(answer);
  });

  test.each([
    { ...answer, login: '954402' },
    { ...answer, login: 0 },
    { ...answer, login: 1.5 },
    { ...answer, login: 2 ** 53 },
    { ...answer, master_password: '' },
    { login: 954402, master_password: 'Tr4de-It-Now' },
  ])('is never %j', (broken) => {
    expect(v.is(TradingAccountAnswerSchema, broken)).toBe(false);
  });
});
