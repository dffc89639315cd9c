import middy from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import type { Context } from 'aws-lambda';
import type * as v from 'valibot';
import { describeError, type Telemetry } from '../telemetry.ts';
import { within } from './deadline.ts';
import { Problem } from './problem.ts';
import {
  type BodySchema,
  type Event,
  type ParameterSchemas,
  parseRequest,
  type Request,
  type RequestRules,
} from './request.ts';
import { type Answer, type Response, toProblemResponse, toResponse } from './response.ts';

export type { Answer, Request };

export interface EndpointOptions<
  Body extends BodySchema,
  Parameters extends ParameterSchemas,
  AnswerBody extends v.GenericSchema,
> extends RequestRules<Body, Parameters> {
  /** The rules of our own answer; absent where there is no body (204). */
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

/** How long before the function's end the use case is told to stop, in milliseconds: enough to settle and to answer. */
const STOP_BEFORE_END_MS = 4_000;

/**
 * The one chain of every route: JSON → rules → use case → rules on the answer → response. Whatever goes wrong is
 * answered with a problem of the one table; nothing that was sent stands in the answer or the log.
 */
export function endpoint<
  Body extends BodySchema,
  Parameters extends ParameterSchemas = Record<never, never>,
  AnswerBody extends v.GenericSchema = v.UndefinedSchema<undefined>,
>(options: EndpointOptions<Body, Parameters, AnswerBody>): Handler {
  const handler = middy<Event, Response>({
    timeoutEarlyInMillis: 500,
    timeoutEarlyResponse: () => {
      throw new Problem('internal_error', { cause: new Error('The function ran out of time.') });
    },
  })
    .use(respondWithProblem(options.telemetry))
    .before(({ event }) => {
      refuseLargeBody(event, options.maxBodyBytes);
      trimMediaType(event);
    })
    .use(httpJsonBodyParser())
    .handler(async (event, context, { signal }) => {
      const endsAt = Date.now() + context.getRemainingTimeInMillis();
      const deadline = within(endsAt - STOP_BEFORE_END_MS - Date.now(), signal);
      const request = await parseRequest(event, endsAt, options, deadline);
      const telemetry = options.telemetry.with({ request_id: event.requestContext.requestId, route: event.routeKey });
      const answer = await options.handle(request, telemetry, deadline);
      return toResponse(event, answer, options.answer);
    });
  return async (event, context) => {
    try {
      return await handler(event, context);
    } finally {
      options.telemetry.flush();
    }
  };
}

function refuseLargeBody({ body = '', isBase64Encoded }: Event, maxBytes: number): void {
  const bytes = isBase64Encoded ? Buffer.byteLength(body, 'base64') : Buffer.byteLength(body);
  if (bytes > maxBytes) {
    throw new Problem('payload_too_large', { detail: `The body may have at most ${maxBytes} bytes.` });
  }
}

/** The parser knows a media type only without white space around it; RFC 9110 allows it before the parameters. */
function trimMediaType({ headers }: Event): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';');
  headers['content-type'] = [type.trim().toLowerCase(), ...parameters].join(';');
}

/** Answers whatever was thrown, below it in the chain, with a problem. */
function respondWithProblem(telemetry: Telemetry): middy.MiddlewareObj<Event, Response> {
  return {
    onError: (request) => {
      const { event } = request;
      const problem = toProblem(request.error);
      const fields = {
        request_id: event.requestContext.requestId,
        route: event.routeKey,
        status: problem.status,
        type: problem.type,
      };
      if (problem.type === 'internal_error') {
        telemetry.event('InternalError', { ...fields, ...describeError(problem.options.cause) });
      } else {
        telemetry.event('RequestRefused', fields);
      }
      request.response = toProblemResponse(event, problem);
    },
  };
}

/** The JSON parser's failures by their status (its cause holds the body and is dropped); all else is ours. */
function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  if (status === 415) return new Problem('unsupported_media_type');
  if (status === 422) return new Problem('malformed_json');
  return new Problem('internal_error', { cause: error });
}
