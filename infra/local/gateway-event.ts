import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayEventRequestContextV2, APIGatewayProxyEventV2WithRequestContext, Context } from 'aws-lambda';
import { stripPort } from '../../lib/http/source.ts';

/** The event of a function: payload format 2.0, without an authorizer (the local service has none). */
export type GatewayEvent = APIGatewayProxyEventV2WithRequestContext<APIGatewayEventRequestContextV2>;

/** A request that was read, and the route that it found. */
export interface ReadRequest {
  id: string;
  request: IncomingMessage;
  body: Buffer;
  method: string;
  /** As the route declares it, such as `/public/v1/users/{user_id}/tp5/accounts`. */
  path: string;
  /** Decoded. */
  parameters: Record<string, string>;
}

/** The event that API Gateway makes of a request. */
export function gatewayEvent({ id, request, body, method, path, parameters }: ReadRequest): GatewayEvent {
  const now = new Date();
  const url = new URL(`http://localhost${request.url}`);
  const { cookie, connection, expect, 'transfer-encoding': _, ...kept } = request.headersDistinct;
  const headers = Object.fromEntries(Object.entries(kept).map(([name, values = []]) => [name, values.join(',')]));
  // Of these media types the gateway passes the body on as text, else in base64.
  const isText = /^\s*(text\/|application\/(json|xml|javascript)\s*(;|$))/i.test(headers['content-type'] ?? '');
  const cookies = cookie?.flatMap((value) => value.split(/;\s*/));
  const socketAddress = plainAddress(request.socket.remoteAddress ?? '');

  return {
    version: '2.0',
    routeKey: `${method} ${path}`,
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
        method,
        path: url.pathname,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: forwardedAddress(headers['x-forwarded-for']) ?? socketAddress,
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: id,
      routeKey: `${method} ${path}`,
      stage: '$default',
      time: accessLogTime(now),
      timeEpoch: now.getTime(),
    },
    ...(Object.keys(parameters).length === 0 ? {} : { pathParameters: parameters }),
    ...(body.byteLength === 0 ? {} : { body: body.toString(isText ? 'utf8' : 'base64') }),
    isBase64Encoded: body.byteLength > 0 && !isText,
  };
}

/** Several values of one name are joined by commas. */
function queryParameters({ searchParams }: URL): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, value] of searchParams) query[name] = name in query ? `${query[name]},${value}` : value;
  return query;
}

/** Locally the first address of `X-Forwarded-For`, without a port, is the caller's, so that one machine can be many. */
function forwardedAddress(header = ''): string | undefined {
  const address = stripPort(header.split(',')[0] ?? '');
  return address && plainAddress(address);
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
