import { setTimeout as sleep } from 'node:timers/promises';
import { type AccountDetails, accountDetails, findRecords, type NamedRecords, toOrder } from './account-order.ts';
import { within } from './http/deadline.ts';
import type { Answer, Request } from './http/endpoint.ts';
import { fingerprint } from './http/idempotency.ts';
import { Problem } from './http/problem.ts';
import type { AccountNotices, OpenedAccount } from './messages/notices.ts';
import {
  type AccountOrder,
  type Finding,
  type PasswordRole,
  PlatformFailure,
  type TradingPlatform,
} from './platform/platform.ts';
import type { AccountRecord, Accounts } from './records/accounts.ts';
import type { Connection } from './records/crm-records.ts';
import type { Directory } from './records/directory.ts';
import {
  type AccountOperations,
  LeaseLost,
  type Operation,
  type OperationResult,
  workable,
} from './records/operations.ts';
import { describeError, quietly, type Telemetry } from './telemetry.ts';
import type { PlatformVersion, TradingAccountAnswer, TradingAccountRequest } from './validators/trading-account.ts';

/** What the opening of an account needs; tests pass fakes. */
export interface TradingAccountParts {
  directory: Directory;
  operations: AccountOperations;
  accounts: Accounts;
  notices: AccountNotices;
  platform(connection: Connection, signal: AbortSignal): Promise<TradingPlatform>;
  /** The secret that generated passwords and fingerprints are derived from. */
  passwordKey(signal: AbortSignal): Promise<string>;
  derivePassword(from: { key: string; nonce: string; role: PasswordRole; version: PlatformVersion }): string;
  /** How long after its bytes have left a silent call may yet open the account, in milliseconds. */
  settleMs: number;
  now(): number;
}

/**
 * When everything must be over, in milliseconds after the start of the request, so that it is answered within 25 seconds:
 * the opening; every other call to the platform; all the rest but one last write, which has two seconds.
 */
const OPENING_ENDS_MS = 17_000;
const PLATFORM_ENDS_MS = 20_000;
const WORK_ENDS_MS = 22_500;
/** One look-up. */
const FINDING_MS = 5_000;
/** How long is asked for an account whose absence cannot become certain within this request. */
const GLANCE_MS = 2_000;
/** Between two look-ups, at most; a platform that is not there is asked no sooner. */
const PAUSE_MS = 1_000;
/** What a process leaves behind that dies, its system may go on sending for longer than we would: by this factor. */
const DEATH_SETTLES_SLOWER = 2;

/** What every try of a request knows. */
interface Try {
  parts: TradingAccountParts;
  operation: Operation;
  /** Whether the caller gave an `Idempotency-Key`, and so may repeat the request. */
  hasKey: boolean;
  details: AccountDetails;
  telemetry: Telemetry;
  startedAt: number;
  /** When this invocation is over at the latest, in epoch milliseconds. */
  endsAt: number;
  /** For calls to the platform. */
  platformSignal: AbortSignal;
  signal: AbortSignal;
}

/** One that can ask the platform. */
interface Attempt extends Try {
  found: NamedRecords;
  order: AccountOrder;
  platform: TradingPlatform;
}

/**
 * Opens a trading account, never a second one for the same request: the operation is written before the platform is
 * called, and a lost answer is looked up before anything is tried again (specification, 4.2 and 4.3).
 * @throws Problem for every outcome but an opened account
 */
export async function openTradingAccount(
  parts: TradingAccountParts,
  version: PlatformVersion,
  request: Request<TradingAccountRequest, { user_id: string }>,
  telemetry: Telemetry,
  callerSignal: AbortSignal,
): Promise<Answer<TradingAccountAnswer>> {
  const { body, endsAt } = request;
  const userId = request.parameters.user_id;
  const startedAt = parts.now();
  const signal = within(WORK_ENDS_MS, callerSignal);
  const platformSignal = within(PLATFORM_ENDS_MS, callerSignal);
  const passwordKey = parts.passwordKey(signal);
  const [claimed, records] = await Promise.allSettled([
    passwordKey.then((key) =>
      parts.operations.claim(
        request.idempotencyKey === undefined
          ? undefined
          : [version, request.caller ?? 'anyone', userId, request.idempotencyKey],
        [fingerprint(request.sentBody, key)],
        endsAt - startedAt + 1_000,
        signal,
      ),
    ),
    // Beside the key too, which a cold start has to ask for.
    parts.directory.forAccount(
      {
        userId,
        connectionId: body.connection_id,
        accountTypeId: body.account_type_id,
        rebateUserId: body.rebate_user_id,
      },
      signal,
    ),
  ]);
  if (claimed.status === 'rejected') throw claimed.reason;
  const key = await passwordKey;
  const claim = workable(claimed.value);
  const { operation } = claim;
  const scoped = telemetry.with({ operation_id: operation.operationId, version, user_id: userId });
  const password = (role: PasswordRole) => parts.derivePassword({ key, nonce: operation.nonce, role, version });
  const passwords = {
    master_password: body.master_password ?? password('master'),
    investor_password: body.investor_password ?? password('investor'),
  };
  const details = accountDetails(version, userId, body, operation);

  const known: Try = {
    ...{ parts, operation, hasKey: request.idempotencyKey !== undefined, details, telemetry: scoped },
    ...{ startedAt, endsAt, platformSignal, signal },
  };
  const prepare = async (): Promise<Attempt> => {
    if (records.status === 'rejected') throw records.reason;
    const found = findRecords(version, body, records.value);
    const platform = await parts.platform(found.connection, signal);
    const order = toOrder(body, found, operation, passwords);
    const unsupported = platform.unsupported(order);
    if (unsupported.length > 0) throw new Problem('not_supported_by_connection', { errors: unsupported });
    return { ...known, found, order, platform };
  };

  if (claim.kind === 'finished') {
    const { login } = claim.result;
    if (login === undefined) throw new Error('A finished operation has no login.');
    await makeUp(known, prepare, { ...claim.result, login });
    return { body: { login, ...passwords }, replayed: true };
  }

  let attempt: Attempt;
  try {
    attempt = await prepare();
  } catch (error) {
    if (claim.kind === 'undecided') {
      // A record that is gone from the CRM stays gone: only an operator can settle it then.
      const status = error instanceof Problem ? 409 : 504;
      throw await outcomeUnknown(known, claim.settleAt, status);
    }
    await release(parts, operation, scoped);
    throw error instanceof PlatformFailure ? toProblem(error, scoped) : error;
  }

  const earlier = claim.kind === 'undecided' ? await settle(attempt, claim.settleAt, 409) : undefined;
  const login = earlier ?? (await open(attempt));
  await complete(attempt, login, { certainlyEmpty: earlier === undefined, body });
  return { body: { login, ...passwords }, replayed: earlier !== undefined };
}

/** @returns the new account's login; @throws Problem */
async function open(attempt: Attempt): Promise<number> {
  const { parts, operation, order, platform, telemetry, startedAt } = attempt;
  const openingEndsAt = startedAt + OPENING_ENDS_MS;
  let mayHaveLeft = false;
  const beforeSending = async () => {
    const settleAt = settledAfterDeath(attempt, openingEndsAt);
    await parts.operations.markSent(operation, settleAt, { ...attempt.details }, attempt.signal);
    mayHaveLeft = true;
  };
  try {
    const opening = within(openingEndsAt - parts.now(), attempt.platformSignal);
    // The look-up of an earlier try may have taken it all.
    if (opening.aborted) throw new PlatformFailure('platform_unavailable', { reason: 'no_time', retryAfterSeconds: 1 });
    return (await platform.open(order, { note: beforeSending, notAfter: openingEndsAt }, opening)).login;
  } catch (error) {
    if (error instanceof LeaseLost) throw new Problem('request_in_progress', { retryAfterSeconds: 1 });
    const failure = error instanceof PlatformFailure ? error : undefined;
    if (!mayHaveLeft || (failure !== undefined && failure.kind !== 'account_outcome_unknown')) {
      await release(parts, operation, telemetry);
      throw failure === undefined ? error : toProblem(failure, telemetry);
    }
    telemetry.event('AnswerLost', describeError(error));
    const login = await settle(attempt, parts.now() + parts.settleMs, 504);
    if (login !== undefined) return login;
    await release(parts, operation, telemetry);
    throw new Problem('platform_unavailable', { retryAfterSeconds: 1 });
  }
}

/**
 * Until when, should this process die now, what it was about may yet happen, in epoch milliseconds: nobody will know when
 * the bytes left, but it was not after `sendingEndsAt`.
 */
function settledAfterDeath({ parts, endsAt }: Try, sendingEndsAt: number): number {
  return Math.min(sendingEndsAt, endsAt) + parts.settleMs * DEATH_SETTLES_SLOWER;
}

/**
 * Asks the platform until the account is found or its absence is certain, as long as the request's time allows.
 * @returns the login, or undefined when certainly no account was opened
 * @throws Problem `account_outcome_unknown`
 */
async function settle(attempt: Attempt, settleAt: number, cannotTellStatus: 409 | 504): Promise<number | undefined> {
  const { parts, order, platform, platformSignal } = attempt;
  const stopAt = attempt.startedAt + PLATFORM_ENDS_MS;
  // When certainty is out of reach, a few seconds are enough to see whether the account is there already.
  const askUntil = settleAt <= stopAt ? stopAt : Math.min(stopAt, parts.now() + GLANCE_MS);
  for (;;) {
    const askedAt = parts.now();
    const finding = await find(platform, order, within(FINDING_MS, platformSignal));
    if (finding.kind === 'found') return finding.login;
    if (finding.kind === 'cannot_tell') throw await outcomeUnknown(attempt, settleAt, cannotTellStatus, false);
    if ((finding.kind === 'absent' || finding.kind === 'another') && askedAt >= settleAt) return undefined;
    const untilSettled = Math.min(PAUSE_MS, Math.max(50, settleAt - parts.now()));
    const pause = finding.kind === 'unreachable' ? PAUSE_MS : untilSettled;
    if (parts.now() + pause > askUntil) break;
    await sleep(pause, undefined, { signal: platformSignal }).catch(() => {});
    if (platformSignal.aborted) break;
  }
  throw await outcomeUnknown(attempt, settleAt, 504);
}

async function find(
  platform: TradingPlatform,
  order: AccountOrder,
  signal: AbortSignal,
): Promise<Finding | { kind: 'unreachable' }> {
  try {
    return await platform.find(order, signal);
  } catch (error) {
    // One that refuses us would go on doing so: that is an operator's matter.
    const refused = error instanceof PlatformFailure && error.kind === 'platform_refused';
    return { kind: refused ? 'cannot_tell' : 'unreachable' };
  }
}

/** What a caller without a key is told: to repeat the request would be another one. */
const NO_REPEAT =
  'Do not repeat this request: without an Idempotency-Key that may open a second account. Have the operation looked into.';

/**
 * Gives the lease up, so that a retry may settle at once.
 * @param canTell false when the platform cannot be asked, so that no retry will know more
 * @returns the problem to throw
 */
async function outcomeUnknown(
  { parts, operation, hasKey, telemetry }: Try,
  settleAt: number,
  status: 409 | 504,
  canTell = true,
): Promise<Problem> {
  telemetry.event('AccountOutcomeUnknown', { status });
  await quietly(telemetry, 'give_up', (signal) => parts.operations.giveUp(operation, settleAt, signal));
  const retryAfterSeconds = Math.max(1, Math.ceil((settleAt - parts.now()) / 1_000));
  return new Problem('account_outcome_unknown', {
    status,
    members: { operation_id: operation.operationId },
    ...(hasKey ? {} : { detail: NO_REPEAT }),
    // Many clients repeat a request by themselves that is answered with it.
    ...(status === 504 && hasKey && canTell ? { retryAfterSeconds } : {}),
  });
}

/** Everything after the account exists; nothing of it changes the answer any more. */
async function complete(
  attempt: Attempt,
  login: number,
  { certainlyEmpty, body }: { certainlyEmpty: boolean; body: TradingAccountRequest },
): Promise<void> {
  const { parts, found, order, details, signal } = attempt;
  const telemetry = attempt.telemetry.with({ login, connection_id: details.connection_id });
  const opened_at = new Date(parts.now()).toISOString();
  telemetry.event('AccountOpened');
  const [{ funded, fundFrom }, recorded] = await Promise.all([
    fund(attempt, login, certainlyEmpty, telemetry),
    record(parts, { ...details, login, opened_at }, telemetry, signal),
  ]);
  await finish({ ...attempt, telemetry }, { login, opened_at, recorded, funded }, fundFrom);

  const account: OpenedAccount = {
    login,
    version: details.version,
    group: order.group,
    leverage: order.leverage,
    readonly: order.readonly,
    demo: found.connection.demo,
    ...(found.connection.name === undefined ? {} : { serverName: found.connection.name }),
  };
  const language = body.language ?? found.client.language;
  const noticed = async (notice: string, send: () => Promise<void>) => {
    try {
      await send();
    } catch (error) {
      telemetry.event('NoticeFailed', { notice, ...describeError(error) });
    }
  };
  await Promise.all([
    body.send_email === true && noticed('email', () => parts.notices.email(found.client, account, language, signal)),
    body.send_pop_up === true &&
      noticed('popup', () => parts.notices.popUp(found.client.id, account, language, signal)),
  ]);
}

/** Does in a replay what could not be done when the account was opened: its deposit, its record. */
async function makeUp(
  known: Try,
  prepare: () => Promise<Attempt>,
  { login, recorded = true, funded = true, ...kept }: OperationResult & { login: number },
): Promise<void> {
  if (recorded && funded) return;
  const { parts, details, signal } = known;
  const telemetry = known.telemetry.with({ login, connection_id: details.connection_id });
  const opened_at = kept.opened_at ?? new Date(parts.now()).toISOString();
  const [funding, isRecorded] = await Promise.all([
    funded ? FUNDED : fundLater(prepare, login, telemetry),
    recorded || record(parts, { ...details, login, opened_at }, telemetry, signal),
  ]);
  await finish(known, { login, opened_at, recorded: isRecorded, funded: funding.funded }, funding.fundFrom);
}

/** Whether the deposit is there, where one is due; else, where it may yet arrive, when it may be paid again (epoch ms). */
interface Funding {
  funded: boolean;
  fundFrom?: number;
}
const FUNDED: Funding = { funded: true };

/**
 * Sees to it that a demo account holds its deposit, once. A lost one is paid again when it certainly did not arrive, if
 * that is known within the request's time; else a replay makes up for it.
 */
async function fund(attempt: Attempt, login: number, certainlyEmpty: boolean, telemetry: Telemetry): Promise<Funding> {
  const { parts, operation, order, platform, platformSignal } = attempt;
  if (order.deposit === undefined) return FUNDED;
  const stopAt = attempt.startedAt + PLATFORM_ENDS_MS;
  let mayHaveLeft = false;
  const beforeSending = async () => {
    if (mayHaveLeft) return;
    await parts.operations.markFunding(operation, settledAfterDeath(attempt, stopAt), platformSignal);
    mayHaveLeft = true;
  };
  const departure = { note: beforeSending, notAfter: stopAt };
  const pay = async (isEmpty: boolean) => {
    if (!isEmpty && (await platform.holdsFunds(login, platformSignal)) === true) return;
    await platform.fund(order, login, departure, platformSignal).catch(async (error: unknown) => {
      const arrived = !isCertain(error) && (await platform.holdsFunds(login, platformSignal).catch(() => false));
      if (arrived !== true) throw error;
    });
  };
  /** When a deposit that failed so has certainly not arrived. */
  const settledAt = (error: unknown) => parts.now() + (isCertain(error) ? 0 : parts.settleMs);

  try {
    await pay(certainlyEmpty).catch(async (error: unknown) => {
      const settles = settledAt(error);
      if (!mayHaveLeft || isCertain(error) || settles + FINDING_MS > stopAt) throw error;
      await sleep(settles - parts.now(), undefined, { signal: platformSignal }).catch(() => {
        throw error;
      });
      await pay(false);
    });
    return FUNDED;
  } catch (error) {
    telemetry.event('DepositFailed', describeError(error));
    return { funded: false, ...(mayHaveLeft ? { fundFrom: settledAt(error) } : {}) };
  }
}

/** The same in a replay, which knows of nothing but its operation. */
async function fundLater(prepare: () => Promise<Attempt>, login: number, telemetry: Telemetry): Promise<Funding> {
  let attempt: Attempt;
  try {
    attempt = await prepare();
  } catch (error) {
    telemetry.event('DepositFailed', describeError(error));
    return { funded: false };
  }
  return fund(attempt, login, false, telemetry);
}

/** A failure that says that nothing was done. */
function isCertain(error: unknown): error is PlatformFailure {
  return error instanceof PlatformFailure && error.kind !== 'account_outcome_unknown';
}

/** Writes the account's record; @returns whether it is written */
async function record(
  parts: TradingAccountParts,
  account: AccountRecord,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await parts.accounts.put(account, signal);
    return true;
  } catch (error) {
    telemetry.event('AccountNotRecorded', { login: account.login, ...describeError(error) });
    return false;
  }
}

/** Writes the operation's end; a replay makes up for what it says is missing. */
function finish({ parts, operation, telemetry }: Try, result: OperationResult, fundFrom?: number): Promise<void> {
  return quietly(telemetry, 'finish', (signal) => parts.operations.finish(operation, result, signal, fundFrom));
}

function release(parts: TradingAccountParts, operation: Operation, telemetry: Telemetry): Promise<void> {
  return quietly(telemetry, 'release', (signal) => parts.operations.release(operation, signal));
}

/** A failure of the platform that certainly opened nothing, as the public problem. */
function toProblem(failure: PlatformFailure, telemetry: Telemetry): Problem {
  const { reason, errors, retryAfterSeconds } = failure.options;
  if (failure.kind === 'platform_refused') telemetry.event('PlatformRefused', { reason });
  if (failure.kind === 'platform_unavailable') telemetry.event('PlatformUnavailable', { reason });
  return new Problem(failure.kind, {
    ...(errors === undefined ? {} : { errors }),
    ...(retryAfterSeconds !== undefined
      ? { retryAfterSeconds }
      : failure.kind === 'platform_unavailable'
        ? { retryAfterSeconds: 5 }
        : {}),
  });
}
