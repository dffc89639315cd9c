import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { Faults, IncomingCall } from '../../../infra/local/faults.ts';
import type { Run } from '../environments.ts';

/**
 * When something happens to a function: after some time, or when the n-th call of a kind comes in. That call is
 * executed, and the function does not know it yet.
 */
export interface Moment {
  /** `time`: steps of 25 ms. `put`: the claim or the record. `note`: a later write to an operation. */
  of: 'time' | 'database' | 'put' | 'note' | 'command';
  count: number;
  /** How long it is stopped, in milliseconds of the world's time; absent: it is killed. */
  stopMs?: number | undefined;
}

type Listener = (call: IncomingCall) => Promise<void> | void;
const listeners = new WeakMap<Faults, Set<Listener>>();

/** Calls the listener with every incoming call, which waits for it. @returns ends that */
export function listenTo(faults: Faults, listener: Listener): () => void {
  let all = listeners.get(faults);
  if (all === undefined) {
    const set = new Set<Listener>();
    all = set;
    listeners.set(faults, set);
    faults.onCall = async (call) => {
      for (const one of set) await one(call);
    };
  }
  all.add(listener);
  return () => all.delete(listener);
}

const NOTES = ['UpdateItem', 'TransactWriteItems'];

/** Makes it happen to the function, unless that has ended before. @returns whether it happened */
export async function disturb(
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

/** Until another worker has taken over and assumes that nothing was opened; or for a moment only. */
const stopMs = fc.constantFrom(300, 7_000, 65_000, 140_000, 140_000);
const ending = fc.oneof(fc.constant(undefined), fc.constant(undefined), stopMs);
export const moment: fc.Arbitrary<Moment> = fc.oneof(
  fc.record({ of: fc.constant('time' as const), count: fc.nat(20), stopMs: ending }),
  fc.record({ of: fc.constant('database' as const), count: fc.integer({ min: 1, max: 8 }), stopMs: ending }),
  fc.record({ of: fc.constant('note' as const), count: fc.integer({ min: 1, max: 4 }), stopMs: ending }),
  fc.record({ of: fc.constant('command' as const), count: fc.integer({ min: 1, max: 3 }), stopMs: ending }),
);
/** Right after it has recorded that a command leaves. */
export const noted: fc.Arbitrary<Moment> = fc.record({
  of: fc.constant('note' as const),
  count: fc.constantFrom(1, 1, 2),
  stopMs: fc.constant(140_000),
});
/** Right when a command has arrived, or while its result is written. */
export const killed: fc.Arbitrary<Moment> = fc.oneof(
  fc.record({ of: fc.constant('put' as const), count: fc.constantFrom(2, 2, 3) }),
  fc.record({ of: fc.constant('note' as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ of: fc.constant('command' as const), count: fc.constantFrom(1, 1, 2) }),
);
