import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { Context } from 'aws-lambda';
import type { GatewayEvent, LambdaHandler } from '../../infra/local/gateway.ts';

/** The function of an environment. */
export interface EnvironmentData {
  functionName: string;
  /** Of the file that Lambda loads. */
  url: string;
}

export interface Invocation {
  event: GatewayEvent;
  /** How long it may take, in milliseconds. */
  ms: number;
}

export type Message =
  | { kind: 'loaded' }
  | { kind: 'answer'; answer: unknown }
  | { kind: 'crash' }
  /** A connection was refused: whoever simulates a service that is down counts it. */
  | { kind: 'refused'; port: number };

/**
 * The thread's side of `environments.ts`: like an execution environment of Lambda, it loads a function as it is deployed,
 * works on one event at a time, and may end at any moment.
 */
const { functionName, url } = workerData as EnvironmentData;
const say = (message: Message) => parentPort?.postMessage(message);

subscribe('net.client.socket', (message) => {
  (message as { socket: Socket }).socket.once('error', (error: NodeJS.ErrnoException & { port?: number }) => {
    if (error.code === 'ECONNREFUSED' && error.port !== undefined) say({ kind: 'refused', port: error.port });
  });
});

const { handler } = (await import(url)) as { handler: LambdaHandler };

parentPort?.on('message', ({ event, ms }: Invocation) => {
  const endsAt = Date.now() + ms;
  const context = { functionName, getRemainingTimeInMillis: () => Math.max(0, endsAt - Date.now()) };
  handler(event, context as Context).then(
    (answer) => say({ kind: 'answer', answer }),
    () => say({ kind: 'crash' }),
  );
});
say({ kind: 'loaded' });
