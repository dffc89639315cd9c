import type { Context } from 'aws-lambda';
import type * as v from 'valibot';
import { type ApiRequest, endpoint, type Handler } from '../../lib/http/endpoint.ts';
import type { Problem } from '../../lib/problem.ts';
import type { EventFields, EventName } from '../../lib/telemetry.ts';
import { openObject } from '../../lib/validators/primitives.ts';
import { recordingTelemetry } from './openings.ts';

const context = { getRemainingTimeInMillis: () => 20_000 } as Context;

/** The gateway's event for a request with this body. */
export function gatewayEvent(
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

/**
 * An endpoint that accepts any object, and records its request. @param problem the endpoint's answer, instead of 204
 */
export function recordingEndpoint(schema: v.GenericSchema = openObject({}), maxBodyBytes = 1_000, problem?: Problem) {
  const requests: ApiRequest<unknown>[] = [];
  const events: { name: EventName; fields: EventFields }[] = [];
  const telemetry = recordingTelemetry(events);
  const handler = endpoint({
    body: schema,
    maxBodyBytes,
    telemetry,
    handle: async (request) => {
      requests.push(request);
      if (problem !== undefined) throw problem;
      return { body: undefined };
    },
  });
  return { handler, requests, events, telemetry };
}

export async function answerTo(handler: Handler, request: Parameters<Handler>[0]) {
  const { statusCode, body, headers } = await handler(request, context);
  return {
    statusCode,
    headers,
    problem: body === undefined ? undefined : (JSON.parse(body) as Record<string, unknown>),
  };
}
