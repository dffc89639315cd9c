import { subscribe } from 'node:diagnostics_channel';
import { openSync, readSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import type { Context } from 'aws-lambda';

export interface Invocation {
  event: object;
  /** The time that the event has, in milliseconds. */
  ms: number;
}

export type Message =
  | { kind: 'loaded' }
  | { kind: 'answer'; answer: unknown }
  | { kind: 'crash' }
  /** A connection was refused. A simulated service that is down counts it. */
  | { kind: 'refused'; port: number };

/**
 * The process behind `environments.ts`. Like an execution environment of Lambda, it loads a deployed function, works on
 * one event at a time, and may be stopped, resumed or killed at any moment. Its wall clock is offset by the
 * milliseconds in a file, so the clock is right when the process resumes. Timers ignore the offset, like timers of the
 * system.
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
  // The end by the monotonic clock, like Lambda's own: no jump of the wall clock changes it.
  const endsAt = performance.now() + ms;
  const context = { functionName, getRemainingTimeInMillis: () => Math.max(0, endsAt - performance.now()) };
  handler(event, context as Context).then(
    (answer) => {
      say({ kind: 'answer', answer });
      // Writes the compile cache early, with everything that a call needs, so that the next process starts sooner: most
      // processes are killed before they could write it.
      flushCompileCache();
    },
    () => say({ kind: 'crash' }),
  );
});
process.on('disconnect', () => process.exit());
say({ kind: 'loaded' });
