import type { SimulatedAccount } from '../../../infra/local/platforms/simulated-server.ts';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import type { AccountAnswer } from '../account-calls.ts';
import { CONNECTIONS } from '../account-connections.ts';
import type { Intent } from './intents.ts';

/** What can be seen of one request from outside the functions. */
export interface Sight {
  /** The accounts of its client on its server; each request has a client of its own. */
  accounts: SimulatedAccount[];
  /** Whoever's account that is. */
  account(login: number): SimulatedAccount | undefined;
  access(login: number, password: string): 'master' | 'investor' | 'none';
  /** The records of its client's accounts. */
  records: Item[];
  /** How many commands that pay into the account came in, beside those that the server certainly refused. */
  payments(login: number): number;
  /** The operations that somebody has to take up again. */
  openOperations: ReadonlySet<string>;
  /** Those that only an operator can end. */
  operatorsOperations: ReadonlySet<string>;
  /** The operations of the accounts that others were told of. */
  told: ReadonlySet<unknown>;
  /** Whether the operators were told that the deposit is missing. */
  isTold(login: number): boolean;
  /** Whether anything was in the way of the command that pays. */
  mayLackDeposit: boolean;
}

/** What can be seen without asking the database. */
export type Momentary = Omit<Sight, 'records' | 'openOperations' | 'operatorsOperations' | 'told'>;

const NOTHING_OPENED = new Set([
  '502 platform_refused',
  '503 platform_unavailable',
  '400 password_rejected',
  '400 group_not_found',
  '409 login_taken',
]);
const ANSWERS = new Set([
  ...NOTHING_OPENED,
  '200',
  '409 request_in_progress',
  '409 account_outcome_unknown',
  '500 internal_error',
  '504 account_outcome_unknown',
]);

export function wordOf({ status, body }: AccountAnswer): string {
  return status === 200 ? '200' : `${status} ${body.type}`;
}

/** One answer: it is one of the contract's, true of the server at this moment, and the same as before. @throws Error */
export function checkAnswer(sight: Momentary, intent: Intent, answer: AccountAnswer): void {
  const { status, headers, body } = answer;
  const word = wordOf(answer);
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  if (!ANSWERS.has(word)) throw wrong(`the contract has no answer ${word}`);
  if (word === '409 login_taken' && !intent.mayBeTaken) throw wrong('its own login is said to be taken');
  if (status === 504 && !/^[0-9a-f-]{36}$/.test(String(body.operation_id))) throw wrong('504 without operation_id');
  if (status === 503 && headers['retry-after'] === undefined) throw wrong('503 without Retry-After');
  if (NOTHING_OPENED.has(word) && intent.running === 0 && sight.accounts.length > knownOf(intent)) {
    throw wrong(`${word}, but there is an account`);
  }
  if (status !== 200) return;
  checkAccess(sight, intent, body);
  if (intent.answers.some((one) => JSON.stringify(one.body) === JSON.stringify(body))) return;
  if (intent.answers.length === intent.uses) throw wrong('two answers that differ');
  intent.answers.push(answer);
}

/** So many accounts are there without this answer: those that were answered, and one of each earlier use of the key. */
function knownOf({ answers, uses }: Intent): number {
  return Math.max(answers.length, uses - 1);
}

/** The passwords open the account, and it is this client's. */
function checkAccess(
  { access, account }: Pick<Sight, 'access' | 'account'>,
  intent: Intent,
  { login, master_password, investor_password }: AccountAnswer['body'],
) {
  const opened = [master_password, investor_password].map((password) => access(Number(login), String(password)));
  if (account(Number(login))?.email !== intent.email) throw new Error(`${intent.name}: was given a stranger's account`);
  if (opened.join() !== 'master,investor') throw new Error(`${intent.name}: the passwords open ${opened.join()}`);
}

/** At any time: no more accounts than the key had times. @throws Error */
export function checkAccounts({ accounts }: Pick<Sight, 'accounts'>, intent: Intent): void {
  if (accounts.length > intent.uses) throw new Error(`${intent.name}: ${accounts.length} accounts`);
}

/** When all is over: each account with its record and its deposit, or none. @throws Error */
export function checkEnd(sight: Sight, intent: Intent): void {
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  const { accounts } = sight;
  checkAccounts(sight, intent);
  for (const { login, balance } of accounts) {
    const due = depositOf(intent);
    if (sight.payments(login) > 1) throw wrong(`${sight.payments(login)} commands that pay`);
    if (balance !== due && balance !== 0) throw wrong(`a balance of ${balance}`);
  }
  if (intent.key === undefined && intent.lastWord !== undefined) {
    const isNone = NOTHING_OPENED.has(intent.lastWord);
    if (isNone && accounts.length > 0) throw wrong(`${intent.lastWord}, but there is an account in the end`);
  }
  if (intent.answers.length > 0) checkAnswered(sight, intent);
  checkSettled(sight, intent);
}

/** What the caller was told holds. @throws Error */
function checkAnswered(sight: Sight, intent: Intent): void {
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  const { accounts, records } = sight;
  if (accounts.length < intent.answers.length) throw wrong('answered, but without an account');
  for (const { body } of intent.answers) checkAccess(sight, intent, body);
  const left = accounts.filter(({ comment }) => sight.operatorsOperations.has(comment)).length;
  if (!isBlindInTheEnd(intent)) checkRecords(sight, intent);
  else if (records.length + left < intent.answers.length) throw wrong('answered, but without a record');
  const empty = depositOf(intent) > 0 && accounts.some(({ balance }) => balance === 0);
  if (empty && !sight.mayLackDeposit) throw wrong('the deposit is missing, and nothing was in its way');
}

/** Whether what became of it may be left to an operator. */
function isBlindInTheEnd({ isBlind, isBlindAlone, returns }: Intent): boolean {
  return isBlind || (!returns && isBlindAlone);
}

/** Whether its caller came back or not: each account is recorded, paid and told, or left to an operator. @throws Error */
function checkSettled(sight: Sight, intent: Intent): void {
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  const { accounts, records, openOperations, operatorsOperations, told } = sight;
  const isBlind = isBlindInTheEnd(intent);
  for (const { login, comment } of accounts) {
    if (openOperations.has(comment)) throw wrong('its operation is open in the end');
    const record = records.find((one) => one.login === login);
    if (record === undefined && !(isBlind && operatorsOperations.has(comment)))
      throw wrong('an account without a record');
    if (record !== undefined && !told.has(record.operation_id)) throw wrong('an account that nobody was told of');
  }
  const known = accounts.filter(({ comment }) => !operatorsOperations.has(comment));
  if (isDepositOpen({ ...sight, accounts: known }, intent)) throw wrong('the deposit is missing, and nobody was told');
}

/** Each account has a record, of the same operation, which is at its end. */
function checkRecords({ accounts, records }: Sight, { name, shape, uses }: Intent): void {
  const wrong = (what: string) => new Error(`${name}: ${what}`);
  if (records.length !== accounts.length) throw wrong(`${records.length} records of ${accounts.length} accounts`);
  for (const { login, comment } of accounts) {
    const record = records.find((one) => one.login === login);
    if (record === undefined) throw wrong('a record of another account');
    // With a key that was used anew the caller asks for a login that may be its own by now.
    const isAsked = uses > 1 && shape.login !== 'none';
    if (record.operation_id !== comment && !isAsked)
      throw wrong(`${shape.connection}: an account of another operation`);
  }
}

const DEPOSITS = { tp5: 10_000, gw: 5_000, reg: 5_000 } as const;

function depositOf({ shape }: Intent): number {
  const { server, account_type_id } = CONNECTIONS[shape.connection];
  return account_type_id === undefined ? 0 : DEPOSITS[server];
}

/** True: an account is open without its deposit, and the operators have not been told. */
export function isDepositOpen({ accounts, isTold }: Pick<Sight, 'accounts' | 'isTold'>, intent: Intent): boolean {
  if (depositOf(intent) === 0) return false;
  return accounts.some(({ login, balance }) => balance === 0 && !isTold(login));
}

/** Reasons for a deposit that failed: those of a platform are words of ours, in small letters. */
const OF_A_PLATFORM = /"reason":"(EmptyAccount|[a-z0-9_]+)"/;
/** A busy machine may need all of the time between the note and the command. */
const OUT_OF_TIME = /"reason":"(too_late_to_send|aborted_before_sending)"/;

/** What the log of an account says of its missing deposit: whether it may be missing; undefined: nothing of it. */
export function isDepositExcused(log: readonly string[]): boolean | undefined {
  const failed = log.filter((line) => line.includes('"DepositFailed"'));
  // A database that does not take the note lets the command leave later.
  if (failed.length > 0 && !failed.some((line) => OF_A_PLATFORM.test(line))) return false;
  return failed.some((line) => OUT_OF_TIME.test(line)) ? true : undefined;
}
