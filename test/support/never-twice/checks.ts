import type { SimulatedAccount } from '../../../infra/local/platforms/simulated-server.ts';
import { PROBLEM_NOTES, PROBLEM_TYPES, problemStatuses } from '../../../infra/openapi/problems.ts';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import type { ProblemType } from '../../../lib/problem.ts';
import { type AccountAnswer, type AccountCall, accountBody } from '../account-calls.ts';
import { CONNECTIONS, type ConnectionId, firstRange, isKeyed } from '../account-connections.ts';
import type { WorldClient } from '../account-world.ts';
import type { WatchedOperation } from './ledger-watch.ts';

/** The content of a request. */
export interface RequestShape {
  connection: ConnectionId;
  /** True: the request has an `Idempotency-Key`. A request without a key is sent once. */
  keyed: boolean;
  /** True: the caller repeats the request until it is answered. */
  returns: boolean;
  /** A login of the caller's own, inside or outside of the connection's range. */
  login: 'none' | 'outside' | 'inside';
  given: boolean;
  readonly: boolean;
  notices: boolean;
}

/** The shape of a request with a key and only the required fields. */
export const MINIMAL_SHAPE: Omit<RequestShape, 'connection'> = {
  keyed: true,
  returns: true,
  login: 'none',
  given: false,
  readonly: false,
  notices: false,
};

/** A request for an account, with its retries. Each has a client of its own. */
export interface Intent {
  name: string;
  /** The idempotency key. A request without a key is sent once. */
  key: string | undefined;
  /** True: in the end the caller repeats the request until it is answered. Never true without a key. */
  returns: boolean;
  /** The number of running attempts. */
  running: number;
  /** A try was killed, stopped or out of time. */
  disturbed: boolean;
  /** When the key was first used, in milliseconds of the world's clock. */
  begunAt: number;
  /** How many operations of the request may have acted: each expired key starts another one. */
  uses: number;
  shape: RequestShape;
  client: WorldClient;
  call: AccountCall;
  /** The caller's own login. */
  login: number | undefined;
  /** Every 200 that differs. */
  answers: AccountAnswer[];
  /** The last answer. */
  lastWord: string | undefined;
  /** True: the account was given the comment of another operation. */
  isContradicted: boolean;
  /** True: the server was restored from a backup that does not have the account. */
  isRestored: boolean;
}

/** Accounts of other programs on the gateway, outside of all ranges. */
export const OTHER_PROGRAMS = { group: 'standard', from: 800_000, count: 100_000 };

let logins = 0;
/** A login for a request that asks for a login of its own. Some logins outside of the range exist on the gateway. */
export function newLogin({ connection, login }: RequestShape): number | undefined {
  if (login === 'none') return undefined;
  logins += 1;
  if (login === 'inside' && isKeyed(connection)) return firstRange(connection).from + (logins % 2_000);
  return (logins % 2 === 0 ? OTHER_PROGRAMS.from : 700_000) + logins;
}

/** @param now on the world's clock */
export function newIntent(shape: RequestShape, client: WorldClient, login: number | undefined, now: number): Intent {
  const { connection, keyed, given, readonly, notices } = shape;
  const key = keyed ? `key-${client.id}` : undefined;
  const fields = {
    ...(login === undefined ? {} : { login }),
    ...(given ? { master_password: `Ma5#${client.id}`, investor_password: `Iv6!${client.id}` } : {}),
    ...(readonly ? { enable_readonly: true } : {}),
    ...(notices ? { send_email: true, send_pop_up: true } : {}),
  };
  return {
    key,
    returns: keyed && shape.returns,
    name: `${client.id} ${JSON.stringify(shape)}`,
    shape,
    client,
    call: { userId: client.id, ...(key === undefined ? {} : { key }), body: accountBody(connection, fields) },
    login,
    answers: [],
    lastWord: undefined,
    isContradicted: false,
    isRestored: false,
    running: 0,
    disturbed: false,
    begunAt: now,
    uses: 0,
  };
}

/** The observable result of one request. */
export interface ObservedState {
  /** The accounts of the request's client on its server. */
  accounts: SimulatedAccount[];
  /** Any account of the server. */
  account(login: number): SimulatedAccount | undefined;
  access(login: number, password: string): 'master' | 'investor' | 'none';
  /** The operation that holds a login. */
  holder(login: number): string | undefined;
  /** The operations of the request's client that may have acted, oldest first. */
  operations: WatchedOperation[];
  /** The operation of the request's key, unless it has ended without an account. */
  current: string | undefined;
  /** The number of paying commands that arrived, without those that were certainly refused. */
  payments(login: number): number;
}

/** The observable final state. */
export interface FinalState extends ObservedState {
  records: Item[];
  /** The operations whose accounts were published. */
  published: ReadonlySet<unknown>;
  /** The operators know that the deposit is missing. */
  isDepositReported(login: number): boolean;
  /**
   * True: the deposit may be missing. A paying command may have been lost, or the account was found, and then nothing
   * is paid.
   */
  mayLackDeposit: boolean;
  /** True: the server itself has repeated a payment to this login. */
  isPaymentRepeated(login: number): boolean;
}

/**
 * The meaning of each error of `PROBLEMS` that a valid request may get. `refused`: nothing was opened, unless the
 * operation keeps its login. `no_login`: nothing was opened. `unknown`: nothing is known.
 */
const MEANINGS: Partial<Record<ProblemType, 'refused' | 'no_login' | 'unknown'>> = {
  platform_refused: 'refused',
  platform_unavailable: 'refused',
  password_rejected: 'refused',
  group_not_found: 'refused',
  login_range_exhausted: 'no_login',
  login_taken: 'no_login',
  account_outcome_unknown: 'unknown',
  request_in_progress: 'unknown',
  internal_error: 'unknown',
};
const OUTCOME_UNKNOWN = '409 account_outcome_unknown';

/** Whether an error says that nothing was opened. */
function saysNothingOpened(type: unknown): boolean {
  const meaning = MEANINGS[type as ProblemType];
  return meaning === 'refused' || meaning === 'no_login';
}

/** The difference of an error from its description in the reference; undefined: none. */
function difference({ status, headers, body }: AccountAnswer): string | undefined {
  const type = PROBLEM_TYPES.find((one) => one === body.type && MEANINGS[one] !== undefined);
  if (type === undefined || !problemStatuses(type).includes(status)) return 'the contract has no such answer';
  const { retryAfter, members = {} } = PROBLEM_NOTES[type];
  if (retryAfter === 'always' && headers['retry-after'] === undefined) return 'no Retry-After';
  const missing = Object.entries(members).find(([name, when]) => when === 'always' && body[name] === undefined);
  if (missing !== undefined) return `no ${missing[0]}`;
  const { operation_id: id } = body;
  return id === undefined || /^[0-9a-f-]{36}$/.test(String(id)) ? undefined : 'operation_id is no UUID';
}

export function statusAndType({ status, body }: AccountAnswer): string {
  return status === 200 ? '200' : `${status} ${body.type}`;
}

/**
 * Checks one answer: the contract has it, it is true at this moment, and it does not differ from earlier answers.
 * @throws Error
 */
export function checkAnswer(sight: ObservedState, intent: Intent, answer: AccountAnswer): void {
  const { status, body } = answer;
  const word = statusAndType(answer);
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  const { current } = sight;
  const differs = status === 200 ? undefined : difference(answer);
  if (differs !== undefined) throw wrong(`${word}: ${differs}`);
  if (word === OUTCOME_UNKNOWN && isKeyed(intent.shape.connection))
    throw wrong(`${word}, and its protocol names logins`);
  if (intent.running === 0 && saysNothingOpened(body.type)) {
    if (word === '409 login_taken' && current !== undefined && sight.holder(intent.login ?? 0) === current)
      throw wrong('its own login is said to be taken');
    const isRefused = MEANINGS[body.type as ProblemType] === 'refused';
    const keepsLogin = isRefused && sight.operations.some(({ life }) => life?.at === 'sent');
    // After a key has expired, it belongs to another request: the accounts of the earlier requests stay.
    const earlier = sight.operations.filter(({ operation_id }) => operation_id !== current).length;
    if (!keepsLogin && sight.accounts.length > Math.max(intent.answers.length, earlier))
      throw wrong(`${word}, but there is an account`);
  }
  if (status !== 200) return;
  checkAccess(sight, intent, body);
  if (intent.answers.some((one) => JSON.stringify(one.body) === JSON.stringify(body))) return;
  if (intent.answers.length === intent.uses) throw wrong('two answers that differ');
  intent.answers.push(answer);
}

/** Checks that the account is this client's, and that the passwords open it. @throws Error */
function checkAccess(
  { access, account }: Pick<ObservedState, 'access' | 'account'>,
  { name, client, isRestored }: Intent,
  { login, master_password, investor_password }: AccountAnswer['body'],
) {
  const found = account(Number(login));
  if (found === undefined && isRestored) return;
  if (found?.email !== client.email) throw new Error(`${name}: was given a stranger's account`);
  const opened = [master_password, investor_password].map((password) => access(Number(login), String(password)));
  if (opened.join() !== 'master,investor') throw new Error(`${name}: the passwords open ${opened.join()}`);
}

/** Checks, at any time, that each operation has at most one account. @throws Error */
export function checkAccounts({ accounts }: Pick<ObservedState, 'accounts'>, { name, uses }: Intent): void {
  if (accounts.length > uses) throw new Error(`${name}: ${accounts.length} accounts`);
}

/** Checks, at the end of a history, that each account has its record, its event and its deposit. @throws Error */
export function checkEnd(sight: FinalState, intent: Intent): void {
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  const { accounts, operations, records } = sight;
  checkAccounts(sight, intent);
  for (const { body } of intent.answers) checkAccess(sight, intent, body);
  for (const account of accounts) checkAccount(sight, intent, account);
  if (!intent.isRestored && records.length !== accounts.length)
    throw wrong(`${records.length} records of ${accounts.length} accounts`);
  const isNone = intent.key === undefined && saysNothingOpened(intent.lastWord?.split(' ')[1]);
  if (isNone && accounts.length > 0) throw wrong(`${intent.lastWord}, but there is an account in the end`);
  for (const { life } of operations) {
    const isOpen = life?.at === 'open' && !intent.isRestored;
    if (isOpen || life?.at === 'undecided') throw wrong(`its operation is ${life.at} in the end`);
  }
}

function checkAccount(sight: FinalState, intent: Intent, { login, balance }: SimulatedAccount): void {
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  const operation = sight.operations.find(({ operation_id }) => operation_id === sight.holder(login));
  if (operation === undefined) throw wrong(`no operation of this client holds the login ${login}`);
  if (operation.life?.at !== 'done') throw wrong(`its account is open, and its operation ${operation.life?.at}`);
  const { operation_id } = operation;
  const record = sight.records.find((one) => one.login === login);
  if (record?.operation_id !== operation_id) throw wrong('an account without its record');
  if (!sight.published.has(operation_id)) throw wrong('an account that was not published');
  const payments = sight.payments(login);
  if (payments > 1) throw wrong(`${payments} commands that pay`);
  // A restored server has lost the deposit, and a late command may open the account again.
  if (intent.isRestored && balance === 0) return;
  const due = depositOf(intent);
  if (balance === due || (balance === 2 * due && sight.isPaymentRepeated(login))) return;
  if (balance !== 0) throw wrong(`a balance of ${balance}`);
  if (payments === 0 && !sight.mayLackDeposit) throw wrong('the deposit is missing, and no payment was lost');
  if (!sight.isDepositReported(login) || !operation.life.unpaid)
    throw wrong('the deposit is missing, which is not reported');
}

const DEPOSITS = { tp5: 10_000, gw: 5_000, reg: 5_000 } as const;

function depositOf({ shape }: Intent): number {
  const { server, account_type_id } = CONNECTIONS[shape.connection];
  return account_type_id === undefined ? 0 : DEPOSITS[server];
}
