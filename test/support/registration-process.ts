import type { Context } from 'aws-lambda';
import type { LambdaHandler } from '../../infra/local/gateway.ts';
import type { GatewayEvent } from '../../infra/local/gateway-event.ts';

/**
 * The function `request-registration` in a process of its own, which can be killed in the middle of a request. Works on
 * the event that it is sent.
 */
const url = new URL('../../functions/request-registration.ts', import.meta.url);
const { handler } = (await import(url.href)) as { handler: LambdaHandler };
const TIMEOUT_MS = 20_000;

process.on('message', (event: GatewayEvent) => {
  const endsAt = Date.now() + TIMEOUT_MS;
  return handler(event, { getRemainingTimeInMillis: () => endsAt - Date.now() } as Context);
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
