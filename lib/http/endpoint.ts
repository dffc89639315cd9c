import middy from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import type {
  APIGatewayEventRequestContextV2,
  APIGatewayProxyEventV2WithRequestContext,
  APIGatewayProxyStructuredResultV2,
  Context,
} from 'aws-lambda';
import * as v from 'valibot';
import { describeError, type Telemetry } from '../telemetry.ts';
import { type FieldFault, isObject, toFaults } from '../validators/primitives.ts';
import { within } from './deadline.ts';
import { idempotencyKey } from './idempotency.ts';
import { invalid, Problem } from './problem.ts';

/** What the gateway's authorizer tells of the caller; absent on an open route. */
interface Authorizer {
  iam?: { userArn?: string } | null;
  jwt?: { claims: Record<string, unknown> };
}

type Event = APIGatewayProxyEventV2WithRequestContext<APIGatewayEventRequestContextV2 & { authorizer?: Authorizer }>;

/** A request that keeps the rules of its schemas. */
export interface Request<Body, Parameters = Record<never, string>> {
  body: Body;
  /** The body as it was sent, for the idempotency fingerprint. */
  sentBody: unknown;
  parameters: Parameters;
  idempotencyKey: string | undefined;
  /** The address that called, as the gateway saw it. */
  source: string;
  /** Who called: the IAM principal or the JWT's subject; undefined where the route has no authorizer. */
  caller: string | undefined;
  /** When this invocation is over at the latest, in epoch milliseconds. */
  endsAt: number;
}

/** What a use case answers; without a body where the operation answers 204. */
export interface Answer<Body = undefined> {
  body: Body;
  /** True when an earlier answer is given again. */
  replayed?: boolean;
}

/** Schemas may be asynchronous: large tables of rules are loaded on first use. */
type BodySchema = v.GenericSchema | v.GenericSchemaAsync;

type ParameterSchemas = Readonly<Record<string, v.GenericSchema<unknown, string>>>;

export interface EndpointOptions<
  Body extends BodySchema,
  Parameters extends ParameterSchemas,
  AnswerBody extends v.GenericSchema,
> {
  body: Body;
  /** Of the path, by name. */
  parameters?: Parameters;
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

export type Handler = (event: Event, context: Context) => Promise<APIGatewayProxyStructuredResultV2>;

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
  const parameters = v.object(options.parameters ?? ({} as Parameters));
  const handler = middy<Event, APIGatewayProxyStructuredResultV2>({
    timeoutEarlyInMillis: 500,
    timeoutEarlyResponse: () => {
      throw new Problem('internal_error', { cause: new Error('The function ran out of time.') });
    },
  })
    .use(respondWithProblem(options.telemetry))
    .before(({ event }) => {
      refuseLargeBody(event, options.maxBodyBytes);
      spellMediaType(event);
    })
    .use(httpJsonBodyParser())
    .handler(async (event, context, { signal }) => {
      const request = await parseRequest(event, context, options.body, parameters);
      const telemetry = options.telemetry.with({ request_id: event.requestContext.requestId, route: event.routeKey });
      const deadline = within(request.endsAt - STOP_BEFORE_END_MS - Date.now(), signal);
      const answer = await options.handle(request, telemetry, deadline);
      return respond(event, answer, options.answer);
    });
  return async (event, context) => {
    try {
      return await handler(event, context);
    } finally {
      options.telemetry.flush();
    }
  };
}

async function parseRequest<Body extends BodySchema, Parameters extends v.GenericSchema>(
  event: Event,
  context: Context,
  bodySchema: Body,
  parametersSchema: Parameters,
): Promise<Request<v.InferOutput<Body>, v.InferOutput<Parameters>>> {
  const sentBody: unknown = event.body;
  if (!isObject(sentBody)) throw new Problem('malformed_json');
  const faults: FieldFault[] = [];
  const parameters = v.safeParse(parametersSchema, event.pathParameters ?? {});
  for (const issue of parameters.issues ?? []) {
    const parameter = String(issue.path?.[0]?.key);
    faults.push(...toFaults([issue]).map(({ rule, detail }) => ({ parameter, rule, detail })));
  }
  const key = idempotencyKey(event.headers['idempotency-key']);
  if ('fault' in key) faults.push(key.fault);
  const body = await v.safeParseAsync(bodySchema, sentBody);
  if (!body.success) faults.push(...toFaults(body.issues));
  if (!body.success || !parameters.success || 'fault' in key) throw invalid(faults);

  const { requestContext } = event;
  const source = requestContext.http.sourceIp;
  return {
    body: body.output,
    sentBody,
    parameters: parameters.output,
    idempotencyKey: key.key,
    source,
    caller: callerOf(requestContext),
    endsAt: Date.now() + context.getRemainingTimeInMillis(),
  };
}

/**
 * Of an assumed role the role alone: its session has another name in every process, and often after every renewal of the
 * credentials, and a retry must be known again.
 */
function callerOf(requestContext: Event['requestContext']): string | undefined {
  const { iam, jwt } = requestContext.authorizer ?? {};
  if (iam?.userArn !== undefined) return `iam:${iam.userArn.replace(/(:assumed-role\/[^/]+)\/.*$/, '$1')}`;
  const subject = jwt?.claims.sub ?? jwt?.claims.client_id;
  return typeof subject === 'string' ? `jwt:${subject}` : undefined;
}

function refuseLargeBody({ body = '', isBase64Encoded }: Event, maxBytes: number): void {
  const bytes = isBase64Encoded ? Buffer.byteLength(body, 'base64') : Buffer.byteLength(body);
  if (bytes > maxBytes) {
    throw new Problem('payload_too_large', { detail: `The body may have at most ${maxBytes} bytes.` });
  }
}

/** The parser knows a media type only without white space around it; RFC 9110 allows it before the parameters. */
function spellMediaType({ headers }: Event): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';');
  headers['content-type'] = [type.trim().toLowerCase(), ...parameters].join(';');
}

function respond(
  event: Event,
  answer: Answer<unknown>,
  schema: v.GenericSchema | undefined,
): APIGatewayProxyStructuredResultV2 {
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

function standardHeaders(event: Event): Record<string, string> {
  return {
    'cache-control': 'no-store',
    'x-request-id': event.requestContext.requestId,
    'x-content-type-options': 'nosniff',
  };
}

/** Answers whatever was thrown, below it in the chain, with a problem. */
function respondWithProblem(telemetry: Telemetry): middy.MiddlewareObj<Event, APIGatewayProxyStructuredResultV2> {
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
      const { retryAfterSeconds } = problem.options;
      request.response = {
        statusCode: problem.status,
        headers: {
          ...standardHeaders(event),
          ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
          'content-type': 'application/problem+json',
        },
        body: JSON.stringify(problem.toDocument(event.requestContext.requestId)),
      };
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
