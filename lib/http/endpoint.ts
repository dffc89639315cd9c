import middy from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import type {
  APIGatewayEventRequestContextV2,
  APIGatewayProxyEventV2WithRequestContext,
  APIGatewayProxyStructuredResultV2,
  Context,
} from 'aws-lambda';
import * as v from 'valibot';
import { STOP_BEFORE_END_MS, within } from '../deadline.ts';
import { Problem, validationProblem } from '../problem.ts';
import { describeError, type EventName, type Telemetry } from '../telemetry.ts';
import { CaptchaTokenSchema, IdempotencyKeySchema } from '../validators/headers.ts';
import { listViolations, type Violation } from '../validators/primitives.ts';
import type { CaptchaOutcome, CaptchaVerifier } from './captcha.ts';
import { checkedBody, decodeBody } from './json-body.ts';
import { type Front, NO_FRONT } from './source.ts';

/** The result of the gateway's authorizer; absent on an open route. */
interface Authorizer {
  iam?: { userArn?: string } | null;
  jwt?: { claims: Readonly<Record<string, unknown>> };
}

/** The event of the gateway, in payload format 2.0. */
type Event = APIGatewayProxyEventV2WithRequestContext<APIGatewayEventRequestContextV2 & { authorizer?: Authorizer }>;

/** A request that keeps the rules of its schemas. */
export interface ApiRequest<Body, Parameters = Record<never, string>> {
  body: Body;
  /** The unchanged body, for the idempotency fingerprint. */
  sentBody: Record<string, unknown>;
  parameters: Parameters;
  idempotencyKey: string | undefined;
  /** The address of the person who called: an IPv4 or IPv6 address without a port. */
  source: string;
  /** The `User-Agent` header. */
  userAgent?: string | undefined;
  /** The caller; undefined on a route without an authorizer. */
  caller: string | undefined;
  /** Verifies the captcha token of this request, once; absent if the deployment needs no captcha. */
  captcha?: ((signal: AbortSignal) => Promise<CaptchaOutcome>) | undefined;
  /** When this invocation times out, in epoch milliseconds. */
  endsAt: number;
}

/** Schemas may be asynchronous: large tables of rules are loaded on first use. */
type BodySchema = v.GenericSchema | v.GenericSchemaAsync;

/** The rules of a request. */
interface RequestRules<Body extends BodySchema, Path extends v.GenericSchema> {
  body: Body;
  path: Path;
  /** The proxy in front of the deployment. Absent: there is none. */
  front?: Front;
  /** Verifies the captcha of a request. Absent: none is required. */
  captcha?: CaptchaVerifier | undefined;
}

/** The event after the parser of its body. */
type ParsedEvent = Omit<Event, 'body'> & { body?: unknown };

type Response = APIGatewayProxyStructuredResultV2;

/** The result of a use case; without a body for 204. */
export interface ApiAnswer<Body = undefined> {
  body: Body;
  headers?: Readonly<Record<string, string>>;
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
    request: ApiRequest<v.InferOutput<Body>, v.InferOutput<v.ObjectSchema<Parameters, undefined>>>,
    telemetry: Telemetry,
    signal: AbortSignal,
  ) => Promise<ApiAnswer<v.InferInput<AnswerBody>>>;
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
    .use(readableBody(options.maxBodyBytes))
    .use(httpJsonBodyParser<Event>())
    .handler(async (event, context) => {
      const endsAt = Date.now() + context.getRemainingTimeInMillis();
      const deadline = requestDeadline(context);
      const telemetry = options.telemetry.with({ request_id: event.requestContext.requestId, route: event.routeKey });
      const request = await parseRequest(event, endsAt, rules, deadline, telemetry);
      const answer = await options.handle(request, telemetry, deadline);
      return successResponse(event, answer, options.answer);
    });
}

function requestDeadline(context: Context): AbortSignal {
  return within(context.getRemainingTimeInMillis() - STOP_BEFORE_END_MS);
}

/** Answers 413 and 400 to a body that costs too much to parse, or is no text. The parser gets what is left. */
function readableBody(maxBytes: number): middy.MiddlewareObj<Event, Response> {
  return {
    before: ({ event }) => {
      event.body = decodeBody(event, maxBytes);
      event.isBase64Encoded = false;
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

/** The parser's refusals have a status. Their causes hold the body, and are dropped. All other errors are internal. */
function translateError(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  if (status === 415) return new Problem('unsupported_media_type');
  if (status === 422) return new Problem('malformed_json');
  return new Problem('internal_error', { cause: error });
}

/** @throws Error if the answer does not match its schema; the message holds none of it */
function successResponse(event: Event, answer: ApiAnswer<unknown>, schema: v.GenericSchema | undefined): Response {
  const headers = {
    ...standardHeaders(event),
    ...answer.headers,
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

/**
 * @param endsAt when this invocation times out, in epoch milliseconds
 * @throws Problem with all errors of the request
 */
export async function parseRequest<Body extends BodySchema, Path extends v.GenericSchema>(
  event: ParsedEvent,
  endsAt: number,
  rules: RequestRules<Body, Path>,
  signal: AbortSignal,
  telemetry: Pick<Telemetry, 'event'>,
): Promise<ApiRequest<v.InferOutput<Body>, v.InferOutput<Path>>> {
  const sentBody = checkedBody(event.body);
  const { headers, pathParameters = {}, requestContext } = event;
  const { captcha, front = NO_FRONT } = rules;
  const caller = callerName(requestContext.authorizer);

  const path = v.safeParse(rules.path, pathParameters);
  const key = v.safeParse(OptionalKeySchema, headers['idempotency-key']?.trim());
  const token = captcha && v.safeParse(CaptchaTokenSchema, headers['captcha-token']?.trim());
  const body = await v.safeParseAsync(rules.body, sentBody);
  const nameless = key.output !== undefined && requestContext.authorizer !== undefined && caller === undefined;
  if (!path.success || !key.success || token?.success === false || !body.success || nameless) {
    throw validationProblem([
      ...(path.issues ?? []).flatMap((issue) => locateViolations({ parameter: String(issue.path?.[0].key) }, [issue])),
      ...locateViolations({ header: 'Idempotency-Key' }, key.issues),
      ...(nameless ? [NAMELESS_CALLER] : []),
      ...locateViolations({ header: 'captcha-token' }, token?.issues),
      ...listViolations(body.issues ?? []),
    ]);
  }

  return {
    body: body.output,
    sentBody,
    parameters: path.output,
    idempotencyKey: key.output,
    source: await front.readSource({ sourceIp: requestContext.http.sourceIp, headers }, signal, (event) =>
      telemetry.event(event),
    ),
    userAgent: headers['user-agent'],
    caller,
    captcha: captcha && token && ((until) => captcha(token.output, until)),
    endsAt,
  };
}

const OptionalKeySchema = v.optional(IdempotencyKeySchema);

/** Without a caller's name, the key of another client could match. */
const NAMELESS_CALLER: Violation = {
  header: 'Idempotency-Key',
  rule: 'not_supported',
  detail: 'cannot be used with a token that has neither sub nor client_id',
};

/** The violations of a value outside the body. */
function locateViolations(
  place: { parameter: string } | { header: string },
  issues: readonly v.BaseIssue<unknown>[] = [],
): Violation[] {
  return listViolations(issues).map(({ rule, detail }) => ({ ...place, rule, detail }));
}

/**
 * The caller: the IAM principal, the token's subject, or its client. The kind is part of the name, because an issuer
 * may give a person the id of a client.
 *
 * An assumed role counts without its session, whose name changes with each process or renewal of credentials. A retry
 * must have the same caller.
 * @returns undefined on an open route, and for a token that names neither
 */
function callerName({ iam, jwt }: Authorizer = {}): string | undefined {
  if (iam?.userArn !== undefined) return `iam:${iam.userArn.replace(/(:assumed-role\/[^/]+)\/.*$/, '$1')}`;
  for (const claim of ['sub', 'client_id']) {
    const value = jwt?.claims[claim];
    if (typeof value === 'string' && value !== '') return `${claim}:${value}`;
  }
  return undefined;
}
