import middy from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import type { APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import * as v from 'valibot';
import { STOP_BEFORE_END_MS, within } from '../deadline.ts';
import { Problem } from '../problem.ts';
import { describeError, type EventName, type Telemetry } from '../telemetry.ts';
import { refuseLargeBody } from './json-body.ts';
import { type BodySchema, type Event, parseRequest, type Request, type RequestRules } from './request.ts';

export type { Request };

type Response = APIGatewayProxyStructuredResultV2;

/** The result of a use case; without a body for 204. */
export interface Answer<Body = undefined> {
  body: Body;
  /** True if an earlier request produced this answer. */
  replayed?: boolean;
}

type ParameterSchemas = Readonly<Record<string, v.GenericSchema<unknown, string>>>;

export interface EndpointOptions<
  Body extends BodySchema,
  Parameters extends ParameterSchemas,
  AnswerBody extends v.GenericSchema,
> extends Omit<RequestRules<Body, v.ObjectSchema<Parameters, undefined>>, 'path'> {
  /** The parameters of the path, by name. */
  parameters?: Parameters;
  /** The schema of the answer; absent if there is no body (204). */
  answer?: AnswerBody;
  /** Bytes of the largest body that is read. */
  maxBodyBytes: number;
  telemetry: Telemetry;
  handle: (
    request: Request<v.InferOutput<Body>, v.InferOutput<v.ObjectSchema<Parameters, undefined>>>,
    telemetry: Telemetry,
    signal: AbortSignal,
  ) => Promise<Answer<v.InferInput<AnswerBody>>>;
}

export type Handler = (event: Event, context: Context) => Promise<Response>;

/**
 * The one chain of every route: front → JSON → rules → use case → rules on the answer → response. Every error is
 * answered with a problem of the one table. The answer and the log never contain request data.
 */
export function endpoint<
  Body extends BodySchema,
  Parameters extends ParameterSchemas = Record<never, never>,
  AnswerBody extends v.GenericSchema = v.UndefinedSchema<undefined>,
>(options: EndpointOptions<Body, Parameters, AnswerBody>): Handler {
  const rules = { ...options, path: v.object(options.parameters ?? ({} as Parameters)) };
  return middy<Event, Response>({
    timeoutEarlyInMillis: 500,
    timeoutEarlyResponse: () => {
      throw new Problem('internal_error', { cause: new Error('The function ran out of time.') });
    },
  })
    .use(respondWithProblem(options.telemetry))
    .before(({ event, context }) => {
      const { headers, requestContext } = event;
      return options.front?.admit({ headers, sourceIp: requestContext.http.sourceIp }, requestDeadline(context));
    })
    .use(jsonMediaType(options.maxBodyBytes))
    .handler(async (event, context) => {
      const endsAt = Date.now() + context.getRemainingTimeInMillis();
      const deadline = requestDeadline(context);
      const request = await parseRequest(event, endsAt, rules, deadline);
      const telemetry = options.telemetry.with({ request_id: event.requestContext.requestId, route: event.routeKey });
      const answer = await options.handle(request, telemetry, deadline);
      return successResponse(event, answer, options.answer);
    });
}

function requestDeadline(context: Context): AbortSignal {
  return within(context.getRemainingTimeInMillis() - STOP_BEFORE_END_MS);
}

/**
 * Answers 413 to a body that is too large, and 415 to a media type that is not JSON. Middy's parser checks the type, with
 * an empty object as the body. It would call a function for every value of the body, which costs up to a hundred times as
 * much as parsing.
 */
function jsonMediaType(maxBytes: number): middy.MiddlewareObj<Event, Response> {
  const { before: parse } = httpJsonBodyParser<Event>();
  return {
    before: (request) => {
      const { event } = request;
      refuseLargeBody(event, maxBytes);
      // The parser accepts no white space before the parameters; RFC 9110 does.
      const [type = '', ...parameters] = (event.headers['content-type'] ?? '').split(';');
      const headers = { 'content-type': [type.trim().toLowerCase(), ...parameters].join(';') };
      parse?.({ ...request, event: { ...event, headers, body: '{}', isBase64Encoded: false } });
    },
  };
}

/** Answers every error of the chain with a problem. */
function respondWithProblem(telemetry: Telemetry): middy.MiddlewareObj<Event, Response> {
  return {
    onError: (request) => {
      const { event } = request;
      const problem = translateError(request.error);
      const fields = {
        request_id: event.requestContext.requestId,
        route: event.routeKey,
        status: problem.status,
        type: problem.type,
      };
      if (problem.type === 'internal_error') {
        telemetry.event('InternalError', { ...fields, ...describeError(problem.options.cause) });
      } else {
        telemetry.event(refusalEvent(problem), fields);
      }
      request.response = problemResponse(event, problem);
    },
  };
}

/** The event of an answer that is no internal error. */
function refusalEvent({ type, status }: Problem): EventName {
  if (type === 'front_required') return 'FrontRefused';
  return status >= 500 ? 'DependencyFailed' : 'RequestRefused';
}

/** Middy's refusal of a media type has a status. All other errors are internal. */
function translateError(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  if (status === 415) return new Problem('unsupported_media_type');
  return new Problem('internal_error', { cause: error });
}

/** @throws Error if the answer does not match its schema; the message holds none of it */
function successResponse(event: Event, answer: Answer<unknown>, schema: v.GenericSchema | undefined): Response {
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
function problemResponse(event: Event, problem: Problem): Response {
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
