import { AsyncLocalStorage } from 'node:async_hooks';

const running = new AsyncLocalStorage<string>();

/**
 * Does work as a function of this name. Lambda gives each function an environment of its own; here all functions share
 * one process, so its credentials depend on the function that asks for them.
 */
export function runAsFunction<T>(name: string, work: () => T): T {
  return running.run(name, work);
}

/** The name of the function whose work this is; undefined outside of all functions. */
export function runningFunction(): string | undefined {
  return running.getStore();
}
