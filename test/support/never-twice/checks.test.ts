import { describe, expect, it } from 'vitest';
import type { SimulatedAccount } from '../../../infra/local/platforms/simulated-server.ts';
import type { AccountAnswer } from '../account-calls.ts';
import {
  checkAccounts,
  checkAnswer,
  checkEnd,
  type FinalState,
  type Intent,
  MINIMAL_SHAPE,
  newIntent,
  type RequestShape,
} from './checks.ts';
import type { WatchedOperation } from './ledger-watch.ts';

const CLIENT = { id: 'C0000001', email: 'zoe@mailbox.example', name: 'Zoelinde Quillfeather' };
const LOGIN = 503_001;
const DONE = { at: 'done', login: LOGIN, opened_at: '2026-01-01T00:00:00.000Z', unpaid: false } as const;
const OPERATION: WatchedOperation = { pk: 'key#1', operation_id: 'operation-1', lease: '', revision: 2, life: DONE };

function anIntent(shape: Partial<RequestShape> = {}, more: Partial<Intent> = {}): Intent {
  return {
    ...newIntent({ ...MINIMAL_SHAPE, connection: 'tp5-demo', ...shape }, CLIENT, undefined, 0),
    uses: 1,
    ...more,
  };
}

function anAccount(more: Partial<SimulatedAccount> = {}): SimulatedAccount {
  const { email, name } = CLIENT;
  const account = { login: LOGIN, group: 'real\\standard', leverage: 100, name, email, readonly: false };
  return { ...account, balance: 10_000, comment: OPERATION.operation_id, ...more };
}

/** The observable result of a good request. */
function aSight(more: Partial<FinalState> = {}): FinalState {
  const accounts = more.accounts ?? [anAccount()];
  return {
    accounts,
    account: (login) => accounts.find((one) => one.login === login),
    access: (_, password) => (password === 'Master1!' ? 'master' : password === 'Invest1!' ? 'investor' : 'none'),
    holder: () => OPERATION.operation_id,
    operations: [OPERATION],
    current: OPERATION.operation_id,
    payments: () => 1,
    records: accounts.map(({ login }) => ({ login, operation_id: OPERATION.operation_id })),
    published: new Set([OPERATION.operation_id]),
    isDepositReported: () => false,
    mayLackDeposit: false,
    isPaymentRepeated: () => false,
    ...more,
  };
}

const anAnswer = (status: number, body: Record<string, unknown>, headers = {}): AccountAnswer => ({
  status,
  headers,
  body,
});
const OPENED = anAnswer(200, { login: LOGIN, master_password: 'Master1!', investor_password: 'Invest1!' });
const problem = (status: number, type: string, headers = {}) => anAnswer(status, { type }, headers);
const stranger = { account: () => anAccount({ email: 'eve@mailbox.example' }) };

describe('The check of an answer', () => {
  it('accepts a refusal while another attempt runs', () => {
    const refusal = problem(503, 'platform_unavailable', { 'retry-after': '5' });
    checkAnswer(aSight(), anIntent({}, { running: 1 }), refusal);
    expect(() => checkAnswer(aSight(), anIntent(), refusal)).toThrow('there is an account');
  });

  it.each([
    ['is refused for its content', problem(400, 'password_rejected')],
    ['proves nothing', problem(503, 'platform_unavailable', { 'retry-after': '5' })],
  ])('accepts that a command %s, while its operation keeps the login', (_, refusal) => {
    const kept = [{ ...OPERATION, life: { at: 'sent', login: LOGIN, commands: 'many' } as const }];
    checkAnswer(aSight({ operations: kept }), anIntent(), refusal);
    expect(() => checkAnswer(aSight(), anIntent(), refusal)).toThrow('there is an account');
  });

  it('accepts that a login is taken by the account of the same key, once the key has expired', () => {
    const taken = problem(409, 'login_taken');
    checkAnswer(aSight({ current: undefined }), anIntent(), taken);
    const twice = aSight({ current: undefined, accounts: [anAccount(), anAccount({ login: 503_002 })] });
    expect(() => checkAnswer(twice, anIntent(), taken)).toThrow('there is an account');
  });

  it.each<[string, AccountAnswer, Partial<FinalState>]>([
    ['an answer that the contract does not have', problem(418, 'teapot'), {}],
    ['its own login that is said to be taken', problem(409, 'login_taken'), { accounts: [] }],
    ['409 where the protocol names logins', problem(409, 'account_outcome_unknown'), { accounts: [] }],
    ['504 without the operation', problem(504, 'account_outcome_unknown'), {}],
    ['503 without a time', problem(503, 'platform_unavailable'), { accounts: [] }],
    ['502 although there is an account', problem(502, 'platform_refused'), {}],
    ['a stranger’s account', OPENED, stranger],
    ['an account that does not exist', OPENED, { account: () => undefined }],
    ['passwords that do not open it', OPENED, { access: () => 'none' }],
  ])('finds %s', (_, answer, seen) => {
    expect(() => checkAnswer(aSight(seen), anIntent(), answer)).toThrow('C0000001');
  });

  it('finds a second answer that differs, unless the key has expired', () => {
    const other = anAnswer(200, { ...OPENED.body, login: 503_002 });
    const sight = aSight({ accounts: [anAccount(), anAccount({ login: 503_002 })] });
    const intent = anIntent({}, { answers: [OPENED] });
    expect(() => checkAnswer(sight, intent, other)).toThrow('differ');
    checkAnswer(sight, { ...intent, uses: 2 }, other);
  });
});

describe('The check of the end', () => {
  const answered = (more: Partial<Intent> = {}) => anIntent({}, { answers: [OPENED], ...more });

  it('accepts good requests, unstarted ones, and an account that a restored server has lost', () => {
    checkEnd(aSight(), answered());
    checkEnd(aSight({ accounts: [], operations: [] }), anIntent());
    checkEnd(aSight({ accounts: [], records: [{ login: LOGIN }] }), answered({ isRestored: true }));
    checkEnd(aSight({ accounts: [anAccount({ balance: 0 })] }), answered({ isRestored: true }));
    checkEnd(aSight({ accounts: [anAccount({ balance: 20_000 })], isPaymentRepeated: () => true }), answered());
  });

  it.each<[string, Partial<FinalState>, string]>([
    ['a second account', { accounts: [anAccount(), anAccount({ login: 503_002 })] }, '2 accounts'],
    ['a second command that pays', { payments: () => 2 }, '2 commands that pay'],
    ['a second deposit', { accounts: [anAccount({ balance: 20_000 })] }, 'a balance of 20000'],
    [
      'a missing deposit without a lost payment',
      { accounts: [anAccount({ balance: 0 })], payments: () => 0 },
      'no payment was lost',
    ],
    ['a missing deposit that is not reported', { accounts: [anAccount({ balance: 0 })] }, 'not reported'],
    ['an answer without an account', { accounts: [] }, 'stranger'],
    ['a stranger’s account', stranger, 'stranger'],
    ['changed passwords', { access: () => 'investor' }, 'passwords'],
    ['an account without a record', { records: [] }, 'without its record'],
    ['a record of another operation', { records: [{ login: LOGIN, operation_id: '2' }] }, 'without its record'],
    ['an account that was not published', { published: new Set() }, 'not published'],
    ['an account at a login of nobody', { holder: () => undefined }, 'no operation'],
    [
      'an operation that has not ended',
      { operations: [{ ...OPERATION, life: { at: 'sent', login: LOGIN, commands: 'many' } }] },
      'sent',
    ],
  ])('finds %s', (_, seen, what) => {
    expect(() => checkEnd(aSight(seen), answered())).toThrow(what);
  });

  it('finds an account of a request without a key that was answered as failed', () => {
    const intent = anIntent({ keyed: false }, { lastWord: '503 platform_unavailable' });
    expect(() => checkEnd(aSight(), intent)).toThrow('an account in the end');
    checkEnd(aSight({ accounts: [], records: [], operations: [] }), intent);
  });

  it('finds a second account at any time', () => {
    const sight = aSight({ accounts: [anAccount(), anAccount({ login: 503_002 })] });
    expect(() => checkAccounts(sight, anIntent())).toThrow('2 accounts');
    checkAccounts(sight, anIntent({}, { uses: 2 }));
  });
});
