import { ConditionFailed, type Table } from '../../lib/aws/dynamodb.ts';
import { AwsFailure } from '../../lib/aws/failure.ts';

/** Makes an outgoing call of the use case, by its name; a test may make it fail. */
export type Step = <T>(name: string, call: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export const directStep: Step = (_, call) => call();

type Around = <T>(method: string, call: () => Promise<T>, signal: AbortSignal, given: readonly unknown[]) => Promise<T>;

/** A table whose calls another party makes. */
export function interceptTable({ name: tableName, ...table }: Table, make: Around): Table {
  const methods = Object.entries(table as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>).map(
    ([name, method]) => {
      const call = (...args: unknown[]) => {
        const signal = args.find((one) => one instanceof AbortSignal) ?? new AbortController().signal;
        return make(name, () => method(...args), signal, args);
      };
      return [name, call];
    },
  );
  return { ...Object.fromEntries(methods), name: tableName } as Table;
}

/** A table whose calls are steps: `registrations.update`. */
export function tableOfSteps(name: string, table: Table, step: Step): Table {
  return interceptTable(table, (method, call, signal) => step(`${name}.${method}`, call, signal));
}

/** Gives each call its own name: the second `update key` of a request is `update key 2`. @param names gets them */
export function numberedSteps(step: Step, names: string[] = []): Step {
  const counts = new Map<string, number>();
  return (name, call, signal) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    const numberedName = count === 1 ? name : `${name} ${count}`;
    names.push(numberedName);
    return step(numberedName, call, signal);
  };
}

/** Steps in which the calls of these names fail, and are not made. */
export function failingSteps(failures: Readonly<Record<string, unknown>>): Step {
  return (name, call) => (name in failures ? Promise.reject(failures[name]) : call());
}

/** Steps of which one is overtaken: `work` runs right before it. */
export function overtakenStep(at: string, work: () => Promise<unknown>): Step {
  return async (name, call) => {
    if (name === at) await work();
    return call();
  };
}

/** The fault of a step. `slow` and `unanswered`: it takes until the timeout. */
const STEP_FAULTS = ['refused', 'slow', 'answer lost', 'unanswered', 'killed before', 'killed after'] as const;
export type StepFault = (typeof STEP_FAULTS)[number];

const DONE: readonly StepFault[] = ['answer lost', 'unanswered', 'killed after'];
/** The faults of a step that changes nothing: whether it was done makes no difference. */
const READ_FAULTS = STEP_FAULTS.filter((fault) => !DONE.includes(fault));

/** Every step with each of its faults. @param reads the names of steps that change nothing begin like this */
export function withFaults<Name extends string>(steps: readonly Name[], reads: RegExp): [Name, StepFault][] {
  return steps.flatMap((step) =>
    (reads.test(step) ? READ_FAULTS : STEP_FAULTS).map((fault): [Name, StepFault] => [step, fault]),
  );
}

/** The steps of one request. The step with this name fails. */
export function faultySteps(at?: string, fault?: StepFault) {
  const time = new AbortController();
  const death = Promise.withResolvers<'killed'>();
  const step: Step = async (name, call) => {
    if (fault === undefined || name !== at) return call();
    if (DONE.includes(fault)) await call().catch(orThrowUnlessRefused);
    if (fault === 'refused' || fault === 'answer lost') throw new AwsFailure('ServiceUnavailable');
    if (fault === 'killed before' || fault === 'killed after') {
      death.resolve('killed');
      return new Promise(() => {});
    }
    time.abort();
    throw new AwsFailure('TimeoutError');
  };
  return { step, signal: time.signal, died: death.promise };
}

/** A condition may prevent a write. */
function orThrowUnlessRefused(error: unknown): void {
  if (!(error instanceof ConditionFailed)) throw error;
}
