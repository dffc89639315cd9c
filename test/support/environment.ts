import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import type { Context } from 'aws-lambda';
import type { GatewayEvent, LambdaHandler } from '../../infra/local/gateway.ts';

/** What an execution environment is asked for. */
export interface Invocation {
  functionName: string;
  event: GatewayEvent;
  /** How long it may take, in milliseconds; the time for loading it does not count, as on Lambda. */
  ms: number;
}

export type Message =
  | { kind: 'answer'; answer: unknown }
  | { kind: 'crash' }
  /** The function is loaded and its time runs. */
  | { kind: 'begun' }
  /** A connection was refused: whoever simulates a service that is down counts it. */
  | { kind: 'refused'; port: number };

/** Where the bundles of the functions stand, each in a folder of its name. */
export interface EnvironmentData {
  bundles: string;
}

/**
 * The thread's side of `environments.ts`: like an execution environment of Lambda, it loads a function as it is deployed,
 * works on one event at a time, and may end at any moment.
 */
const { bundles } = workerData as EnvironmentData;
const say = (message: Message) => parentPort?.postMessage(message);

subscribe('net.client.socket', (message) => {
  (message as { socket: Socket }).socket.once('error', (error: NodeJS.ErrnoException & { port?: number }) => {
    if (error.code === 'ECONNREFUSED' && error.port !== undefined) say({ kind: 'refused', port: error.port });
  });
});

parentPort?.on('message', (invocation: Invocation) => {
  invoke(invocation).then(
    (answer) => say({ kind: 'answer', answer }),
    () => say({ kind: 'crash' }),
  );
});

async function invoke({ functionName, event, ms }: Invocation): Promise<unknown> {
  const url = pathToFileURL(join(bundles, functionName, 'index.mjs'));
  const { handler } = (await import(url.href)) as { handler: LambdaHandler };
  say({ kind: 'begun' });
  const endsAt = Date.now() + ms;
  const context = { functionName, getRemainingTimeInMillis: () => Math.max(0, endsAt - Date.now()) };
  return handler(event, context as Context);
}
