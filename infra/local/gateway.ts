import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { APIGatewayEventRequestContextV2, APIGatewayProxyEventV2WithRequestContext, Context } from 'aws-lambda';
import { Admission } from './admission.ts';
import { closed, listen } from './listen.ts';

/** What the gateway hands to a function: payload format 2.0, without an authorizer (the local service has none). */
export type GatewayEvent = APIGatewayProxyEventV2WithRequestContext<APIGatewayEventRequestContextV2>;
export type LambdaHandler = (event: GatewayEvent, context: Context) => Promise<unknown>;

export interface Route {
  method: string;
  /** Such as `/public/v1/users/{user_id}/tp5/accounts`. */
  path: string;
  handler: LambdaHandler;
  /** For the function's context, as in `create-tp5-account`. */
  functionName: string;
  /** The function's timeout as it is deployed, in milliseconds. */
  timeoutMs: number;
  /** True: pages of other origins may call it. */
  cors?: boolean;
}

export interface GatewayOptions {
  routes: Route[];
  /** 0 (or nothing) picks a free one. */
  port?: number;
  /** Is asked first; answers true when the request was its own. */
  before?: (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<boolean>;
  /** The gateway's own limit of an integration, in milliseconds. */
  integrationTimeoutMs?: number;
}

export interface Gateway {
  /** Such as `http://localhost:3000`, where it listens on IPv4 and, if the machine has it, IPv6. */
  url: string;
  port: number;
  /** Ends every connection at once. */
  close(): Promise<void>;
}

/** The limits of an HTTP API and of Lambda's synchronous invocation, in bytes and milliseconds. */
const MAX_HEADER_BYTES = 10_240;
const MAX_BODY_BYTES = 10 * 1024 * 1024;
const MAX_EVENT_BYTES = 6 * 1024 * 1024 + 100;
const INTEGRATION_TIMEOUT_MS = 30_000;
/** How much of a body that is too large is read away, so that the caller gets to read the answer. */
const MAX_DRAINED_BYTES = 64 * 1024 * 1024;

const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'idempotent-replayed,retry-after,x-request-id',
};
const PREFLIGHT_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'content-type,idempotency-key',
  'access-control-max-age': '600',
};

/** A Lambda result that has the members of payload format 2.0. */
interface StructuredResult {
  statusCode: number;
  headers?: Record<string, string | number | boolean>;
  cookies?: string[];
  body?: string;
  isBase64Encoded?: boolean;
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
 * Stands in for API Gateway's HTTP API in front of the three functions: exact routes, events of payload format 2.0,
 * the limits, timeouts and own answers of gateway and Lambda. IAM and JWT authorization are not simulated: every
 * caller is let through and `requestContext.authorizer` is absent.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const admission = new Admission();
  const { servers, port } = await listenOnLoopback((request, response) => {
    serve(request, response, options, admission).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) {
        response.destroy();
        return;
      }
      const answer = error instanceof GatewayAnswer ? error : new GatewayAnswer(500, 'Internal Server Error');
      sendJson(response, answer.status, { message: answer.message });
    });
  }, options.port ?? 0);

  return {
    url: `http://localhost:${port}`,
    port,
    close: async () => {
      await Promise.all(servers.map(closed));
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: GatewayOptions,
  admission: Admission,
): Promise<void> {
  // A caller that goes away in the middle ends nothing but its own answer.
  response.on('error', () => {});
  const requestId = randomBytes(11).toString('base64url').concat('=');
  response.setHeader('apigw-requestid', requestId);

  const url = parseUrl(request.url ?? '/');
  if (await options.before?.(request, response, url)) return;

  const origin = request.headers.origin;
  if (request.method === 'OPTIONS' && origin !== undefined) {
    const methods = options.routes
      .filter((route) => route.cors && match(route.path, url.pathname))
      .map((r) => r.method);
    if (methods.length === 0) throw new GatewayAnswer(404, 'Not Found');
    response.writeHead(204, { ...PREFLIGHT_HEADERS, 'access-control-allow-methods': methods.join(',') }).end();
    return;
  }

  const found = findRoute(options.routes, request.method ?? '', url.pathname);
  if (found === undefined) throw new GatewayAnswer(404, 'Not Found');
  if (found.route.cors && origin !== undefined) setHeaders(response, CORS_HEADERS);

  const body = await readBody(request, MAX_BODY_BYTES);
  const event = toEvent(request, url, body, requestId, found);
  // Lambda gets the event as JSON and answers in JSON: what does not survive that does not survive here either.
  const payload = JSON.stringify(event);
  if (Buffer.byteLength(payload) > MAX_EVENT_BYTES) throw new GatewayAnswer(413, 'Request Too Long');
  const integrationTimeoutMs = options.integrationTimeoutMs ?? INTEGRATION_TIMEOUT_MS;
  const result = await admission.run(() =>
    invoke(found.route, JSON.parse(payload) as GatewayEvent, integrationTimeoutMs),
  );
  sendResult(response, result);
}

/** @throws GatewayAnswer 500 when the function crashes or times out, 503 when the gateway's own time is over */
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
    return toStructured(await Promise.race([callHandler(route, event, endsAt), timeout]));
  } catch (error) {
    throw error instanceof GatewayAnswer ? error : new GatewayAnswer(500, 'Internal Server Error');
  } finally {
    clearTimeout(timer);
  }
}

/** Asynchronous in any case: a handler may throw before it returns a promise. */
async function callHandler(route: Route, event: GatewayEvent, endsAt: number): Promise<unknown> {
  return route.handler(event, toContext(route, endsAt));
}

/** What a function answered, as payload format 2.0 reads it: without a `statusCode` the whole result is a JSON body. */
function toStructured(result: unknown): StructuredResult {
  const plain: unknown = result === undefined ? null : JSON.parse(JSON.stringify(result));
  if (typeof plain !== 'object' || plain === null || !('statusCode' in plain)) {
    return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(plain) };
  }
  const status = Number(plain.statusCode);
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new Error('The function answered no HTTP status.');
  return { ...plain, statusCode: status };
}

function sendResult(response: ServerResponse, result: StructuredResult): void {
  const body = Buffer.from(result.body ?? '', result.isBase64Encoded === true ? 'base64' : 'utf8');
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, String(value));
  if (result.cookies !== undefined) response.setHeader('set-cookie', result.cookies);
  if (result.statusCode === 204 || result.statusCode === 304) {
    response.writeHead(result.statusCode).end();
    return;
  }
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'text/plain;charset=UTF-8');
  response.writeHead(result.statusCode, { 'content-length': body.byteLength }).end(body);
}

export function sendJson(response: ServerResponse, status: number, body: unknown, type = 'application/json'): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.byteLength }).end(bytes);
}

function setHeaders(response: ServerResponse, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

function parseUrl(target: string): URL {
  try {
    // The path is kept as it was sent: `URL` would fold `//` at its start into a host.
    return new URL(`http://localhost${target.startsWith('/') ? target : `/${target}`}`);
  } catch {
    throw new GatewayAnswer(400, 'Bad Request');
  }
}

interface FoundRoute {
  route: Route;
  parameters: Record<string, string>;
}

function findRoute(routes: Route[], method: string, path: string): FoundRoute | undefined {
  for (const route of routes) {
    if (route.method !== method) continue;
    const parameters = match(route.path, path);
    if (parameters !== undefined) return { route, parameters };
  }
  return undefined;
}

/** @returns the decoded path parameters; undefined where the path is another */
function match(template: string, path: string): Record<string, string> | undefined {
  const wanted = template.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = decode(given[index] ?? '');
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined && part !== value) return undefined;
    if (name !== undefined) {
      if (value === '') return undefined;
      parameters[name] = value;
    }
  }
  return parameters;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new GatewayAnswer(400, 'Bad Request');
  }
}

/** @throws GatewayAnswer 413 when the body is larger; the rest of it is read away first */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_DRAINED_BYTES) break;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  if (bytes > maxBytes) throw new GatewayAnswer(413, 'Request Too Long');
  return Buffer.concat(chunks);
}

function toEvent(
  request: IncomingMessage,
  url: URL,
  body: Buffer,
  requestId: string,
  { route, parameters }: FoundRoute,
): GatewayEvent {
  const now = new Date();
  const routeKey = `${route.method} ${route.path}`;
  const { cookie, connection, expect, 'transfer-encoding': _, ...kept } = request.headersDistinct;
  const headers = Object.fromEntries(Object.entries(kept).map(([name, values = []]) => [name, values.join(',')]));
  const query: Record<string, string> = {};
  for (const [name, value] of url.searchParams) query[name] = name in query ? `${query[name]},${value}` : value;
  const isText = isTextType(headers['content-type']);
  const cookies = cookie?.flatMap((value) => value.split(/;\s*/));
  const socketAddress = plainAddress(request.socket.remoteAddress ?? '');

  return {
    version: '2.0',
    routeKey,
    rawPath: url.pathname,
    rawQueryString: url.search.slice(1),
    ...(cookies === undefined ? {} : { cookies }),
    headers: {
      ...headers,
      'x-forwarded-for': [headers['x-forwarded-for'], socketAddress].filter(Boolean).join(', '),
      'x-forwarded-port': String(request.socket.localPort ?? ''),
      'x-forwarded-proto': 'http',
    },
    ...(url.search.length > 1 ? { queryStringParameters: query } : {}),
    requestContext: {
      accountId: '000000000000',
      apiId: 'local',
      domainName: headers.host ?? 'localhost',
      domainPrefix: 'local',
      http: {
        method: route.method,
        path: url.pathname,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: forwardedAddress(headers['x-forwarded-for']) ?? socketAddress,
        userAgent: headers['user-agent'] ?? '',
      },
      requestId,
      routeKey,
      stage: '$default',
      time: accessLogTime(now),
      timeEpoch: now.getTime(),
    },
    ...(Object.keys(parameters).length === 0 ? {} : { pathParameters: parameters }),
    ...(body.byteLength === 0 ? {} : { body: body.toString(isText ? 'utf8' : 'base64') }),
    isBase64Encoded: body.byteLength > 0 && !isText,
  };
}

/** The media types whose body the gateway passes on as text; every other one is passed in base64. */
function isTextType(contentType = ''): boolean {
  return /^\s*(text\/|application\/(json|xml|javascript)\s*(;|$))/i.test(contentType);
}

/** On the local service the first address of `X-Forwarded-For` stands for the caller, so that one machine can be many. */
function forwardedAddress(header = ''): string | undefined {
  const address = plainAddress((header.split(',')[0] ?? '').trim());
  return isIP(address) === 0 ? undefined : address;
}

/** An IPv4 address that came in over an IPv6 socket, without its `::ffff:`. */
function plainAddress(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped ?? address;
}

/** Such as `12/Mar/2020:19:03:58 +0000`. */
function accessLogTime(date: Date): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+) GMT$/.exec(date.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}

function toContext(route: Route, endsAt: number): Context {
  const unused = () => {
    throw new Error('The runtime of Node 24 has no callback results.');
  };
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName: route.functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:eu-west-1:000000000000:function:${route.functionName}`,
    memoryLimitInMB: '1769',
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${route.functionName}`,
    logStreamName: 'local',
    getRemainingTimeInMillis: () => Math.max(0, endsAt - Date.now()),
    done: unused,
    fail: unused,
    succeed: unused,
  };
}

/** Listens on one port of 127.0.0.1 and ::1 (where the machine has IPv6), because `localhost` may be either. */
async function listenOnLoopback(listener: RequestListener, port: number): Promise<{ servers: Server[]; port: number }> {
  const create = () => createServer({ maxHeaderSize: MAX_HEADER_BYTES }, listener);
  for (let attempt = 1; ; attempt += 1) {
    const [four, six] = [create(), create()];
    const picked = await listen(four, port);
    try {
      await listen(six, picked, '::1');
      return { servers: [four, six], port: picked };
    } catch (error) {
      if (errorCode(error) !== 'EADDRINUSE') return { servers: [four], port: picked };
      await closed(four);
      if (port !== 0 || attempt === 10) throw error;
    }
  }
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
