import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { Context } from 'aws-lambda';
import type { LambdaHandler } from '../../infra/local/gateway.ts';
import type { GatewayEvent } from '../../infra/local/gateway-event.ts';

export interface Invocation {
  event: GatewayEvent;
  /** How long it may take, in milliseconds. */
  ms: number;
}

/** What the process is told: an event to work on, or that its clock jumps. */
export type Order = { kind: 'invoke'; invocation: Invocation } | { kind: 'jump'; ms: number };

export type Message =
  | { kind: 'loaded' }
  | { kind: 'answer'; answer: unknown }
  | { kind: 'crash' }
  /** A connection was refused: whoever simulates a service that is down counts it. */
  | { kind: 'refused'; port: number };

/**
 * The process's side of `environments.ts`: like an execution environment of Lambda, it loads a function as it is deployed,
 * works on one event at a time, and may be stopped, go on, or end at any moment. Its wall clock may be wrong and may jump;
 * its timers are not, as those of the system are not.
 */
const [, , functionName = '', url = '', skew = '0'] = process.argv;
const say = (message: Message) => process.send?.(message);

let skewMs = Number(skew);
const wallClock = Date.now;
globalThis.Date = class extends Date {
  constructor(...given: unknown[]) {
    // @ts-expect-error: the arguments are those of Date, whichever of its forms
    super(...(given.length === 0 ? [wallClock() + skewMs] : given));
  }
  static override now(): number {
    return wallClock() + skewMs;
  }
} as DateConstructor;

subscribe('net.client.socket', (message) => {
  (message as { socket: Socket }).socket.once('error', (error: NodeJS.ErrnoException & { port?: number }) => {
    if (error.code === 'ECONNREFUSED' && error.port !== undefined) say({ kind: 'refused', port: error.port });
  });
});

const { handler } = (await import(url)) as { handler: LambdaHandler };

function invoke({ event, ms }: Invocation): void {
  // As Lambda's own clock has it, which no jump of this one changes.
  const endsAt = performance.now() + ms;
  const context = { functionName, getRemainingTimeInMillis: () => Math.max(0, endsAt - performance.now()) };
  handler(event, context as Context).then(
    (answer) => say({ kind: 'answer', answer }),
    () => say({ kind: 'crash' }),
  );
}

process.on('message', (order: Order) => {
  if (order.kind === 'jump') skewMs += order.ms;
  else invoke(order.invocation);
});
process.on('disconnect', () => process.exit());
say({ kind: 'loaded' });
