import type { KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AccountConfig } from '../config.ts';
import { stoppable, within } from '../deadline.ts';
import type { AccountNotices } from '../messages/notices.ts';
import { type AccountOrder, type PasswordRole, PlatformFailure, type TradingPlatform } from '../platform/platform.ts';
import { Problem } from '../problem.ts';
import type { AccountDirectory } from '../records/account-directory.ts';
import type { AccountOperations, AskedNotices } from '../records/account-operations.ts';
import type { AccountDetails, Accounts } from '../records/accounts.ts';
import type { Connection } from '../records/crm-records.ts';
import type { Events } from '../records/events.ts';
import { isReserved, type Logins } from '../records/logins.ts';
import { LeaseLost, type Operation } from '../records/operations.ts';
import { bestEffort, type Telemetry } from '../telemetry.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';
import type { NamedRecords } from './order.ts';

/** Of the deployment's secret. */
export interface AccountKeys {
  /** Generated passwords are derived from it. */
  passwords: KeyObject;
  /** Of the fingerprints of requests. */
  fingerprints: KeyObject;
}

/** What accounts are opened with; tests pass fakes. */
export interface AccountServices {
  /** Of the deployment. */
  settings: AccountConfig;
  directory: AccountDirectory;
  operations: AccountOperations;
  logins: Logins;
  accounts: Accounts;
  notices: AccountNotices;
  events: Events;
  platform(connection: Connection, signal: AbortSignal): Promise<TradingPlatform>;
  passwords: {
    keys(signal: AbortSignal): Promise<AccountKeys>;
    derive(from: { key: KeyObject; nonce: string; version: PlatformVersion }): Record<PasswordRole, string>;
  };
  clock: { now(): number };
}

/** When everything must be over, in epoch milliseconds. */
export interface Times {
  /** No byte that may open an account leaves later. */
  openingEndsAt: number;
  /** The last call to the platform. */
  platformEndsAt: number;
  platformSignal: AbortSignal;
  /** Ends what still goes on with the platform. */
  leavePlatform(): void;
  /** All the rest but one last write, which has two seconds. */
  signal: AbortSignal;
}

/** After the start of the request, in milliseconds, so that it is answered within 25 seconds. */
const OPENING_ENDS_MS = 17_000;
const PLATFORM_ENDS_MS = 20_000;
const WORK_ENDS_MS = 22_500;

/** @param stopsAt when whoever asked stops waiting, in epoch milliseconds; `signal` aborts then */
export function timesFrom(startedAt: number, stopsAt: number, signal: AbortSignal): Times {
  const platform = stoppable(PLATFORM_ENDS_MS, signal);
  return {
    openingEndsAt: Math.min(startedAt + OPENING_ENDS_MS, stopsAt),
    platformEndsAt: Math.min(startedAt + PLATFORM_ENDS_MS, stopsAt),
    platformSignal: platform.signal,
    leavePlatform: () => platform.stopIn(0),
    signal: within(WORK_ENDS_MS, signal),
  };
}

/** An operation that is worked on. */
export interface Work extends Times {
  services: AccountServices;
  operation: Operation;
  details: AccountDetails;
  telemetry: Telemetry;
}

/** The same, for a caller who waits for the answer. */
export interface RequestWork extends Work {
  /** Whether the caller gave an `Idempotency-Key`, and so may repeat the request. */
  hasKey: boolean;
  /** True: the master password cannot be derived. */
  masterGiven: boolean;
  notices: AskedNotices;
}

/** The same, when the platform can be asked. */
export interface Opening extends RequestWork {
  found: NamedRecords;
  order: AccountOrder;
  platform: TradingPlatform;
}

/** How long after its bytes have left a silent call may yet open the account, in milliseconds. */
export function settleMs({ settings }: AccountServices): number {
  return settings.settleSeconds * 1_000;
}

/** What a process leaves behind that dies, its system may go on sending for longer than we would: by this factor. */
const DEATH_SETTLES_SLOWER = 2;

/**
 * Until when, should this process die now, what it was about may yet happen, in epoch milliseconds: nobody will know when
 * the bytes left, but it was not after `sendingEndsAt`.
 */
export function settledAfterDeath({ services }: Work, sendingEndsAt: number): number {
  return sendingEndsAt + settleMs(services) * DEATH_SETTLES_SLOWER;
}

/** What a caller without a key is told: to repeat the request would be another one. */
const NO_REPEAT =
  'Do not repeat this request: without an Idempotency-Key that may open a second account. Have the operation looked into.';

export interface UnknownOutcome {
  /** From when on nothing more happens by itself, in epoch milliseconds. */
  settleAt: number;
  /** When a retry may know more, in epoch milliseconds; absent: not before `settleAt`. */
  retryAt?: number;
  status: 409 | 504;
  /** False when the platform cannot be asked, so that no retry will know more. */
  canTell?: boolean;
}

/**
 * Gives the lease up, so that a retry may settle at once.
 * @returns the problem to throw
 */
export async function outcomeUnknown(
  { services, operation, hasKey, telemetry }: RequestWork,
  { settleAt, retryAt = settleAt, status, canTell = true }: UnknownOutcome,
): Promise<Problem> {
  telemetry.event('AccountOutcomeUnknown', { status });
  // What nobody can tell an operator has been told of already.
  const unknown = { settleAt, isDue: status === 504 };
  await bestEffort(telemetry, 'give_up', (signal) => services.operations.giveUp(operation, unknown, signal));
  const retryAfterSeconds = Math.max(1, Math.ceil((retryAt - services.clock.now()) / 1_000));
  return new Problem('account_outcome_unknown', {
    status,
    members: { operation_id: operation.operationId },
    ...(hasKey ? {} : { detail: NO_REPEAT }),
    // Many clients repeat a request by themselves that is answered with it.
    ...(status === 504 && hasKey && canTell ? { retryAfterSeconds } : {}),
  });
}

/**
 * Ends an operation that has certainly opened nothing.
 * @param login one that was reserved, if it was, for nothing
 * @returns the problem to throw: of the failure, or `request_in_progress` when another worker has taken over, who may
 * have opened the account meanwhile
 */
export async function refused(work: Work & Partial<Opening>, failure: unknown, login?: number): Promise<unknown> {
  const { services, operation, telemetry, found } = work;
  let isLost = false;
  await bestEffort(telemetry, 'release', async (signal) => {
    try {
      await services.operations.release(operation, signal);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      isLost = true;
    }
  });
  if (isLost) return takenOver();
  // Only now: a worker that has taken over may be about to send the same login.
  if (login !== undefined && found !== undefined && isReserved(found.connection, login)) {
    await bestEffort(telemetry, 'give_back', (signal) =>
      services.logins.giveBack(found.connection, login, operation, signal),
    );
  }
  return failure instanceof PlatformFailure ? toProblem(failure, telemetry) : failure;
}

/** What is answered when another worker has taken over. */
export function takenOver(): Problem {
  return new Problem('request_in_progress', { retryAfterSeconds: 1 });
}

/** A failure of the platform that certainly opened nothing, as the public problem. */
function toProblem(failure: PlatformFailure, telemetry: Telemetry): Problem {
  const { reason, errors, retryAfterSeconds } = failure.options;
  if (failure.kind === 'platform_refused') telemetry.event('PlatformRefused', { reason });
  if (failure.kind === 'platform_unavailable') telemetry.event('PlatformUnavailable', { reason });
  const seconds = retryAfterSeconds ?? (failure.kind === 'platform_unavailable' ? 5 : undefined);
  return new Problem(failure.kind, {
    ...(errors === undefined ? {} : { errors }),
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
  });
}

/** One question to the platform. */
export const FINDING_MS = 7_000;
/** Between two questions, at most; a platform that is not there is asked no sooner. */
export const PAUSE_MS = 1_000;
/** How long is asked for what cannot become certain within this request. */
const GLANCE_MS = 2_000;

/**
 * Asks the platform until the answer is certain, as long as the request's time allows.
 * @param settleAt from when on (epoch ms) what the platform says is certain
 * @returns the answer, or undefined when the time was over before
 */
export async function askUntilCertain<T>(
  { services, platformEndsAt, platformSignal }: Work,
  settleAt: number,
  ask: (isCertain: boolean, signal: AbortSignal) => Promise<T | 'not_yet' | 'unreachable'>,
): Promise<T | undefined> {
  const askUntil =
    settleAt <= platformEndsAt ? platformEndsAt : Math.min(platformEndsAt, services.clock.now() + GLANCE_MS);
  for (;;) {
    const answer = await ask(services.clock.now() >= settleAt, within(FINDING_MS, platformSignal));
    if (answer !== 'not_yet' && answer !== 'unreachable') return answer;
    const untilSettled = Math.min(PAUSE_MS, Math.max(50, settleAt - services.clock.now()));
    const pauseMs = answer === 'unreachable' ? PAUSE_MS : untilSettled;
    if (services.clock.now() + pauseMs > askUntil) return undefined;
    await sleep(pauseMs, undefined, { signal: platformSignal }).catch(() => {});
    if (platformSignal.aborted) return undefined;
  }
}
