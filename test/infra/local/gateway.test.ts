import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type LambdaHandler, startGateway } from '../../../infra/local/gateway.ts';
import { post, start, startRecording, startWith } from '../../support/gateway.ts';

describe('the event of a request', () => {
  it('is of payload format 2.0', async () => {
    const { url, events } = await startRecording();
    await post(`${url}/users/CLIENT01/accounts?a=1&a=2&b=%20`, '{"x":"é"}', {
      'content-type': 'application/json; charset=utf-8',
      'User-Agent': 'integrator/1',
      cookie: 'one=1; two=2',
    });
    expect(events[0]).toMatchObject({
      version: '2.0',
      routeKey: 'POST /users/{user_id}/accounts',
      rawPath: '/users/CLIENT01/accounts',
      rawQueryString: 'a=1&a=2&b=%20',
      cookies: ['one=1', 'two=2'],
      queryStringParameters: { a: '1,2', b: ' ' },
      pathParameters: { user_id: 'CLIENT01' },
      body: '{"x":"é"}',
      isBase64Encoded: false,
      requestContext: {
        http: {
          method: 'POST',
          path: '/users/CLIENT01/accounts',
          sourceIp: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
          userAgent: 'integrator/1',
        },
        routeKey: 'POST /users/{user_id}/accounts',
        stage: '$default',
        time: expect.stringMatching(/^\d{2}\/\w{3}\/\d{4}:\d{2}:\d{2}:\d{2} \+0000$/),
        timeEpoch: expect.any(Number),
      },
    });
    expect(events[0]?.headers).toMatchObject({ 'user-agent': 'integrator/1' });
    expect(events[0]?.headers.cookie).toBeUndefined();
    expect(events[0]?.requestContext).not.toHaveProperty('authorizer');
  });

  it('has lower-case header names, and several values of one joined by a comma', async () => {
    const { url, events } = await startRecording();
    await new Promise((resolve, reject) => {
      httpRequest(`${url}/users/CLIENT01/accounts`, { method: 'POST', headers: { 'X-Twice': ['a', 'b'] } }, resolve)
        .on('error', reject)
        .end();
    });
    expect(events[0]?.headers).toMatchObject({ 'x-twice': 'a,b' });
  });

  it('has decoded path parameters', async () => {
    const { url, events } = await startRecording();
    await post(`${url}/users/a%2Fb%20%C3%A9/accounts`, '{}');
    expect(events[0]?.pathParameters).toEqual({ user_id: 'a/b é' });
  });

  it.each(['application/vnd.api+json', 'application/octet-stream', 'image/png', 'nonsense'])(
    'has a body of %s in base64',
    async (type) => {
      const { url, events } = await startRecording();
      await post(`${url}/users/CLIENT01/accounts`, '{"x":1}', { 'content-type': type });
      expect(events[0]).toMatchObject({ isBase64Encoded: true, body: Buffer.from('{"x":1}').toString('base64') });
    },
  );

  it('has no body where none was sent', async () => {
    const { url, events } = await startRecording();
    await fetch(`${url}/users/CLIENT01/accounts`, { method: 'POST' });
    expect(events[0]).not.toHaveProperty('body');
  });

  it.each([
    ['203.0.113.9, 10.0.0.1', '203.0.113.9'],
    [' 2001:db8::1 ', '2001:db8::1'],
    ['203.0.113.9:4711', '203.0.113.9'],
    ['[2001:db8::1]:4711, 10.0.0.1', '2001:db8::1'],
    ['not an address', expect.stringMatching(/^(127\.0\.0\.1|::1)$/)],
  ])('names the first address of X-Forwarded-For, without a port, as its source: %s', async (header, source) => {
    const { url, events } = await startRecording();
    await post(`${url}/users/CLIENT01/accounts`, '{}', { 'x-forwarded-for': header });
    expect(events[0]?.requestContext.http.sourceIp).toEqual(source);
  });

  it('has a request id of its own, which the answer names too', async () => {
    const { url, events } = await startRecording();
    const answers = [
      await post(`${url}/users/CLIENT01/accounts`, '{}'),
      await post(`${url}/users/CLIENT01/accounts`, '{}'),
    ];
    const ids = events.map((event) => event.requestContext.requestId);
    expect(new Set(ids).size).toBe(2);
    expect(answers.map((answer) => answer.headers.get('apigw-requestid'))).toEqual(ids);
  });

  it("comes with a context that counts down the function's timeout", async () => {
    const { url, contexts } = await startRecording();
    await post(`${url}/users/CLIENT01/accounts`, '{}');
    const [context] = contexts;
    expect(context).toMatchObject({
      functionName: 'open-account',
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(context?.getRemainingTimeInMillis()).toBeGreaterThan(0);
    expect(context?.getRemainingTimeInMillis()).toBeLessThanOrEqual(2_000);
  });
});

describe('the answer to a request', () => {
  it('is the function’s answer, with its headers and cookies', async () => {
    const url = await start(async () => ({
      statusCode: 409,
      headers: { 'content-type': 'application/problem+json', 'retry-after': 3 },
      cookies: ['a=1', 'b=2'],
      body: '{"type":"x"}',
    }));
    const answer = await post(`${url}/users/CLIENT01/accounts`, '{}');
    expect(answer.status).toBe(409);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('retry-after')).toBe('3');
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(await answer.text()).toBe('{"type":"x"}');
  });

  it('is binary if the function’s body is base64', async () => {
    const bytes = Buffer.from([0, 255, 1]);
    const url = await start(async () => ({ statusCode: 200, body: bytes.toString('base64'), isBase64Encoded: true }));
    const answer = await post(`${url}/users/CLIENT01/accounts`, '{}');
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes);
  });

  it('is the whole result as JSON if the function sets no status', async () => {
    const url = await start(async () => ({ hello: 'world' }));
    const answer = await post(`${url}/users/CLIENT01/accounts`, '{}');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ hello: 'world' });
  });

  it('of status 204 has neither body nor content type', async () => {
    const { url } = await startRecording();
    const answer = await post(`${url}/users/CLIENT01/accounts`, '{}');
    expect(answer.status).toBe(204);
    expect(answer.headers.get('content-type')).toBeNull();
    expect(answer.headers.get('content-length')).toBeNull();
  });

  it.each([
    ['another path', 'POST', '/users/CLIENT01/account'],
    ['another method', 'GET', '/users/CLIENT01/accounts'],
    ['a slash at the end', 'POST', '/users/CLIENT01/accounts/'],
    ['an empty path parameter', 'POST', '/users//accounts'],
    ['another case', 'POST', '/Users/CLIENT01/accounts'],
    ['a longer path', 'POST', '/users/CLIENT01/accounts/1'],
  ])('to %s is 404 in the words of the gateway', async (_, method, path) => {
    const { url } = await startRecording();
    const answer = await fetch(url + path, { method });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toEqual({ message: 'Not Found' });
  });

  it.each(['{', '', 'x'.repeat(2_000_000)])('to another path is 404, with any body', async (body) => {
    const { url } = await startRecording();
    const answer = await post(`${url}/users/CLIENT01/account`, body);
    expect([answer.status, await answer.json()]).toEqual([404, { message: 'Not Found' }]);
  });

  it('is 400 if the path is malformed', async () => {
    const { url } = await startRecording();
    expect((await post(`${url}/users/%E0%A4%A/accounts`, '{}')).status).toBe(400);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('secret');
      },
    ],
    ['rejects', async () => Promise.reject(new Error('secret'))],
    ['answers no status of HTTP', async () => ({ statusCode: 'secret' })],
  ] as [string, LambdaHandler][])('is 500 in the words of the gateway when the function %s', async (_, handler) => {
    const url = await start(handler);
    const answer = await post(`${url}/users/CLIENT01/accounts`, '{}');
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({ message: 'Internal Server Error' });
  });

  it("is 500 when the function's own time is over", async () => {
    const url = await start(() => sleep(5_000, undefined, { ref: false }), { timeoutMs: 50 });
    expect((await post(`${url}/users/CLIENT01/accounts`, '{}')).status).toBe(500);
  });

  it("is 503 when the gateway's time is over", async () => {
    const url = await start(() => sleep(5_000, undefined, { ref: false }), {}, { integrationTimeoutMs: 50 });
    const answer = await post(`${url}/users/CLIENT01/accounts`, '{}');
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({ message: 'Service Unavailable' });
  });

  it.each([6, 11, 40])('is 413 to a body of %i MB, which the function never gets', async (megabytes) => {
    const { url, events } = await startRecording();
    const answer = await post(`${url}/users/CLIENT01/accounts`, JSON.stringify('x'.repeat(megabytes * 1024 * 1024)));
    expect(answer.status).toBe(413);
    expect(await answer.json()).toEqual({ message: 'Request Too Long' });
    expect(events).toEqual([]);
  });

  it('is not 413 to a body of 5.9 MB', async () => {
    const { url, events } = await startRecording();
    expect((await post(`${url}/users/CLIENT01/accounts`, 'x'.repeat(5_900_000))).status).toBe(204);
    expect(events[0]?.body).toHaveLength(5_900_000);
  });

  it('is 431 to headers of more than 10 KB', async () => {
    const { url } = await startRecording();
    expect((await post(`${url}/users/CLIENT01/accounts`, '{}', { 'x-long': 'x'.repeat(11_000) })).status).toBe(431);
  });
});

describe('the gateway', () => {
  it('listens on IPv4 and, if the machine has it, IPv6', async () => {
    const { url } = await startRecording();
    const { port } = new URL(url);
    expect((await post(`http://127.0.0.1:${port}/users/CLIENT01/accounts`, '{}')).status).toBe(204);
    const six = await post(`http://[::1]:${port}/users/CLIENT01/accounts`, '{}').catch(() => undefined);
    if (six !== undefined) expect(six.status).toBe(204);
  });

  it('continues when a caller disconnects in the middle of its body or before its answer', async () => {
    let calls = 0;
    const url = await start(async () => {
      calls += 1;
      await sleep(50);
      return { statusCode: 200, body: 'x'.repeat(1_000_000) };
    });
    const { port } = new URL(url);
    for (const sent of ['{"half', '{"half":1}']) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(`POST /users/CLIENT01/accounts HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n${sent}`);
      await sleep(30);
      socket.resetAndDestroy();
    }
    expect((await post(`${url}/users/CLIENT01/accounts`, '{}')).status).toBe(200);
    expect(calls).toBe(2);
  });

  it('lets a function work on eight events at a time, and on the others in the order in which they came', async () => {
    const began: string[] = [];
    const ends: (() => void)[] = [];
    const { url } = await startWith(async ({ body }) => {
      began.push(String(body));
      await new Promise<void>((resolve) => ends.push(resolve));
    });
    const calls: Promise<unknown>[] = [];
    for (let call = 1; call <= 10; call += 1) {
      calls.push(post(`${url}/users/CLIENT01/accounts`, String(call)));
      if (call <= 8) await expect.poll(() => began.length).toBe(call);
      else await sleep(50);
    }
    expect(began).toHaveLength(8);
    ends.shift()?.();
    await expect.poll(() => began.length).toBe(9);
    while (began.length < 10 || ends.length > 0) {
      ends.shift()?.();
      await sleep(1);
    }
    await Promise.all(calls);
    expect(began.at(-2)).toBe('9');
    expect(began.at(-1)).toBe('10');
  });

  it('says so when its port is in use', async () => {
    const { url } = await startRecording();
    const second = startGateway({ routes: [], port: Number(new URL(url).port) });
    await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('ends a running call when it closes', async () => {
    const gateway = await startWith(() => sleep(5_000, undefined, { ref: false }), { timeoutMs: 10_000 });
    const call = post(`${gateway.url}/users/CLIENT01/accounts`, '{}');
    call.catch(() => {});
    await sleep(50);
    await gateway.close();
    await expect(call).rejects.toThrow();
  });
});
