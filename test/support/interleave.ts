import { setImmediate } from 'node:timers/promises';
import type { Table } from '../../lib/aws/dynamodb.ts';

type Around = <T>(method: string, call: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** A table whose calls another party makes. */
export function around(table: Table, make: Around): Table {
  const methods = Object.entries(table as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>).map(
    ([name, method]) => {
      const call = (...args: unknown[]) => {
        const signal = args.find((one) => one instanceof AbortSignal) ?? new AbortController().signal;
        return make(name, () => method(...args), signal);
      };
      return [name, call];
    },
  );
  return Object.fromEntries(methods) as Table;
}

/** Chooses the next of the waiting calls. */
export type Choose = (waiting: number) => number;

/** Runs several actors on one table, one call at a time, in the order that `choose` returns. */
export async function interleave<T>(
  table: Table,
  actors: readonly ((table: Table) => Promise<T>)[],
  choose: Choose,
): Promise<T[]> {
  const waiting: (() => Promise<void>)[] = [];
  function serialize<Result>(call: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      waiting.push(() => call().then(resolve, reject));
    });
  }
  const ordered = around(table, (_, call) => serialize(call));
  const results = Promise.all(actors.map((actor) => actor(ordered)));
  for (;;) {
    // By now every actor is waiting for a call or has ended: they wait for nothing else.
    await setImmediate();
    const [next] = waiting.splice(waiting.length > 1 ? choose(waiting.length) : 0, 1);
    if (next === undefined) return results;
    await next();
  }
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
