import { within } from '../deadline.ts';
import type { Sighting, TradingPlatform } from '../platform/platform.ts';
import type { AccountClient, AccountDirectory, Connection } from '../records/crm-records.ts';
import type { Telemetry } from '../telemetry.ts';
import { isLogin } from '../validators/primitives.ts';
import { decisionContext } from './learn.ts';
import { type Ledger, Overtaken, type RecordWrites, ReservationConflict } from './ledger.ts';
import { DAY_MS, type Fact, findTransition, type Life, nextLife } from './life.ts';
import { accountRecord } from './order.ts';
import { hasMoved } from './reservation.ts';
import type { HeldOperation } from './stored-operation.ts';

/**
 * What an operator says of an operation. `login`: that account is the request's. `none`: no account is. `undecided`: takes
 * a word back. `deposit`: the deposit is paid, or will not be.
 */
export type Word = { say: 'login'; login: number } | { say: 'none' | 'undecided' | 'deposit' };

export interface OperatorDependencies {
  ledger: Ledger;
  directory: AccountDirectory;
  platform(connection: Connection, signal: AbortSignal): Promise<TradingPlatform>;
  telemetry: Telemetry;
  now(): number;
}

/** Everything that is known of an operation. */
export interface KnownOperation {
  held: HeldOperation;
  /** The client, as the CRM has it now. */
  client: AccountClient | undefined;
  connection: Connection | undefined;
  /** The address of the server that got the command, if the connection leads to another one now. */
  movedFrom: string | undefined;
  /** What the server says about each login of the operation; undefined: it did not answer, or cannot be asked. */
  seen: ReadonlyMap<number, Sighting | undefined>;
  /** Other operations that hold these logins. */
  holders: ReadonlyMap<number, string>;
  /** Whether the account holds money, if its deposit is missing; undefined: that cannot be found out. */
  funded: boolean | undefined;
  /** What may be said now. */
  accepted: readonly AcceptedWord[];
  /** Until then nothing may be said, in epoch milliseconds: the server may still answer. */
  waitsUntil: number | undefined;
}

/** A word that is accepted now. */
interface AcceptedWord {
  say: Word['say'];
  /** The login to name. Absent with `login`: any, because the server has chosen it and cannot be asked. */
  login?: number;
  /** The server shows it, so it need not be confirmed. */
  proven: boolean;
}

/** Why a word is not accepted. */
export type Refusal =
  /** No command was sent: there is nothing to decide. */
  | 'nothing_sent'
  /** The server has decided, and nothing is missing. */
  | 'ended'
  /** A day after the first command has not passed: `waitsUntil`. */
  | 'too_early'
  /** The command did not name this login, and the server did not answer with it. */
  | 'not_its_login'
  /** The server has no account at the login. */
  | 'absent'
  /** The comment of the account names another operation. */
  | 'of_another_operation'
  /** Another operation holds the login. */
  | 'held_by_another'
  /** The comment of the account names this operation. */
  | 'ours_there'
  /** An operator has not said anything that could be taken back. */
  | 'not_a_word'
  /** No deposit is missing. */
  | 'no_deposit';

export type WordOutcome =
  | { is: 'settled'; life: Life; isWord: boolean; known: KnownOperation }
  /** The server does not show it: the operator must say it a second time. */
  | { is: 'unconfirmed'; known: KnownOperation }
  | { is: 'refused'; why: Refusal; known: KnownOperation }
  /** Another worker holds the operation, or has changed it in the meantime. */
  | { is: 'busy' };

/** How long an operator's command holds an operation, in milliseconds. */
const LEASE_MS = 60_000;
/** How long all questions to the trading server may take together, in milliseconds. */
const ALL_QUESTIONS_MS = 10_000;

/**
 * Gathers what ledger, CRM and server know of an operation. Changes nothing. After the first question without an answer
 * the server is asked nothing more, so a silent server leaves time for the ledger.
 */
export async function knowOperation(
  dependencies: OperatorDependencies,
  held: HeldOperation,
  signal: AbortSignal,
  named: readonly number[] = [],
): Promise<KnownOperation> {
  const { ledger, directory, telemetry, now } = dependencies;
  const { plan, life } = held;
  const records = plan && (await directory.readAccountRecords(plan, telemetry, signal));
  const connection = records?.connection?.platform === plan?.version ? records?.connection : undefined;
  const isMoved = connection !== undefined && hasMoved(plan?.server, connection);
  const logins = [...new Set([...ownLogins(held), ...(plan?.keyed === false ? named : [])])];
  const seen = new Map<number, Sighting | undefined>(logins.map((login) => [login, undefined]));
  const isUnpaid = life.at === 'open' && life.deposit === 'unpaid';
  let funded: boolean | undefined;
  if (connection !== undefined && plan?.keyed === true && (life.at !== 'open' || life.word === true || isUnpaid)) {
    const limit = within(ALL_QUESTIONS_MS, signal);
    const server = await dependencies.platform(connection, limit).catch(() => undefined);
    try {
      for (const login of logins) {
        const sighting = await server?.look(login, held.operationId, limit);
        // Another server than the one that got the command proves only an account with our id.
        seen.set(login, isMoved && sighting?.is !== 'ours' ? undefined : sighting);
      }
      if (isUnpaid && !isMoved) funded = await server?.holdsFunds(life.login, limit);
    } catch {
      // What was not answered stays undefined.
    }
    await server?.close().catch(() => {});
  }
  const holders = plan === undefined ? new Map<number, string>() : await ledger.holders(plan, logins, signal);
  const others = new Map([...holders].filter(([, holder]) => holder !== held.operationId));
  const known = {
    held,
    client: records?.client,
    connection,
    seen,
    holders: others,
    funded,
    movedFrom: isMoved ? plan?.server : undefined,
    waitsUntil: life.at === 'sent' ? waitsUntil(held, now()) : undefined,
  };
  return { ...known, accepted: acceptedWords({ ...known, accepted: [] }) };
}

/** The logins that an operation may have opened: the sent one, the one that was answered, and closed ones. */
function ownLogins({ life, closed = [] }: HeldOperation): number[] {
  const login = 'login' in life ? life.login : undefined;
  const other = 'other' in life ? life.other : undefined;
  return [...new Set([login, other, ...closed].filter((known) => known !== undefined))];
}

/** An operator may speak from a day after the first command on. */
function waitsUntil({ since = 0 }: HeldOperation, now: number): number | undefined {
  return now < since + DAY_MS ? since + DAY_MS : undefined;
}

function acceptedWords(known: KnownOperation): AcceptedWord[] {
  const { held } = known;
  const logins: Word[] = ownLogins(held).map((login) => ({ say: 'login', login }));
  const words: Word[] = [...logins, { say: 'none' }, { say: 'undecided' }, { say: 'deposit' }];
  const accepted = words.filter((word) => refusal(known, word) === undefined);
  const anyLogin = held.plan?.keyed === false && accepted.some(({ say }) => say === 'none' || say === 'undecided');
  const judged = accepted.map((word) => ({ ...word, proven: isProven(known, word) }));
  if (!anyLogin) return judged;
  return [{ say: 'login', proven: false }, ...judged.filter(({ say }) => say !== 'login')];
}

/** Whether the server shows what an operator says. */
function isProven({ seen, funded }: KnownOperation, word: Word): boolean {
  if (word.say === 'login') return seen.get(word.login)?.is === 'ours';
  return word.say === 'deposit' ? funded === true : false;
}

/** Why a word is not accepted now; undefined if it is. */
function refusal(known: KnownOperation, word: Word): Refusal | undefined {
  const { held } = known;
  const fact = factOf(held, word, !isProven(known, word));
  if (findTransition(held.life, fact, decisionContext(held, 0)) === undefined)
    return withoutTransition(held.life, word);
  if (word.say === 'deposit' || word.say === 'undecided') return undefined;
  if (known.waitsUntil !== undefined) return 'too_early';
  return word.say === 'login' ? loginRefusal(known, word.login) : noneRefusal(known);
}

/** Why `life.ts` has no transition for a word. */
function withoutTransition({ at }: Life, { say }: Word): Refusal {
  if (say === 'deposit') return 'no_deposit';
  if (at === 'open') return 'ended';
  return at === 'claimed' ? 'nothing_sent' : 'not_a_word';
}

function loginRefusal({ held, seen, holders }: KnownOperation, login: number): Refusal | undefined {
  const { keyed, version = 'tp5' } = held.plan ?? {};
  if (!isLogin(version, login) || (keyed === true && !ownLogins(held).includes(login))) return 'not_its_login';
  if (seen.get(login)?.is === 'absent') return 'absent';
  if (seen.get(login)?.is === 'foreign') return 'of_another_operation';
  return holders.has(login) ? 'held_by_another' : undefined;
}

function noneRefusal({ held, seen }: KnownOperation): Refusal | undefined {
  // The key is free already.
  if (held.life.at === 'claimed') return 'ended';
  return [...seen.values()].some((sighting) => sighting?.is === 'ours') ? 'ours_there' : undefined;
}

/**
 * Judges an operator's word, and stores it under the lease. The settler then records, pays, publishes and sends what is
 * due.
 * @param confirmed the operator has said it twice
 * @throws AwsFailure
 */
export async function storeWord(
  dependencies: OperatorDependencies,
  pk: string,
  word: Word,
  { confirmed }: { confirmed: boolean },
  signal: AbortSignal,
): Promise<WordOutcome> {
  const { ledger, now } = dependencies;
  const read = await ledger.read(pk, signal);
  if (read === undefined) return { is: 'busy' };
  const known = await knowOperation(dependencies, read, signal, word.say === 'login' ? [word.login] : []);
  const why = refusal(known, word);
  if (why !== undefined) return { is: 'refused', why, known };
  const isWord = !isProven(known, word);
  const { life } = read;
  const isSaid = word.say === 'login' && life.at === 'open' && life.login === word.login;
  if (isSaid) return { is: 'settled', life, isWord: true, known };
  if (isWord && !confirmed) return { is: 'unconfirmed', known };
  const held = await ledger.acquire(pk, 'operator', LEASE_MS, signal);
  if (held === undefined) return { is: 'busy' };
  // Taking the lease is the only change since the operation was read.
  const isSame = held.revision === read.revision + 1;
  try {
    if (isSame) await writeWord(dependencies, { ...known, held }, word, isWord, signal);
    if (held.leaseUntil !== 0) await ledger.rest(held, now(), signal);
  } catch (error) {
    if (error instanceof ReservationConflict) return { is: 'refused', why: 'held_by_another', known };
    if (error instanceof Overtaken) return { is: 'busy' };
    throw error;
  }
  return isSame ? { is: 'settled', life: held.life, isWord, known } : { is: 'busy' };
}

/** Writes the state that follows from a word, with the record of the account that it names. */
async function writeWord(
  dependencies: OperatorDependencies,
  known: KnownOperation,
  word: Word,
  isWord: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { held } = known;
  const { life: before, plan } = held;
  const after = nextLife(before, factOf(held, word, isWord), decisionContext(held, dependencies.now()));
  const earlier = before.at === 'open' ? before.login : undefined;
  const isNewLogin = after.at === 'open' && after.login !== earlier;
  const next = {
    life: after.at === 'open' && isNewLogin ? { ...after, recorded: true } : after,
    closed: closedLogins(known, after),
    event: held.event + (isNewLogin ? 1 : 0),
  };
  const isRecordGone = earlier !== undefined && plan !== undefined && (after.at !== 'open' || isNewLogin);
  const records: RecordWrites = {
    put: after.at === 'open' && isNewLogin ? accountRecord({ ...held, ...next }, after) : undefined,
    delete: isRecordGone ? { ...plan, login: earlier } : undefined,
  };
  await dependencies.ledger.write(held, next, signal, records);
}

function factOf({ life, closed = [] }: HeldOperation, word: Word, isWord: boolean): Fact {
  switch (word.say) {
    case 'login':
      return { on: isWord ? 'said_login' : 'ours', login: word.login };
    case 'none':
      return { on: 'said_none' };
    case 'undecided':
      return { on: 'said_undecided', login: 'login' in life ? life.login : closed.at(-1) };
    case 'deposit':
      return { on: 'said_paid' };
  }
}

/** The logins that no command may use again: after "none" all that were known, after another login the former ones. */
function closedLogins({ held, holders }: KnownOperation, after: Life): readonly number[] | undefined {
  const { closed, plan } = held;
  if (plan?.keyed !== true) return after.at === 'claimed' ? (closed ?? []) : closed;
  if (after.at !== 'claimed' && after.at !== 'open') return closed;
  const kept = after.at === 'open' ? after.login : undefined;
  const left = ownLogins(held).filter((login) => login !== kept && !holders.has(login));
  return after.at === 'claimed' || left.length > 0 ? left : closed;
}
