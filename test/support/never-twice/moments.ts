import { setTimeout as sleep } from 'node:timers/promises';
import type { Faults, IncomingCall } from '../../../infra/local/faults.ts';
import type { Run } from '../environments.ts';

/**
 * A moment in the work of a function: after some time, or when the n-th call of a kind arrives. That call is executed,
 * and the function does not have its answer yet.
 */
export interface Moment {
  /** `time`: steps of 25 ms. `put`: the claim or the record. `note`: a later write to an operation. */
  of: 'time' | 'database' | 'put' | 'note' | 'command';
  count: number;
  /** How long the function is stopped, in milliseconds of the world's time; absent: the function is killed. */
  stopMs?: number | undefined;
}

type Listener = (call: IncomingCall) => Promise<void> | void;
const listeners = new WeakMap<Faults, Set<Listener>>();

/** Calls the listener with every incoming call, which waits for it. @returns a function that stops listening */
export function listenTo(faults: Faults, listener: Listener): () => void {
  let targetListeners = listeners.get(faults);
  if (targetListeners === undefined) {
    const set = new Set<Listener>();
    targetListeners = set;
    listeners.set(faults, set);
    faults.onCall = async (call) => {
      for (const one of set) await one(call);
    };
  }
  targetListeners.add(listener);
  return () => targetListeners.delete(listener);
}

const NOTES = ['UpdateItem', 'TransactWriteItems'];

/** Stops or kills the function at this moment, unless it has ended before. @returns whether it was stopped or killed */
export async function disturbFunction(
  { of, count, stopMs }: Moment,
  { database, server }: { database: Faults; server: Faults },
  run: Pick<Run, 'kill' | 'stop' | 'outcome'>,
): Promise<boolean> {
  const over = run.outcome.then(() => false);
  const strike = async () => {
    await (stopMs === undefined ? run.kill() : run.stop(stopMs));
    return true;
  };
  if (of === 'time') {
    return (await Promise.race([over, sleep(count * 25, true)])) && strike();
  }
  let seen = 0;
  let stopListening = () => {};
  const struck = new Promise<boolean>((resolve) => {
    stopListening = listenTo(of === 'command' ? server : database, async ({ name }) => {
      if ((of === 'note' && !NOTES.includes(name)) || (of === 'put' && name !== 'PutItem')) return;
      seen += 1;
      if (seen === count) resolve(await strike());
    });
  });
  return Promise.race([struck, over]).finally(stopListening);
}
