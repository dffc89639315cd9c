import { OPERATOR_ONLY, RETRY_ONLY } from '../records/due.ts';
import { bestEffort } from '../telemetry.ts';
import type { Job } from './job.ts';
import { DAY_MS, type Fact, isFinished, type Life } from './life.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Releases an operation until a retry or the settler acquires it. The settler looks at growing intervals for a day after
 * the first command. Then a sent login that is absent waits for a retry, and every other one for an operator.
 * @param life as this worker knows it. If it could not be written, nothing else can be now
 * @param seen what the last look at the login has shown
 */
export async function releaseOperation(
  { held, dependencies, telemetry }: Job,
  life: Life,
  worker: 'request' | 'settler',
  seen?: Fact['on'],
): Promise<void> {
  const { since = 0 } = held;
  // Of a finished account every worker tells the login. Only an operator may wait for its lease.
  const isComplete = life.at === 'open' && isFinished(life) && life.deposit !== 'unpaid' && life.word !== true;
  if (life !== held.life || isComplete || held.leaseUntil === 0) return;
  const at = dependencies.now();
  const age = at - (life.at === 'open' ? Date.parse(life.opened_at) : since);
  let until = at + (worker === 'settler' ? Math.min(HOUR_MS, Math.max(MINUTE_MS, age)) : MINUTE_MS);
  if (life.at === 'sent' && age > DAY_MS) {
    until = seen === 'absent' ? RETRY_ONLY : OPERATOR_ONLY;
    if (until === OPERATOR_ONLY) telemetry.event('AccountOutcomeUnknown', { reason: seen });
  }
  await bestEffort(telemetry, 'rest', (signal) => dependencies.ledger.rest(held, until, signal));
}
