import { describe, expect, it } from 'vitest';
import type { SimulatedAccount } from '../../../infra/local/platforms/simulated-server.ts';
import type { AccountAnswer } from '../account-calls.ts';
import { checkAccounts, checkAnswer, checkEnd, isDepositExcused, isDepositOpen, type Sight } from './checks.ts';
import { type Intent, newIntent, PLAIN_SHAPE, type Shape } from './intents.ts';
import { Payments } from './payments.ts';

const CLIENT = { id: 'C0000001', email: 'zoe@mailbox.example' };
const OPERATION = '00000000-0000-4000-8000-000000000001';
const SHAPE: Shape = { ...PLAIN_SHAPE, connection: 'tp5-range-demo' };

/** A request whose key was used once. */
function anIntent(shape: Partial<Shape> = {}, more: Partial<Intent> = {}): Intent {
  const given = { login: undefined, isContested: false, knowsPasswords: true, now: 0 };
  return { ...newIntent({ ...SHAPE, ...shape }, CLIENT, given), uses: 1, ...more };
}

function anAccount(more: Partial<SimulatedAccount> = {}): SimulatedAccount {
  const { email } = CLIENT;
  const account = { login: 502_001, group: 'real\\standard', leverage: 100, name: 'Zoe', email, readonly: false };
  return { ...account, balance: 10_000, comment: OPERATION, ...more };
}

/** What is to be seen of a request that went as it should. */
function aSight(more: Partial<Sight> = {}): Sight {
  const accounts = more.accounts ?? [anAccount()];
  return {
    accounts,
    account: (login) => accounts.find((one) => one.login === login),
    access: (_, password) => (password === 'Master1!' ? 'master' : password === 'Invest1!' ? 'investor' : 'none'),
    records: accounts.map(({ login, comment }) => ({ login, operation_id: comment })),
    payments: () => 1,
    openOperations: new Set(),
    operatorsOperations: new Set(),
    told: new Set(accounts.map(({ comment }) => comment)),
    isTold: () => false,
    mayLackDeposit: false,
    ...more,
  };
}

function anAnswer(status: number, body: Record<string, unknown>, headers: Record<string, string> = {}): AccountAnswer {
  return { status, headers, body };
}
const OPENED = anAnswer(200, { login: 502_001, master_password: 'Master1!', investor_password: 'Invest1!' });
const problem = (status: number, type: string, more = {}, headers = {}) => anAnswer(status, { type, ...more }, headers);

describe('the check of an answer', () => {
  it('lets the account of the request pass, and the same answer again', () => {
    const intent = anIntent();
    checkAnswer(aSight(), intent, OPENED);
    checkAnswer(aSight(), intent, OPENED);
    expect(intent.answers).toHaveLength(1);
  });

  it.each<[string, AccountAnswer, Partial<Sight>]>([
    ['an answer that the contract does not have', problem(418, 'teapot'), {}],
    ['its own login that is said to be taken', problem(409, 'login_taken'), { accounts: [] }],
    ['504 without the operation', problem(504, 'account_outcome_unknown'), {}],
    ['503 without a time', problem(503, 'platform_unavailable'), { accounts: [] }],
    ['503 beside an account', problem(503, 'platform_unavailable', {}, { 'retry-after': '5' }), {}],
    ['502 beside an account', problem(502, 'platform_refused'), {}],
    ['a stranger’s account', OPENED, { account: () => anAccount({ email: 'eve@mailbox.example' }) }],
    ['the account of nobody', OPENED, { account: () => undefined }],
    ['passwords that do not open it', OPENED, { access: () => 'none' }],
  ])('finds %s', (_, answer, seen) => {
    expect(() => checkAnswer(aSight(seen), anIntent(), answer)).toThrow('C0000001');
  });

  it('finds a second answer that differs, but for a key that was used anew', () => {
    const other = anAnswer(200, { ...OPENED.body, login: 502_002 });
    const sight = aSight({ accounts: [anAccount(), anAccount({ login: 502_002 })] });
    const intent = anIntent({}, { answers: [OPENED] });
    expect(() => checkAnswer(sight, intent, other)).toThrow('differ');
    checkAnswer(sight, { ...intent, uses: 2 }, other);
  });

  it('lets a refusal pass while another try is under way', () => {
    const refusal = problem(503, 'platform_unavailable', {}, { 'retry-after': '5' });
    checkAnswer(aSight(), anIntent({}, { running: 1 }), refusal);
    expect(() => checkAnswer(aSight(), anIntent(), refusal)).toThrow();
  });
});

describe('the check of the accounts', () => {
  it('finds a second account, but for a key that was used anew', () => {
    const sight = aSight({ accounts: [anAccount(), anAccount({ login: 502_002 })] });
    expect(() => checkAccounts(sight, anIntent())).toThrow('2 accounts');
    checkAccounts(sight, anIntent({}, { uses: 2 }));
  });
});

describe('the check of the end', () => {
  const answered = (shape: Partial<Shape> = {}) => anIntent(shape, { answers: [OPENED] });

  it('lets what went well pass, and what was never answered', () => {
    checkEnd(aSight(), answered());
    checkEnd(aSight({ accounts: [] }), anIntent());
  });

  it.each<[string, Partial<Sight>, string]>([
    ['a second account', { accounts: [anAccount(), anAccount({ login: 502_002 })] }, '2 accounts'],
    ['a second command that pays', { payments: () => 2 }, '2 commands that pay'],
    ['a second deposit', { accounts: [anAccount({ balance: 20_000 })] }, 'a balance of 20000'],
    [
      'a missing deposit of which nobody was told',
      { accounts: [anAccount({ balance: 0 })], mayLackDeposit: true },
      'nobody was told',
    ],
    [
      'a missing deposit that nothing was in the way of',
      { accounts: [anAccount({ balance: 0 })], isTold: () => true },
      'nothing was in its way',
    ],
    ['an answer without an account', { accounts: [] }, 'without an account'],
    ['a stranger’s account', { account: () => anAccount({ email: 'eve@mailbox.example' }) }, 'stranger'],
    ['passwords that were changed', { access: () => 'investor' }, 'passwords'],
    ['an account without a record', { records: [] }, '0 records'],
    ['an account that nobody was told of', { told: new Set() }, 'nobody was told of'],
    ['a record of another login', { records: [{ login: 1, operation_id: OPERATION }] }, 'a record of another account'],
    ['an account of another operation', { records: [{ login: 502_001, operation_id: '2' }] }, 'another operation'],
    ['an operation that is open', { openOperations: new Set([OPERATION]) }, 'open in the end'],
  ])('finds %s', (_, seen, what) => {
    expect(() => checkEnd(aSight(seen), answered())).toThrow(what);
  });

  it('lets a missing deposit pass of which the operators were told, where something was in its way', () => {
    const sight = aSight({ accounts: [anAccount({ balance: 0 })], isTold: () => true, mayLackDeposit: true });
    expect(isDepositOpen(sight, answered())).toBe(false);
    checkEnd(sight, answered());
  });

  describe('of a request whose caller never came back', () => {
    const left = (shape: Partial<Shape> = {}) => anIntent({ returns: false, ...shape });

    it('lets an account pass that is recorded, paid and told', () => {
      checkEnd(aSight(), left());
      checkEnd(aSight({ accounts: [] }), left());
    });

    it.each<[string, Partial<Sight>, string]>([
      ['without a record', { records: [] }, 'without a record'],
      ['that nobody was told of', { told: new Set() }, 'nobody was told of'],
      ['whose deposit is missing', { accounts: [anAccount({ balance: 0 })] }, 'the deposit is missing'],
      ['whose operation is open', { openOperations: new Set([OPERATION]) }, 'open in the end'],
      [
        'that could be looked up, and is left to an operator',
        { records: [], operatorsOperations: new Set([OPERATION]) },
        'without a record',
      ],
    ])('finds an account %s', (_, seen, what) => {
      expect(() => checkEnd(aSight(seen), left())).toThrow(what);
    });

    it('lets one pass that is left to an operator, where nobody else could tell', () => {
      const accounts = [anAccount({ balance: 0 })];
      const seen = { accounts, records: [], told: new Set(), operatorsOperations: new Set([OPERATION]) };
      const blind = left({ connection: 'gw-live', login: 'outside', given: true });
      checkEnd(aSight(seen), blind);
      expect(() => checkEnd(aSight({ ...seen, operatorsOperations: new Set() }), blind)).toThrow('without a record');
    });
  });

  it('finds an account of a request without a key that was told there is none', () => {
    const intent = anIntent({ keyed: false }, { lastWord: '503 platform_unavailable' });
    expect(() => checkEnd(aSight(), intent)).toThrow('an account in the end');
    checkEnd(aSight({ accounts: [] }), intent);
    checkEnd(aSight(), { ...intent, lastWord: '504 account_outcome_unknown' });
  });
});

describe('the log of an account without its deposit', () => {
  const failed = (reason: string) => `{"message":"DepositFailed","login":7,"reason":"${reason}","DepositFailed":1}`;

  it.each(['too_late_to_send', 'aborted_before_sending'])('excuses it by the time that was over: %s', (reason) => {
    expect(isDepositExcused(['{"message":"AccountOpened","login":7}', failed(reason)])).toBe(true);
  });

  it('does not excuse it by a note that failed', () => {
    expect(isDepositExcused([failed('AccessDeniedException')])).toBe(false);
    expect(isDepositExcused([failed('AbortError')])).toBe(false);
  });

  it('says nothing of it otherwise', () => {
    expect(isDepositExcused([])).toBe(undefined);
    expect(isDepositExcused([failed('EmptyAccount')])).toBe(undefined);
  });
});

describe('the count of commands that pay', () => {
  const call = (fault?: { kind: 'throttled' | 'silence' | 'retcode'; code?: number }) => ({
    name: '/api/trade/balance',
    parameters: { Login: '7' },
    fault: fault === undefined ? undefined : { ...fault, times: 1 },
  });

  it('has every one that may have been carried out, and none that was refused', () => {
    let listener: ((one: ReturnType<typeof call>) => void) | undefined;
    const payments = new Payments((given) => {
      listener = given;
      return () => {};
    });
    for (const one of [call(), call({ kind: 'silence' }), call({ kind: 'retcode', code: 7 })]) listener?.(one);
    expect(payments.of(7)).toBe(3);
    for (const one of [call({ kind: 'throttled' }), call({ kind: 'retcode', code: 10 })]) listener?.(one);
    expect(payments.of(7)).toBe(3);
  });
});
