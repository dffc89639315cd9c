import { setImmediate } from 'node:timers/promises';
import type { Table } from '../../lib/aws/dynamodb.ts';

/** Chooses the next of the waiting calls. */
export type Choose = (waiting: number) => number;

/** Lets several work on one table at once, one call at a time, in the order that `choose` decides. */
export async function interleave<T>(
  table: Table,
  actors: readonly ((table: Table) => Promise<T>)[],
  choose: Choose,
): Promise<T[]> {
  const waiting: (() => Promise<void>)[] = [];
  function inTurn<Result>(call: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      waiting.push(() => call().then(resolve, reject));
    });
  }
  const ordered: Table = {
    get: (...args) => inTurn(() => table.get(...args)),
    getMany: (...args) => inTurn(() => table.getMany(...args)),
    queryIndex: (...args) => inTurn(() => table.queryIndex(...args)),
    query: (...args) => inTurn(() => table.query(...args)),
    put: (...args) => inTurn(() => table.put(...args)),
    update: (...args) => inTurn(() => table.update(...args)),
    delete: (...args) => inTurn(() => table.delete(...args)),
  };
  const results = Promise.all(actors.map((actor) => actor(ordered)));
  for (;;) {
    // By now every actor is waiting for a call or has ended: they wait for nothing else.
    await setImmediate();
    const [next] = waiting.splice(waiting.length > 1 ? choose(waiting.length) : 0, 1);
    if (next === undefined) return results;
    await next();
  }
}

/** Runs something once for every sequence of choices that it can meet. @returns how many there are */
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
