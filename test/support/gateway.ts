import type { Context } from 'aws-lambda';
import { onTestFinished } from 'vitest';
import {
  type Gateway,
  type GatewayOptions,
  type LambdaHandler,
  type Route,
  startGateway,
} from '../../infra/local/gateway.ts';
import type { GatewayEvent } from '../../infra/local/gateway-event.ts';

const ROUTE = { method: 'POST', path: '/users/{user_id}/accounts', functionName: 'open-account', timeoutMs: 2_000 };

/** A gateway with one route, until the end of the test. */
export async function startWith(
  handler: LambdaHandler,
  route: Partial<Route> = {},
  options: Partial<GatewayOptions> = {},
): Promise<Gateway> {
  const gateway = await startGateway({ routes: [{ ...ROUTE, ...route, handler }], ...options });
  onTestFinished(() => gateway.close());
  return gateway;
}

/** @returns the address of a gateway with one route */
export async function start(...given: Parameters<typeof startWith>): Promise<string> {
  return (await startWith(...given)).url;
}

/** A gateway whose function keeps the events it gets and answers 204. */
export async function startRecording(): Promise<{ url: string; events: GatewayEvent[]; contexts: Context[] }> {
  const events: GatewayEvent[] = [];
  const contexts: Context[] = [];
  const url = await start(async (event, context) => {
    events.push(event);
    contexts.push(context);
    return { statusCode: 204 };
  });
  return { url, events, contexts };
}

export function post(
  url: string,
  body: string,
  headers: Record<string, string> = { 'content-type': 'application/json' },
) {
  return fetch(url, { method: 'POST', body, headers });
}
