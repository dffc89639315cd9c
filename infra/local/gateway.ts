import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { APIGatewayEventRequestContextV2, APIGatewayProxyEventV2WithRequestContext, Context } from 'aws-lambda';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import pLimit from 'p-limit';
import { stripPort } from '../../lib/http/source.ts';
import { corsHeaders } from '../functions.ts';
import { isForeignRequest } from './listen.ts';

export type LambdaHandler = (event: GatewayEvent, context: Context) => Promise<unknown>;

/** The route of a function. All routes are POST. */
export interface Route {
  /** The route's path, such as `/public/v1/users/{user_id}/tp5/accounts`. */
  path: string;
  handler: LambdaHandler;
  /** The function's name in its context, such as `create-tp5-account`. */
  functionName: string;
  /** The function's deployed timeout, in milliseconds. */
  timeoutMs: number;
  /** True: the pages of `allowedOrigins` may call it. */
  cors?: boolean;
}

export interface GatewayOptions {
  routes: Route[];
  /** Absent or 0: a free port. */
  port?: number;
  /** Other origins whose pages may call the routes for pages. */
  allowedOrigins?: readonly string[];
  /** The additional request headers that these pages may send. */
  allowedHeaders?: readonly string[];
  /** Adds routes without a function. */
  addRoutes?: (app: FastifyInstance) => void;
  /** The gateway's own limit of an integration, in milliseconds. */
  integrationTimeoutMs?: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Other origins whose pages may call the route. */
    origins?: readonly string[];
  }
}

/** The limits of an HTTP API and of Lambda's synchronous invocation, in bytes and milliseconds. */
const MAX_HEADER_BYTES = 10_240;
const MAX_BODY_BYTES = 10 * 1024 * 1024;
const MAX_EVENT_BYTES = 6 * 1024 * 1024 + 100;
const INTEGRATION_TIMEOUT_MS = 30_000;
/**
 * The maximum number of simultaneous events of a function; further events wait. On Lambda each event has its own
 * processor. Here all share one with the database, whose answers would exceed the functions' timeouts.
 */
const EVENTS_AT_ONCE = 8;
/** The bytes of a too large body that are drained, so that the caller can read the answer. */
const MAX_DRAINED_BYTES = 64 * 1024 * 1024;

/** Pages of this machine may call the routes for pages. */
const LOCAL_ORIGIN = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/** What a function of this project answers: the members of payload format 2.0 without cookies and bytes. */
interface StructuredResult {
  statusCode: number;
  headers?: Record<string, string | number | boolean>;
  body?: string;
}

/** The gateway's own answer, as API Gateway words it. */
class GatewayAnswer extends Error {
  override readonly name = 'GatewayAnswer';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Simulates API Gateway's HTTP API in front of the functions: exact routes, events of payload format 2.0, the limits,
 * timeouts and own answers of gateway and Lambda. It does not simulate IAM and JWT authorization: every caller of this
 * machine is admitted, and `requestContext.authorizer` is absent. It refuses pages of origins that are not allowed.
 */
export async function startGateway(options: GatewayOptions) {
  const app = fastify({
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    forceCloseConnections: true,
    genReqId: () => `${randomBytes(11).toString('base64url')}=`,
    frameworkErrors: (_error, _request, reply) => sendMessage(reply, 400, 'Bad Request'),
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('apigw-requestid', request.id);
    const { origin = '', host } = request.headers;
    const allowed = request.routeOptions.config.origins;
    // A page under development runs on this machine, at a port of its own.
    const local = allowed !== undefined && LOCAL_ORIGIN.test(origin) ? [origin] : [];
    const origins = [`http://${host}`, ...(allowed ?? []), ...local];
    if (isForeignRequest(request.raw, origins)) throw new GatewayAnswer(403, 'Forbidden');
  });
  // Only a route checks the body: an unknown path is not found, with any body.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null);
  });
  app.setNotFoundHandler((_request, reply) => sendMessage(reply, 404, 'Not Found'));
  app.setErrorHandler((error, _request, reply) => {
    const answer = error instanceof GatewayAnswer ? error : new GatewayAnswer(500, 'Internal Server Error');
    return sendMessage(reply, answer.status, answer.message);
  });
  for (const route of options.routes) addRoute(app, route, options);
  options.addRoutes?.(app);
  // The server listens on IPv4 and, if the machine has it, IPv6.
  await app.listen({ host: 'localhost', port: options.port ?? 0 });
  const { port } = app.server.address() as AddressInfo;
  return { url: `http://localhost:${port}`, port, close: () => app.close() };
}

function addRoute(app: FastifyInstance, route: Route, options: GatewayOptions): void {
  const url = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
  const turns = pLimit(EVENTS_AT_ONCE);
  const config = route.cors === true ? { origins: options.allowedOrigins ?? [] } : {};
  const { allowHeaders, exposeHeaders, maxAgeSeconds } = corsHeaders(options.allowedHeaders ?? []);
  app.route({
    method: 'POST',
    url,
    config,
    // This hook does everything: before the handler, fastify would read the body and judge its media type.
    onRequest: async (request, reply) => {
      if (route.cors === true)
        allowOrigin(request, reply).header('access-control-expose-headers', exposeHeaders.join(','));
      const event = await createEvent(route, request);
      const result = await turns(() => invoke(route, event, options.integrationTimeoutMs ?? INTEGRATION_TIMEOUT_MS));
      return sendResult(reply, result);
    },
    handler: () => undefined,
  });
  if (route.cors !== true) return;
  app.options(url, { config }, (request, reply) => {
    if (request.headers.origin === undefined) return reply.callNotFound();
    return allowOrigin(request, reply)
      .code(204)
      .headers({
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': allowHeaders.join(','),
        'access-control-max-age': String(maxAgeSeconds),
      })
      .send();
  });
}

/** The hook of all routes has let the origin pass. */
function allowOrigin({ headers: { origin } }: FastifyRequest, reply: FastifyReply): FastifyReply {
  return origin === undefined ? reply : reply.headers({ 'access-control-allow-origin': origin, vary: 'origin' });
}

/** The function's event. @throws GatewayAnswer if the gateway refuses the request */
async function createEvent(route: Route, request: FastifyRequest): Promise<GatewayEvent> {
  const parameters = { ...(request.params as Record<string, string>) };
  // API Gateway takes no empty path parameter.
  if (Object.values(parameters).includes('')) throw new GatewayAnswer(404, 'Not Found');
  const body = await readBody(request.raw);
  const event = gatewayEvent(route.path, request, body, parameters);
  // Lambda gets the event as JSON and answers in JSON: what JSON cannot express is lost here too.
  const payload = JSON.stringify(event);
  if (Buffer.byteLength(payload) > MAX_EVENT_BYTES) throw new GatewayAnswer(413, 'Request Too Long');
  return JSON.parse(payload) as GatewayEvent;
}

/** @throws GatewayAnswer 413 if the body is too large; after the rest of the body is drained */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_DRAINED_BYTES) break;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes > MAX_BODY_BYTES) throw new GatewayAnswer(413, 'Request Too Long');
  return Buffer.concat(chunks);
}

/** @throws GatewayAnswer 500 if the function crashes or times out, 503 if the gateway's own time is over */
async function invoke(route: Route, event: GatewayEvent, integrationTimeoutMs: number): Promise<StructuredResult> {
  const endsAt = Date.now() + route.timeoutMs;
  const [ms, status, message] =
    route.timeoutMs < integrationTimeoutMs
      ? ([route.timeoutMs, 500, 'Internal Server Error'] as const)
      : ([integrationTimeoutMs, 503, 'Service Unavailable'] as const);
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new GatewayAnswer(status, message)), ms);
  });
  try {
    // A handler may throw before it returns a promise.
    const result = (async () => route.handler(event, lambdaContext(route.functionName, endsAt)))();
    return structuredResult(await Promise.race([result, timeout]));
  } catch (error) {
    throw error instanceof GatewayAnswer ? error : new GatewayAnswer(500, 'Internal Server Error');
  } finally {
    clearTimeout(timer);
  }
}

/** @throws Error if the result has no status: the functions set one */
function structuredResult(result: unknown): StructuredResult {
  const plain = JSON.parse(JSON.stringify(result ?? {})) as StructuredResult;
  const { statusCode: status } = plain;
  if (Number.isInteger(status) && status >= 200 && status <= 599) return plain;
  throw new Error('The function answered no HTTP status.');
}

function sendResult(reply: FastifyReply, { statusCode, headers, body }: StructuredResult) {
  for (const [name, value] of Object.entries(headers ?? {})) reply.header(name, String(value));
  reply.code(statusCode);
  if (statusCode === 204 || statusCode === 304) return reply.send();
  if (!reply.hasHeader('content-type')) reply.header('content-type', 'text/plain;charset=UTF-8');
  return reply.send(Buffer.from(body ?? ''));
}

/** Sends a message as bytes, so that fastify adds no charset: API Gateway names none. */
function sendMessage(reply: FastifyReply, status: number, message: string): FastifyReply {
  return reply
    .code(status)
    .header('content-type', 'application/json')
    .send(Buffer.from(JSON.stringify({ message })));
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The event of a function: payload format 2.0, without an authorizer (the local service has none). */
export type GatewayEvent = APIGatewayProxyEventV2WithRequestContext<APIGatewayEventRequestContextV2>;

/** The event that API Gateway makes of a request. @param path as the route declares it @param parameters decoded */
function gatewayEvent(
  path: string,
  { id, raw: request }: FastifyRequest,
  body: Buffer,
  parameters: Record<string, string>,
): GatewayEvent {
  const now = new Date();
  const url = new URL(`http://localhost${request.url}`);
  const { cookie, connection, expect, 'transfer-encoding': _, ...kept } = request.headersDistinct;
  const headers = Object.fromEntries(Object.entries(kept).map(([name, values = []]) => [name, values.join(',')]));
  // The gateway passes the body of these media types on as text, and any other body in base64.
  const isText = /^\s*(text\/|application\/(json|xml|javascript)\s*(;|$))/i.test(headers['content-type'] ?? '');
  const cookies = cookie?.flatMap((value) => value.split(/;\s*/));
  const socketAddress = request.socket.remoteAddress ?? '';

  return {
    version: '2.0',
    routeKey: `POST ${path}`,
    rawPath: url.pathname,
    rawQueryString: url.search.slice(1),
    ...(cookies === undefined ? {} : { cookies }),
    headers: {
      ...headers,
      'x-forwarded-for': [headers['x-forwarded-for'], socketAddress].filter(Boolean).join(', '),
      'x-forwarded-port': String(request.socket.localPort ?? ''),
      'x-forwarded-proto': 'http',
    },
    ...(url.search.length > 1 ? { queryStringParameters: queryParameters(url) } : {}),
    requestContext: {
      accountId: '000000000000',
      apiId: 'local',
      domainName: headers.host ?? 'localhost',
      domainPrefix: 'local',
      http: {
        method: 'POST',
        path: url.pathname,
        protocol: `HTTP/${request.httpVersion}`,
        // In the local service the first address of the header is the caller's, so that one machine can be many
        // callers.
        sourceIp: stripPort(headers['x-forwarded-for']?.split(',')[0] ?? '') ?? socketAddress,
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: id,
      routeKey: `POST ${path}`,
      stage: '$default',
      time: accessLogTime(now),
      timeEpoch: now.getTime(),
    },
    ...(Object.keys(parameters).length === 0 ? {} : { pathParameters: parameters }),
    ...(body.byteLength === 0 ? {} : { body: body.toString(isText ? 'utf8' : 'base64') }),
    isBase64Encoded: body.byteLength > 0 && !isText,
  };
}

/** Joins the values of one name by commas. */
function queryParameters({ searchParams }: URL): Record<string, string> {
  return Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name).join(',')]));
}

/** The time in the format of the access log, such as `12/Mar/2020:19:03:58 +0000`. */
function accessLogTime(date: Date): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+) GMT$/.exec(date.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}

/** The context that Lambda's runtime passes to a function. @param endsAt its timeout, epoch ms */
export function lambdaContext(functionName: string, endsAt: number): Context {
  const unused = () => {
    throw new Error('The runtime of Node 24 has no callback results.');
  };
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:eu-west-1:000000000000:function:${functionName}`,
    memoryLimitInMB: '1769',
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: 'local',
    getRemainingTimeInMillis: () => Math.max(0, endsAt - Date.now()),
    done: unused,
    fail: unused,
    succeed: unused,
  };
}
