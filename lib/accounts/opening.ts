import { setTimeout as sleep } from 'node:timers/promises';
import { stoppable, within } from '../deadline.ts';
import { type AccountOrder, type Finding, PlatformFailure, type PlatformFailureKind } from '../platform/platform.ts';
import { Problem } from '../problem.ts';
import { type Connection, loginRangeOf } from '../records/crm-records.ts';
import { isReserved } from '../records/logins.ts';
import { LeaseLost } from '../records/operations.ts';
import { describeError } from '../telemetry.ts';
import { loginCandidates } from './order.ts';
import {
  askUntilCertain,
  FINDING_MS,
  type Opening,
  outcomeUnknown,
  PAUSE_MS,
  refused,
  settledAfterDeath,
  settleMs,
  takenOver,
} from './work.ts';

/** How long the answer to a command is waited for that may be sent again: no longer than this, and half of the time that is left. */
const ANSWER_MS = 7_000;

/** An account that is open. `found`: an earlier worker of the operation had opened it. */
export interface Opened {
  login: number;
  found: boolean;
}

/**
 * Opens the account, once: where it is asked for with a login, the platform itself refuses a second one, so the same
 * command is sent until it is answered; else it is sent once, and what became of it is looked up.
 * @param asked the login that an earlier worker may have asked for it with
 * @throws Problem for every outcome but an opened account
 */
export async function openAccount(opening: Opening, asked?: number): Promise<Opened> {
  const { order, platform, found } = opening;
  const range = loginRangeOf(found.connection);
  for (const login of platform.loginIsKey ? candidates(opening, asked) : []) {
    const opened = await openWithLogin(opening, login, login === asked);
    if (opened !== 'taken') return opened;
  }
  if (order.login === undefined && range === undefined) return openWithoutLogin(opening);
  const kind = order.login === undefined ? 'login_range_exhausted' : 'login_taken';
  throw await refused(opening, new PlatformFailure(kind, { reason: 'login_exists' }));
}

/** The logins to ask for: the caller's own, or of the range from the one on that an earlier worker may have asked for. */
function candidates({ order, found, operation }: Opening, asked: number | undefined): Iterable<number> {
  if (order.login !== undefined) return [order.login];
  const range = loginRangeOf(found.connection);
  if (asked === undefined) return range === undefined ? [] : loginCandidates(operation, range);
  const all = range === undefined ? [] : [...loginCandidates(operation, range)];
  // The range may be another one by now.
  return all.includes(asked) ? all.slice(all.indexOf(asked)) : [asked, ...all];
}

/**
 * Sends the same command until it is known whether the account is open.
 * @param askedBefore true: an earlier worker may have sent it
 * @returns `taken` when the login is somebody else's
 */
async function openWithLogin(opening: Opening, login: number, askedBefore: boolean): Promise<Opened | 'taken'> {
  if (askedBefore && !(await isOurs(opening, login))) return 'taken';
  let mayExist = askedBefore;
  let isUntold = false;
  for (let sent = 1; ; sent += 1) {
    if (mayExist) {
      const finding = await find(opening, login);
      if (finding.kind === 'found') return { login: finding.login, found: askedBefore };
      if (finding.kind === 'another') return 'taken';
      // The answer to the same command may tell more.
      if (finding.kind === 'cannot_tell' && isUntold) throw await unknownNow(opening, askedBefore ? 409 : 504, false);
      isUntold = finding.kind === 'cannot_tell';
    }
    const outcome = await send(opening, login);
    if (outcome.kind === 'opened') return { login: outcome.login, found: false };
    if (outcome.kind === 'reserved' || (outcome.kind === 'taken' && !mayExist)) return 'taken';
    if (outcome.kind === 'refused' && (!mayExist || isJudgement(outcome))) {
      throw await refused(opening, outcome.failure, mayExist ? undefined : login);
    }
    mayExist = true;
    // The first answer that is lost is looked for at once.
    if (outcome.kind !== 'lost' || sent > 1) await pause(opening);
  }
}

/** Whether the reservation of a login that an earlier worker asked for stands, where the server does not show whose it is. */
async function isOurs(opening: Opening, login: number): Promise<boolean> {
  const { services, found, operation, signal } = opening;
  if (!isReserved(found.connection, login)) return true;
  try {
    return await services.logins.reserve(found.connection, login, operation, signal);
  } catch {
    throw await unknownNow(opening, 504);
  }
}

/** Asks until the platform answers; @throws Problem `account_outcome_unknown` when it stays away */
async function find(opening: Opening, login: number): Promise<Finding> {
  for (;;) {
    const finding = await look(opening, login, within(FINDING_MS, opening.platformSignal));
    if (finding.kind !== 'unreachable') return finding;
    await pause(opening);
  }
}

/** @throws Problem `account_outcome_unknown` when the time is over */
async function pause(opening: Opening): Promise<void> {
  const { services, platformEndsAt, platformSignal } = opening;
  if (services.clock.now() + PAUSE_MS < platformEndsAt) {
    await sleep(PAUSE_MS, undefined, { signal: platformSignal }).catch(() => {});
    if (!platformSignal.aborted) return;
  }
  throw await unknownNow(opening, 504);
}

function answerMs({ services, platformEndsAt }: Opening): number {
  return Math.min(ANSWER_MS, (platformEndsAt - services.clock.now()) / 2);
}

/** What an account with a login of its own came to is not known yet; a retry may go on at once. */
function unknownNow(opening: Opening, status: 409 | 504, canTell = true): Promise<Problem> {
  const { now } = opening.services.clock;
  return outcomeUnknown(opening, { settleAt: now() + settleMs(opening.services), retryAt: now(), status, canTell });
}

/** Kinds of failures that speak of the order, so that the server gives the same command the same answer whenever it comes to it. */
const JUDGEMENTS: ReadonlySet<PlatformFailureKind> = new Set([
  'group_not_found',
  'password_rejected',
  'validation_failed',
]);

function isJudgement({ failure, left }: Outcome & { kind: 'refused' }): boolean {
  return left && failure instanceof PlatformFailure && JUDGEMENTS.has(failure.kind);
}

/**
 * Sends the command once; what became of it is looked up, until it can no longer be carried out.
 * @throws Problem for every outcome but an opened account
 */
async function openWithoutLogin(opening: Opening): Promise<Opened> {
  const { clock } = opening.services;
  const outcome = await send(opening, undefined);
  if (outcome.kind === 'opened') return { login: outcome.login, found: false };
  if (outcome.kind === 'refused') throw await refused(opening, outcome.failure);
  const login = await settle(opening, { settleAt: clock.now() + settleMs(opening.services) }, 504);
  if (login !== undefined) return { login, found: false };
  throw await refused(opening, new Problem('platform_unavailable', { retryAfterSeconds: 1 }));
}

/**
 * Asks the platform until the account is found or its absence is certain, as long as the request's time allows.
 * What was sent may yet be carried out until `settleAt` (epoch milliseconds), and asked for `login`.
 * @returns the login, or undefined when certainly no account was opened
 * @throws Problem `account_outcome_unknown`
 */
export async function settle(
  opening: Opening,
  { settleAt, login }: { settleAt: number; login?: number | undefined },
  cannotTellStatus: 409 | 504,
): Promise<number | undefined> {
  const finding = await askUntilCertain(opening, settleAt, async (isCertain, signal) => {
    const found = await look(opening, login, signal);
    if (found.kind === 'unreachable') return 'unreachable';
    return found.kind === 'absent' && !isCertain ? 'not_yet' : found;
  });
  if (finding === undefined) throw await outcomeUnknown(opening, { settleAt, status: 504 });
  if (finding.kind === 'cannot_tell') {
    throw await outcomeUnknown(opening, { settleAt, status: cannotTellStatus, canTell: false });
  }
  return finding.kind === 'found' ? finding.login : undefined;
}

async function look(
  { platform, order, found }: Opening,
  login: number | undefined,
  signal: AbortSignal,
): Promise<Finding | { kind: 'unreachable' }> {
  try {
    return await platform.find(withLogin(order, found.connection, login), signal);
  } catch (error) {
    // One that refuses us would go on doing so: that is an operator's matter.
    const isRefusal = error instanceof PlatformFailure && error.kind === 'platform_refused';
    return { kind: isRefusal ? 'cannot_tell' : 'unreachable' };
  }
}

/** What one command came to. `left`: its bytes may have left. */
type Outcome =
  | { kind: 'opened'; login: number }
  /** The login exists, whoever's it is. */
  | { kind: 'taken' }
  /** Another operation has reserved the login; nothing was sent. */
  | { kind: 'reserved' }
  /** It may have been carried out, or may yet be. */
  | { kind: 'lost' }
  /** Certainly not carried out. */
  | { kind: 'refused'; failure: unknown; left: boolean };

class LoginReserved extends Error {
  override readonly name = 'LoginReserved';
}

/** @throws Problem `request_in_progress` when another worker has taken over */
async function send(opening: Opening, login: number | undefined): Promise<Outcome> {
  const { services, platform, order, found, openingEndsAt, platformSignal, telemetry } = opening;
  const limit = stoppable(openingEndsAt - services.clock.now(), platformSignal);
  let left = false;
  const note = async () => {
    await noteDeparture(opening, login);
    left = true;
    if (login !== undefined) limit.stopIn(answerMs(opening));
  };
  try {
    const asked = withLogin(order, found.connection, login);
    const opened = await platform.open(asked, { note, notAfter: openingEndsAt }, limit.signal);
    return { kind: 'opened', login: opened.login };
  } catch (error) {
    if (error instanceof LeaseLost) throw takenOver();
    if (error instanceof LoginReserved) return { kind: 'reserved' };
    const kind = error instanceof PlatformFailure ? error.kind : undefined;
    if (kind === 'login_taken') return { kind: 'taken' };
    const isKnown = kind !== undefined && kind !== 'account_outcome_unknown';
    if (!left || isKnown) return { kind: 'refused', failure: error, left };
    telemetry.event('AnswerLost', describeError(error));
    return { kind: 'lost' };
  }
}

/** Writes down what leaves now, side by side; @throws when nothing may be sent */
async function noteDeparture(opening: Opening, login: number | undefined): Promise<void> {
  const { services, operation, details, masterGiven, notices, found, order, openingEndsAt, signal } = opening;
  const sent = {
    settleAt: settledAfterDeath(opening, openingEndsAt),
    login,
    details: { ...details, ...notices, deposit: order.deposit, master_given: masterGiven },
  };
  const [marked, reserved] = await Promise.allSettled([
    services.operations.markSent(operation, sent, signal),
    login === undefined || !isReserved(found.connection, login)
      ? true
      : services.logins.reserve(found.connection, login, operation, signal),
  ]);
  if (marked.status === 'rejected') throw marked.reason;
  if (reserved.status === 'rejected') throw reserved.reason;
  if (!reserved.value) throw new LoginReserved('Another operation has this login.');
}

function withLogin(order: AccountOrder, connection: Connection, login: number | undefined): AccountOrder {
  const { login: _, ...rest } = order;
  if (login === undefined) return rest;
  return { ...rest, login, ...(isReserved(connection, login) ? { reserved: true } : {}) };
}
