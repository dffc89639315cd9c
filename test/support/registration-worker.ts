import { parentPort, workerData } from 'node:worker_threads';
import type { Context } from 'aws-lambda';
import type { LambdaHandler } from '../../infra/local/gateway.ts';
import type { GatewayEvent } from '../../infra/local/gateway-event.ts';

/**
 * The function `request-registration` in a thread of its own, which can be killed in the middle of a request. Works on
 * the event that it is posted, and posts what the function answered.
 */
const url = new URL('../../functions/request-registration.ts', import.meta.url);
const { handler } = (await import(url.href)) as { handler: LambdaHandler };
const { timeoutMs } = workerData as { timeoutMs: number };
const port = parentPort;

port?.on('message', async (event: GatewayEvent) => {
  const endsAt = Date.now() + timeoutMs;
  const context = { getRemainingTimeInMillis: () => endsAt - Date.now() } as Context;
  port.postMessage(await handler(event, context));
});
port?.postMessage('ready');
