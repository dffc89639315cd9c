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

/** Runs something once for every possible sequence of choices. @returns their number */
export async function everyOrder(run: (choose: Choose) => Promise<void>): Promise<number> {
  let path: { choice: number; of: number }[] = [];
  for (let runs = 1; ; runs += 1) {
    let step = 0;
    await run((of) => {
      path[step] ??= { choice: 0, of };
      const { choice } = path[step] ?? { choice: 0 };
      step += 1;
      return choice;
    });
    path = path.slice(0, step);
    while (path.length > 0 && (path.at(-1)?.choice ?? 0) + 1 === path.at(-1)?.of) path.pop();
    const last = path.at(-1);
    if (last === undefined) return runs;
    last.choice += 1;
  }
}
