import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'aws-lambda';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type GatewayEvent,
  type GatewayOptions,
  type LambdaHandler,
  type Route,
  startGateway,
} from '../../../infra/local/gateway.ts';

const ROUTE = { path: '/users/{user_id}/accounts', functionName: 'open-account', timeoutMs: 2_000 };
const PATH = '/users/CLIENT01/accounts';
const JSON_TYPE = { 'content-type': 'application/json' };

/** A function that answers too late. */
const late: LambdaHandler = () => sleep(5_000, undefined, { ref: false });

/** A gateway with one route, until the end of the test. It keeps the events that its function gets. */
async function start(
  handler: LambdaHandler = async () => ({ statusCode: 204 }),
  route: Partial<Route> = {},
  options: Partial<GatewayOptions> = {},
) {
  const events: GatewayEvent[] = [];
  const contexts: Context[] = [];
  const record: LambdaHandler = (event, context) => {
    events.push(event);
    contexts.push(context);
    return handler(event, context);
  };
  const gateway = await startGateway({ routes: [{ ...ROUTE, ...route, handler: record }], ...options });
  onTestFinished(() => gateway.close());
  const post = (body = '{}', headers: Record<string, string> = JSON_TYPE, path = PATH) =>
    fetch(gateway.url + path, { method: 'POST', body, headers });
  return { ...gateway, events, contexts, post };
}

describe('the event of a request', () => {
  it('is of payload format 2.0', async () => {
    const { url, events, contexts, post } = await start();
    const headers = { ...JSON_TYPE, 'User-Agent': 'integrator/1', cookie: 'one=1; two=2' };
    const answer = await post('{"x":"é"}', headers, '/users/a%2Fb%20%C3%A9/accounts?a=1&a=2&b=%20');
    await fetch(`${url}${PATH}`, {
      method: 'POST',
      headers: [
        ['X-Twice', 'a'],
        ['X-Twice', 'b'],
      ],
    });
    expect(events[0]).toMatchObject({
      version: '2.0',
      routeKey: 'POST /users/{user_id}/accounts',
      rawPath: '/users/a%2Fb%20%C3%A9/accounts',
      rawQueryString: 'a=1&a=2&b=%20',
      cookies: ['one=1', 'two=2'],
      queryStringParameters: { a: '1,2', b: ' ' },
      pathParameters: { user_id: 'a/b é' },
      headers: { 'user-agent': 'integrator/1' },
      body: '{"x":"é"}',
      isBase64Encoded: false,
      requestContext: {
        http: {
          method: 'POST',
          path: '/users/a%2Fb%20%C3%A9/accounts',
          sourceIp: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
          userAgent: 'integrator/1',
        },
        requestId: answer.headers.get('apigw-requestid'),
        routeKey: 'POST /users/{user_id}/accounts',
        stage: '$default',
        time: expect.stringMatching(/^\d{2}\/\w{3}\/\d{4}:\d{2}:\d{2}:\d{2} \+0000$/),
        timeEpoch: expect.any(Number),
      },
    });
    expect(events[0]?.headers.cookie).toBeUndefined();
    expect(events[0]?.requestContext).not.toHaveProperty('authorizer');
    expect(events[1]?.headers).toMatchObject({ 'x-twice': expect.stringMatching(/^a, ?b$/) });
    expect(events[1]).not.toHaveProperty('body');
    expect(events[1]?.requestContext.requestId).not.toBe(events[0]?.requestContext.requestId);
    expect(contexts[0]).toMatchObject({
      functionName: 'open-account',
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(contexts[0]?.getRemainingTimeInMillis()).toBeLessThanOrEqual(2_000);
  });

  it.each(['application/vnd.api+json', 'application/octet-stream', 'nonsense'])(
    'has a body of %s in base64',
    async (type) => {
      const { events, post } = await start();
      await post('{"x":1}', { 'content-type': type });
      expect(events[0]).toMatchObject({ isBase64Encoded: true, body: Buffer.from('{"x":1}').toString('base64') });
    },
  );

  it.each([
    ['203.0.113.9, 10.0.0.1', '203.0.113.9'],
    [' 2001:db8::1 ', '2001:db8::1'],
    ['[2001:db8::1]:4711, 10.0.0.1', '2001:db8::1'],
    ['not an address', expect.stringMatching(/^(127\.0\.0\.1|::1)$/)],
  ])('names the first address of X-Forwarded-For, without a port, as its source: %s', async (header, source) => {
    const { events, post } = await start();
    await post('{}', { 'x-forwarded-for': header });
    expect(events[0]?.requestContext.http.sourceIp).toEqual(source);
  });
});

describe('the answer to a request', () => {
  it('holds the body and the headers of the function’s answer', async () => {
    const headers = { 'content-type': 'application/problem+json', 'retry-after': 3 };
    const { post } = await start(async () => ({ statusCode: 409, headers, body: '{"type":"x"}' }));
    const answer = await post();
    expect([answer.status, await answer.text()]).toEqual([409, '{"type":"x"}']);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('retry-after')).toBe('3');
  });

  it('of status 204 has neither body nor content type', async () => {
    const { post } = await start();
    const { status, headers } = await post();
    expect([status, headers.get('content-type'), headers.get('content-length')]).toEqual([204, null, null]);
  });

  it.each([
    ['another path', 'POST', '/users/CLIENT01/account', '{}'],
    ['another path, with any body', 'POST', '/users/CLIENT01/account', 'x'.repeat(2_000_000)],
    ['another method', 'PUT', PATH, '{}'],
    ['a slash at the end', 'POST', `${PATH}/`, '{}'],
    ['an empty path parameter', 'POST', '/users//accounts', '{}'],
    ['another case', 'POST', '/Users/CLIENT01/accounts', '{}'],
  ])('to %s is 404 in the words of the gateway', async (_, method, path, body) => {
    const { url } = await start();
    const answer = await fetch(url + path, { method, body, headers: JSON_TYPE });
    expect([answer.status, await answer.json()]).toEqual([404, { message: 'Not Found' }]);
  });

  it.each<[says: string, LambdaHandler, Partial<Route>, Partial<GatewayOptions>, status: number, message: string]>([
    [
      'throws',
      () => {
        throw new Error('secret');
      },
      {},
      {},
      500,
      'Internal Server Error',
    ],
    ['rejects', async () => Promise.reject(new Error('secret')), {}, {}, 500, 'Internal Server Error'],
    ['answers no status of HTTP', async () => ({ statusCode: 'secret' }), {}, {}, 500, 'Internal Server Error'],
    ['has no more time', late, { timeoutMs: 50 }, {}, 500, 'Internal Server Error'],
    ['works longer than the gateway waits', late, {}, { integrationTimeoutMs: 50 }, 503, 'Service Unavailable'],
  ])('is in the words of the gateway when the function %s', async (_, handler, route, options, status, message) => {
    const { post } = await start(handler, route, options);
    const answer = await post();
    expect([answer.status, await answer.json()]).toEqual([status, { message }]);
  });

  it.each([6, 20])('is 413 to a body of %i MB, which the function never gets', async (megabytes) => {
    const { events, post } = await start();
    const answer = await post(JSON.stringify('x'.repeat(megabytes * 1024 * 1024)));
    expect([answer.status, await answer.json()]).toEqual([413, { message: 'Request Too Long' }]);
    expect(events).toEqual([]);
    expect((await post('x'.repeat(5_900_000))).status).toBe(204);
  });
});

describe('the gateway', () => {
  it('listens on IPv4 and, if the machine has it, IPv6', async () => {
    const { port } = await start();
    expect((await fetch(`http://127.0.0.1:${port}${PATH}`, { method: 'POST' })).status).toBe(204);
    const six = await fetch(`http://[::1]:${port}${PATH}`, { method: 'POST' }).catch(() => undefined);
    if (six !== undefined) expect(six.status).toBe(204);
    await expect(startGateway({ routes: [], port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

/** What the scripts of Sentry, Datadog, New Relic, Zipkin, Jaeger and OpenTelemetry add to the calls of a page. */
const SENT_BY_MONITORING = [
  ...['sentry-trace', 'baggage', 'traceparent', 'tracestate', 'newrelic', 'b3', 'x-b3-traceid', 'x-b3-spanid'],
  ...['x-datadog-trace-id', 'x-datadog-parent-id', 'x-datadog-origin', 'x-datadog-sampling-priority', 'x-datadog-tags'],
  ...['uber-trace-id', 'x-amzn-trace-id', 'x-cloud-trace-context', 'elastic-apm-traceparent', 'request-id', 'x-dtc'],
  ...['request-context', 'x-instana-t', 'sw8', 'x-highlight-request', 'x-posthog-session-id', 'x-requested-with'],
];

describe('pages of other origins', () => {
  const origin = 'https://register.example.com';
  const preflight = { origin, 'access-control-request-method': 'POST' };

  it('may call a route that is open to pages where their origin is allowed', async () => {
    const { url, post } = await start(
      undefined,
      { cors: true },
      { allowedOrigins: ['https://acme.example', origin], allowedHeaders: ['x-acme-trace'] },
    );
    const asked = await fetch(url + PATH, { method: 'OPTIONS', headers: preflight });
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe(origin);
    expect(asked.headers.get('access-control-allow-methods')).toBe('POST');
    const allowed = asked.headers.get('access-control-allow-headers')?.split(',');
    expect(allowed).toEqual(
      expect.arrayContaining(['content-type', 'idempotency-key', 'x-acme-trace', ...SENT_BY_MONITORING]),
    );
    const answer = await post('{}', { origin });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, origin]);
    expect(answer.headers.get('access-control-expose-headers')).toContain('x-request-id');
  });

  it.each(['http://localhost.evil.example', 'https://localhost:5173', 'http://localhost:5173.evil.example', 'null'])(
    'whose names only resemble this machine’s may not call such a route: %s',
    async (foreign) => {
      const { post } = await start(undefined, { cors: true });
      expect((await post('{}', { origin: foreign })).status).toBe(403);
    },
  );

  it.each([
    ['any other route', {}, { allowedOrigins: [origin] }],
    ['any other route, from this machine', {}, {}, 'http://localhost:5173'],
    ['any route where their origin is not allowed', { cors: true }, { allowedOrigins: [`${origin}:8443`] }],
    ['any route where none is allowed', { cors: true }, {}],
  ])('may not call %s', async (_, route, options, from = origin) => {
    const { url, events } = await start(undefined, route, options);
    for (const method of ['OPTIONS', 'POST']) {
      const answer = await fetch(url + PATH, { method, headers: { ...preflight, origin: from } });
      expect([answer.status, await answer.json()]).toEqual([403, { message: 'Forbidden' }]);
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
    expect(events).toEqual([]);
  });
});
