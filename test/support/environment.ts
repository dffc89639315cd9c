import { subscribe } from 'node:diagnostics_channel';
import { openSync, readSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import type { Context } from 'aws-lambda';

export interface Invocation {
  event: object;
  /** How long it may take, in milliseconds. */
  ms: number;
}

export type Message =
  | { kind: 'loaded' }
  | { kind: 'answer'; answer: unknown }
  | { kind: 'crash' }
  /** A connection was refused. A simulated service that is down counts it. */
  | { kind: 'refused'; port: number };

/**
 * The process's side of `environments.ts`: like an execution environment of Lambda, it loads a deployed function, works
 * on one event at a time, and may be stopped, resumed or killed at any moment. A file has the offset of its wall clock,
 * in milliseconds, so it is right when it resumes. Timers do not notice it, like those of the system.
 */
const [, , functionName = '', url = '', clockFile = ''] = process.argv;
const say = (message: Message) => process.send?.(message);

const clock = openSync(clockFile, 'r');
const offset = new Float64Array(1);
const wallClock = Date.now;
function now(): number {
  readSync(clock, offset, 0, 8, 0);
  return Math.floor(wallClock() + (offset[0] ?? 0));
}
globalThis.Date = class extends Date {
  constructor(...given: unknown[]) {
    // @ts-expect-error: the arguments are those of Date, in any form
    super(...(given.length === 0 ? [now()] : given));
  }
  static override now(): number {
    return now();
  }
} as DateConstructor;

subscribe('net.client.socket', (message) => {
  (message as { socket: Socket }).socket.once('error', (error: NodeJS.ErrnoException & { port?: number }) => {
    if (error.code === 'ECONNREFUSED' && error.port !== undefined) say({ kind: 'refused', port: error.port });
  });
});

enableCompileCache(dirname(clockFile));
const { handler } = (await import(url)) as { handler: (event: object, context: Context) => Promise<unknown> };

process.on('message', ({ event, ms }: Invocation) => {
  // As Lambda's own clock has it, which no jump of this one changes.
  const endsAt = performance.now() + ms;
  const context = { functionName, getRemainingTimeInMillis: () => Math.max(0, endsAt - performance.now()) };
  handler(event, context as Context).then(
    (answer) => {
      say({ kind: 'answer', answer });
      // So that the next process starts sooner, with all that a call needs; most are killed before they could write it.
      flushCompileCache();
    },
    () => say({ kind: 'crash' }),
  );
});
process.on('disconnect', () => process.exit());
say({ kind: 'loaded' });
