import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { TradingAccountAnswerSchema, tradingAccountRequestSchema } from '../../../lib/validators/trading-account.ts';

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

describe('a request for a trading account', () => {
  test.each([
    ['tp5', least],
    ['tp5', full],
    ['tp4', least],
    ['tp4', full],
  ] as const)('of %s is parsed to itself: %j', (version, body) => {
    expect(v.parse(tradingAccountRequestSchema(version), body)).toEqual(body);
  });
});

describe('the answer to an opened account', () => {
  const answer = { login: 954402, master_password: 'Tr4de-It-Now', investor_password: 'L00k-Only-Pls' };

  test('holds login and both passwords, and nothing else', () => {
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
