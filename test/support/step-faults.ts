import { vi } from 'vitest';
import { ConditionFailed, type Table } from '../../lib/aws/dynamodb.ts';
import { AwsFailure } from '../../lib/aws/failure.ts';
import { around } from './interleave.ts';

/** Makes an outgoing call of the use case, by its name; a test may make it fail. */
export type Step = <T>(name: string, call: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export const atOnce: Step = (_, call) => call();

/** A table whose calls are steps: `registrations.update`. */
export function stepping(name: string, table: Table, step: Step): Table {
  return around(table, (method, call, signal) => step(`${name}.${method}`, call, signal));
}

/** The fault of a step. `slow` and `unanswered`: it takes until the timeout. */
export const FAULTS = ['refused', 'slow', 'answer lost', 'unanswered', 'killed before', 'killed after'] as const;
export type StepFault = (typeof FAULTS)[number];

/** Longer than the time of any step. */
const ANY_TIMEOUT_MS = 60_000;

const DONE: readonly StepFault[] = ['answer lost', 'unanswered', 'killed after'];

/**
 * Steps of one request, of which one fails.
 * @param at the name of the step, with its number where others have the same: `registrations.update 2`
 */
export function faultySteps(at?: string, fault?: StepFault) {
  const names: string[] = [];
  const time = new AbortController();
  const death = Promise.withResolvers<'killed'>();
  const step: Step = async (name, call, signal) => {
    const number = names.filter((other) => other.startsWith(`${name} `)).length + 1;
    names.push(`${name} ${number}`);
    if (fault === undefined || `${name} ${number}` !== at) return call();
    if (DONE.includes(fault)) await call().catch(orThrowUnlessRefused);
    if (fault === 'refused' || fault === 'answer lost') throw new AwsFailure('ServiceUnavailable');
    if (fault === 'killed before' || fault === 'killed after') {
      death.resolve('killed');
      return new Promise(() => {});
    }
    const over = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new AwsFailure('TimeoutError')));
    });
    time.abort();
    // A step that has a time of its own waits for no other clock.
    if (vi.isFakeTimers()) vi.advanceTimersByTime(ANY_TIMEOUT_MS);
    return over;
  };
  return { names, step, signal: time.signal, died: death.promise };
}

/** A condition may prevent a write. */
function orThrowUnlessRefused(error: unknown): void {
  if (!(error instanceof ConditionFailed)) throw error;
}
