import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { ACCOUNT } from './arn.ts';
import { allowing, type Need, type Right } from './policy.ts';

/** Who calls the embedded services. */
export interface Caller {
  readonly name: string;
  /** Absent: everything, as for an administrator. */
  readonly rights?: readonly Right[];
}

/** The callers by access key. */
export type Callers = ReadonlyMap<string, Caller>;

/** A unique access key in AWS's format. */
export function newAccessKeyId(): string {
  return `LOCAL${randomBytes(10).toString('hex').toUpperCase()}`;
}

/** A call that was judged. */
export interface ObservedCall {
  caller: string;
  need: Need;
  /** The rights that allow it, by their ids; none: it was denied. */
  by: string[];
}

/** One call for each set of rights that allowed a call in this process: the rights that a test run has used. */
export const observedCalls = new Map<string, ObservedCall>();

/** @returns AWS's sentence about the first right that is missing; undefined: the call may be made */
export function findDenial(caller: Caller, needs: readonly Need[]): string | undefined {
  const { name, rights } = caller;
  if (rights === undefined) return undefined;
  for (const need of needs) {
    const by = allowing(rights, need).map(({ id }) => id);
    const key = by.length === 0 ? `${name} ${need.action} ${need.resource}` : by.join('\n');
    if (!observedCalls.has(key)) observedCalls.set(key, { caller: name, need, by });
    if (by.length === 0) return sentence(name, need);
  }
  return undefined;
}

function sentence(name: string, { action, resource }: Need): string {
  return (
    `User: arn:aws:sts::${ACCOUNT}:assumed-role/${name}/${name} is not authorized to perform: ${action} ` +
    `on resource: ${resource} because no identity-based policy allows the ${action} action`
  );
}

const running = new AsyncLocalStorage<string>();

/**
 * Runs work as a function of this name. Lambda gives each function an environment of its own; here all functions share
 * one process, so its credentials depend on the function that asks for them.
 */
export function runAsFunction<T>(name: string, work: () => T): T {
  return running.run(name, work);
}

/** The name of the function whose work this is; undefined outside of all functions. */
export function runningFunction(): string | undefined {
  return running.getStore();
}
