import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import * as v from 'valibot';
import type { Problem } from '../problem.ts';
import type { Event } from './request.ts';

export type Response = APIGatewayProxyStructuredResultV2;

/** The result of a use case; without a body for 204. */
export interface Answer<Body = undefined> {
  body: Body;
  /** True if an earlier request produced this answer. */
  replayed?: boolean;
}

/** @throws Error if the answer does not match its schema; the message holds none of it */
export function successResponse(event: Event, answer: Answer<unknown>, schema: v.GenericSchema | undefined): Response {
  const headers = {
    ...standardHeaders(event),
    ...(answer.replayed === true ? { 'idempotent-replayed': 'true' } : {}),
  };
  if (schema === undefined) return { statusCode: 204, headers };
  const body = v.safeParse(schema, answer.body);
  if (!body.success) throw new Error('The answer breaks its own rules.');
  return {
    statusCode: 200,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body.output),
  };
}

/** RFC 9457. */
export function problemResponse(event: Event, problem: Problem): Response {
  const { retryAfterSeconds } = problem.options;
  return {
    statusCode: problem.status,
    headers: {
      ...standardHeaders(event),
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
      'content-type': 'application/problem+json',
    },
    body: JSON.stringify(problem.toDocument(event.requestContext.requestId)),
  };
}

function standardHeaders(event: Event): Record<string, string> {
  return {
    'cache-control': 'no-store',
    'x-request-id': event.requestContext.requestId,
    'x-content-type-options': 'nosniff',
    'strict-transport-security': 'max-age=63072000',
  };
}
