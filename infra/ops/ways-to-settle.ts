import { DAY_MS } from '../../lib/openings/drive.ts';
import type { HeldOperation } from '../../lib/openings/ledger.ts';
import type { Fact, Life } from '../../lib/openings/life.ts';
import { NOBODY } from '../../lib/openings/reservation-writes.ts';
import type { Sighting } from '../../lib/platform/platform.ts';
import { RETRY_ONLY } from '../../lib/records/due.ts';

/** The knowledge about an operation: its own item, its traces in other tables, and the answers of its server. */
export interface KnownOperation {
  /** A plan that a restore lost is taken from the account's record. */
  held: HeldOperation;
  dueAt: number | undefined;
  /** The server that got the command, if the connection leads to another one now. */
  movedFrom: string | undefined;
  /** The login of the account's record. */
  recorded: number | undefined;
  /**
   * The logins that the operation may have opened, with the server's answers; undefined: the server cannot be asked.
   */
  seen: ReadonlyMap<number, Sighting | undefined>;
  /** The other operation that has reserved a login, or `NOBODY`, by login. */
  holders: ReadonlyMap<number, string>;
  /** Whether the account that waits for a deposit holds money; undefined: the server cannot say. */
  holdsFunds?: boolean | undefined;
  /** Epoch milliseconds. */
  now: number;
}

export type WayOption = 'login' | 'foreign' | 'none' | 'deposit';

/** A way of settling an operation that is accepted now. */
export interface WayToSettle {
  option: WayOption;
  /** The login that the command names. Absent with `login`: any login, see `marked`. */
  login?: number;
  /** Every login is accepted whose account on a server shows the operation's id. */
  marked?: true;
  /**
   * The command reserves the login for the operation, even if another operation holds it: the account is proved to be
   * ours.
   */
  takesLogin?: true;
  /** The fact for `life.ts`; `login` is the login that the operator names. */
  fact(login: number): Fact;
}

const NONE: WayToSettle = { option: 'none', fact: () => ({ on: 'operator_found_none' }) };
const found = (login: number): Fact => ({ on: 'operator_found', login });
/** A retry finds the reservation, or the account by its id. */
const resumed = (): Fact => ({ on: 'operator_resumed' });

/** Every way of settling that is accepted in a state. `operation` prints them, and `settle` accepts no other. */
const WAYS: { readonly [S in Life['at']]: (known: KnownOperation, life: Extract<Life, { at: S }>) => WayToSettle[] } = {
  claimed: () => [],
  gone: () => [],
  open: () => [],
  /** A caller's own login that is absent is free after a day: no later operation depends on it. */
  sent: ({ held: { plan, sentAt }, seen, now }, { login = 0 }) => {
    const isOld = sentAt !== undefined && now - sentAt > DAY_MS;
    return isOld && plan?.login_given === true && seen.get(login) === 'absent' ? [NONE] : [];
  },
  done: ({ holdsFunds }, { unpaid }) =>
    unpaid && holdsFunds !== false ? [{ option: 'deposit', fact: () => ({ on: 'operator_paid' }) }] : [],
  undecided: waysOutOfUndecided,
};

export function waysToSettle(known: KnownOperation): WayToSettle[] {
  const ways = WAYS[known.held.life.at] as (known: KnownOperation, life: Life) => WayToSettle[];
  return ways(known, known.held.life);
}

function waysOutOfUndecided(
  { held: { plan }, recorded, seen, holders }: KnownOperation,
  { login: asked }: Life & { at: 'undecided' },
): WayToSettle[] {
  // The server chooses the login, and cannot be asked.
  if (plan?.keyed === false)
    return recorded === undefined
      ? [{ option: 'login', fact: found }, NONE]
      : [{ option: 'login', login: recorded, takesLogin: true, fact: found }];
  // An account that another operation holds and that names it in its comment is that operation's.
  const possible = [...seen].filter(([, sighting]) => sighting !== 'absent' && sighting !== 'foreign');
  const fact = plan === undefined ? resumed : found;
  const isOurs = ([login, sighting]: [number, unknown]) => login === recorded || sighting === 'ours';
  // Without a proof, a login that another operation holds stays reserved for that operation.
  const takesLogin = (one: [number, unknown]) => isOurs(one) || holders.get(one[0]) === NOBODY;
  // If the login is unknown, the operation may also be found by the comment of an account on the server.
  const isNamedElsewhere = asked === undefined && recorded === undefined;
  const isAnothers = (login: number) => holders.has(login) && holders.get(login) !== NOBODY;
  // If another operation has its own account at the login of the record, this one's was deleted.
  const mayBeNone = ([login, sighting]: [number, unknown]) =>
    login === recorded ? sighting !== 'ours' && isAnothers(login) : sighting === 'silent';
  const foreign = [...seen].filter(
    (one) => one[1] !== 'absent' && !isOurs(one) && (asked === undefined || one[0] === asked),
  );
  const isNone = [...possible, ...foreign].every(mayBeNone);
  return [
    ...possible.map(
      (one): WayToSettle => ({ option: 'login', login: one[0], fact, ...(takesLogin(one) && { takesLogin: true }) }),
    ),
    ...(isNamedElsewhere ? [{ option: 'login', marked: true, takesLogin: true, fact } satisfies WayToSettle] : []),
    ...foreign.map(([login]): WayToSettle => ({ option: 'foreign', login, fact: () => ({ on: 'operator_foreign' }) })),
    ...(isNone ? [NONE] : []),
  ];
}

/** Describes the next step, and each command that `settle` accepts. */
export function describeWays(known: KnownOperation, ways: readonly WayToSettle[]): string {
  const { operationId: id, life } = known.held;
  const lines = ways.map(({ option, login, marked }) => {
    const value = option === 'login' || option === 'foreign' ? ` ${login ?? 'N'}` : '';
    return `${REASONS[option]}${marked === true ? ', with the id of the operation in its comment' : ''}: settle ${id} --${option}${value}`;
  });
  const other =
    life.at === 'undecided' && life.other !== undefined
      ? [`The server answered with the login ${life.other}, which was not asked for.`]
      : [];
  const held = [...known.holders].map(
    ([login, holder]) => `The login ${login} is reserved for ${describeHolder(holder)}`,
  );
  return [...other, ...held, ...(lines.length === 0 ? [waiting(known)] : lines)].join('\n');
}

function describeHolder(holder: string): string {
  return holder === NOBODY
    ? "nobody: an operator has found somebody else's account there."
    : `the operation ${holder}.`;
}

const REASONS: Readonly<Record<WayOption, string>> = {
  login: 'If the account is there',
  foreign: "If the account there is somebody else's",
  none: 'If there is none',
  deposit: 'When the deposit was made',
};

/** Why nothing can be settled. */
function waiting({ held: { life, plan }, dueAt, seen }: KnownOperation): string {
  if (life.at === 'claimed') return 'It waits for a retry with the same key, which sends the first command.';
  if (life.at === 'done')
    return life.unpaid
      ? `The account ${life.login} is empty: make the deposit on the server, then call this again.`
      : 'It has ended.';
  if (life.at === 'open') return 'The settler completes what is missing, each minute.';
  if (life.at === 'sent' && (dueAt === undefined || dueAt === RETRY_ONLY))
    return 'It waits for a retry with the same key, which sends the same login.';
  if (life.at === 'sent') return 'The settler looks for it. A retry with the same key sends the same login again.';
  const cannotAsk = [...seen.values()].includes(undefined);
  if (plan === undefined || cannotAsk) return 'Its server cannot be asked now. Call this again later.';
  return 'Nothing can be settled now.';
}
