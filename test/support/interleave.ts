import { setImmediate } from 'node:timers/promises';
import type { Step } from './step-faults.ts';

/** Chooses the next of the waiting calls. */
export type Choose = (waiting: number) => number;

/** Runs several actors, one of their calls at a time, in the order that `choose` returns. */
export async function interleave<T>(actors: readonly ((step: Step) => Promise<T>)[], choose: Choose): Promise<T[]> {
  const waiting: (() => Promise<void>)[] = [];
  let isOver = false;
  const step: Step = (_, call) =>
    new Promise((resolve, reject) => {
      waiting.push(() => call().then(resolve, reject));
    });
  const results = Promise.all(actors.map((actor) => actor(step))).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    // By then every actor waits for a call or has ended: actors wait for little else.
    for (let turns = 0; turns < 2; turns += 1) await setImmediate();
    const [next] = waiting.splice(waiting.length > 1 ? choose(waiting.length) : 0, 1);
    await next?.();
  }
  return results;
}
