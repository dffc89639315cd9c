import { within } from '../deadline.ts';
import { describeError } from '../telemetry.ts';
import type { Job } from './job.ts';
import { type DecisionContext, type Fact, type Life, nextLife } from './life.ts';
import type { HeldOperation } from './stored-operation.ts';

/** The longest time for a write after the first command, in milliseconds, even if the request's time is up. */
export const LAST_WRITE_MS = 2_000;

/**
 * Learns a fact: `life.ts` decides what it changes, and the new state is written under the version that was read. That
 * an account is open is written by `completeAccount`, together with its record.
 * @param from the state that is known; absent: the one that is written
 * @returns the state of the operation
 * @throws Overtaken, ReservationConflict, AwsFailure if the state could not be written
 */
export async function learn(job: Job, fact: Fact, from: Life = job.held.life): Promise<Life> {
  const { held, dependencies, times } = job;
  const to = nextLife(from, fact, decisionContext(held, dependencies.now()));
  report(job, from, to, fact);
  // `completeAccount` writes it.
  if (to.at === 'open' && from.at !== 'open') return to;
  // Before a repeated command the operation is due again: if the worker dies, the settler looks.
  const isSame = JSON.stringify(to) === JSON.stringify(held.life);
  if (isSame && fact.on !== 'again') return held.life;
  const isBeforeFirst = fact.on === 'ready';
  const since = isBeforeFirst ? dependencies.now() : held.since;
  const signal = isBeforeFirst ? times.signal : within(LAST_WRITE_MS);
  await dependencies.ledger.write(held, { life: to, since }, signal);
  return to;
}

/** @param now epoch milliseconds */
export function decisionContext({ plan, closed }: HeldOperation, now: number): DecisionContext {
  return {
    keyed: plan?.keyed ?? true,
    exclusive: plan?.exclusive === true && !plan.login_given,
    saidNone: closed !== undefined,
    deposit: plan?.deposit !== undefined && !plan.deposit_with_opening,
    mail: plan?.send_email === true,
    now,
  };
}

/** Logs what operators need to know. */
function report({ held: { plan }, telemetry }: Job, life: Life, to: Life, fact: Fact): void {
  if (to.at === 'undecided' && life.at !== 'undecided') {
    telemetry.event('AccountOutcomeUnknown', { reason: fact.on });
    const isIntruder = fact.on === 'foreign' || fact.on === 'unmarked';
    // A caller's own login may be outside of our ranges.
    if (isIntruder && to.login !== undefined && plan?.login_given !== true)
      telemetry.event('LoginNotOurs', { login: to.login });
  }
  if (to.at !== 'open') return;
  const before = life.at === 'open' ? life : undefined;
  if (before === undefined) telemetry.event('AccountOpened', { login: to.login });
  if (to.deposit === 'unpaid' && before?.deposit !== 'unpaid') telemetry.event('DepositFailed', { login: to.login });
  if (to.mail === 'failed' && before?.mail !== 'failed') telemetry.event('NoticeFailed', { login: to.login });
}

/** Logs a state that could not be written. A retry or the settler completes the rest. */
export function reportUnwritten({ telemetry }: Pick<Job, 'telemetry'>, step: Life['at'], error: unknown): void {
  telemetry.event('OperationNotSettled', { step, ...describeError(error) });
}
