import type { Context } from 'aws-lambda';
import type * as v from 'valibot';
import { endpoint, type Handler } from '../../lib/http/endpoint.ts';
import type { EventFields, EventName, Telemetry } from '../../lib/telemetry.ts';
import { openObject } from '../../lib/validators/primitives.ts';

const context = { getRemainingTimeInMillis: () => 20_000 } as Context;

/** The gateway's event for a request with this body. */
export function event(
  body: string | undefined,
  type = 'application/json',
  isBase64Encoded = false,
): Parameters<Handler>[0] {
  return {
    headers: { ...(type === '' ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body }),
    isBase64Encoded,
    routeKey: 'POST /things',
    requestContext: { requestId: 'r1', http: { sourceIp: '203.0.113.7' } },
  } as Parameters<Handler>[0];
}

/** An endpoint that accepts any object, and records its request. */
export function anything(schema: v.GenericSchema = openObject({}), maxBodyBytes = 1_000) {
  const seen: unknown[] = [];
  const callers: (string | undefined)[] = [];
  const captchas: unknown[] = [];
  const browsers: (string | undefined)[] = [];
  const events: { name: EventName; fields: EventFields }[] = [];
  const telemetry: Telemetry = {
    event: (name, fields = {}) => events.push({ name, fields }),
    with: () => telemetry,
  };
  const handler = endpoint({
    body: schema,
    maxBodyBytes,
    telemetry,
    handle: async ({ sentBody, caller, captcha, userAgent }) => {
      seen.push(sentBody);
      callers.push(caller);
      captchas.push(captcha);
      browsers.push(userAgent);
      return { body: undefined };
    },
  });
  return { handler, seen, callers, captchas, browsers, events, telemetry };
}

export async function answerTo(handler: Handler, request: Parameters<Handler>[0]) {
  const { statusCode, body, headers } = await handler(request, context);
  return {
    statusCode,
    headers,
    problem: body === undefined ? undefined : (JSON.parse(body) as Record<string, unknown>),
  };
}
