import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EventNotAccepted, signedPost } from '../../../lib/crm-webhook/post.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { closedPort, listenForTest } from '../../support/servers.ts';

const KEY = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
const MESSAGE = { id: 'r-1', body: '{"type":"RegistrationConfirmed","data":{"name":"Zoë"}}' };

/** A CRM that answers like this. @returns its address */
async function crm(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listenForTest(createServer(listener))}/hook`;
}

const postTo = (url: string, timeoutMs = 20_000) =>
  signedPost(url, async () => [KEY], { timeoutMs })(MESSAGE, NEVER_ABORTED);
const answering = (status: number, body: string, headers: Record<string, string> = {}) =>
  crm((_request, response) => response.writeHead(status, headers).end(body));

/** Why the CRM did not accept it. */
async function refusalOf(posting: Promise<unknown>): Promise<EventNotAccepted> {
  const error = await posting.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(EventNotAccepted);
  return error as EventNotAccepted;
}

async function reasonOf(posting: Promise<unknown>): Promise<string> {
  const { reason, message } = await refusalOf(posting);
  expect(message).toBe(reason);
  return reason;
}

describe('A message to the CRM', () => {
  it('is JSON, signed with its id', async () => {
    const seen: unknown[] = [];
    const url = await crm(async (request, response) => {
      const { method, url: path, headers } = request;
      seen.push(method, path, headers['content-type'], headers['webhook-id'], headers['content-length']);
      seen.push(await text(request));
      response.end();
    });
    await postTo(url);
    const length = String(Buffer.byteLength(MESSAGE.body));
    expect(seen).toEqual(['POST', '/hook', 'application/json', 'r-1', length, MESSAGE.body]);
  });

  it('goes out on a kept connection, and on a new one if the kept one has ended', async () => {
    const ports: unknown[] = [];
    const url = await crm((request, response) => {
      ports.push(request.socket.remotePort);
      // The third post arrives on a connection that ends without an answer.
      if (ports.length === 3) request.socket.destroy();
      else response.end('{"client_id":"CLIENT09"}');
    });
    const post = signedPost(url, async () => [KEY]);
    for (let posts = 0; posts < 3; posts += 1)
      expect(await post(MESSAGE, NEVER_ABORTED)).toEqual({ client_id: 'CLIENT09' });
    const [first, , , last] = ports;
    expect(ports).toEqual([first, first, first, last]);
    expect(last).not.toBe(first);
  });

  it('is verified by the library of Standard Webhooks', async () => {
    let verified: unknown;
    const url = await crm(async (request, response) => {
      verified = new Webhook(KEY).verify(await text(request), request.headers as Record<string, string>);
      response.end();
    });
    await postTo(url);
    expect(verified).toEqual(JSON.parse(MESSAGE.body));
  });

  it.each([
    ['', {}],
    ['  ', {}],
    ['OK', {}],
    ['[]', {}],
    ['null', {}],
    ['12345678', {}],
    ['"CLIENT09"', {}],
    ['<!doctype html><p>Welcome</p>', {}],
    ['{"client_id":', {}],
    ['{}', {}],
    ['{"client_id":null}', {}],
    ['{"client_id":""}', {}],
    ['{"client_id":"CLIENT09","more":1}', { client_id: 'CLIENT09' }],
    ['\uFEFF{"client_id":"CLIENT09"}', { client_id: 'CLIENT09' }],
    ['{"client_id":12345678}', { client_id: '12345678' }],
    ['{"client_id":"short"}', { unusable: 'client_id_malformed' }],
    ['{"client_id":1234567}', { unusable: 'client_id_malformed' }],
    ['{"client_id":123456789}', { unusable: 'client_id_malformed' }],
    ['{"client_id":1234567.8}', { unusable: 'client_id_malformed' }],
    ['{"client_id":0.123456}', { unusable: 'client_id_malformed' }],
    ['{"client_id":-1234567}', { unusable: 'client_id_malformed' }],
    ['{"client_id":1.5e300}', { unusable: 'client_id_malformed' }],
    ['{"client_id":true}', { unusable: 'client_id_malformed' }],
    ['{"client_id":{}}', { unusable: 'client_id_malformed' }],
    ['{"client_id":"CLIENT\\u00e9"}', { unusable: 'client_id_malformed' }],
    [`{"padding":"${'x'.repeat(65_536)}"}`, { unusable: 'answer_too_large' }],
  ])('is accepted by 200 %.40j', async (body, answer) => {
    expect(await postTo(await answering(200, body))).toEqual(answer);
  });

  it.each([201, 202, 203, 204, 205, 206, 207, 226, 299])('is accepted by %i, whatever the body', async (status) => {
    for (const body of ['', 'OK', '{}', '<p>Welcome</p>', '{"error":"no such client"}', 'x'.repeat(100_000)])
      expect(await postTo(await answering(status, body))).not.toHaveProperty('client_id');
  });

  it.each([
    ['gzip', '{"client_id":"CLIENT09"}', { unusable: 'answer_broken' }],
    ['br, identity', 'OK', { unusable: 'answer_broken' }],
    ['gzip', '', {}],
    ['', '{"client_id":"CLIENT09"}', { client_id: 'CLIENT09' }],
    ['Identity', '{"client_id":"CLIENT09"}', { client_id: 'CLIENT09' }],
  ])(
    'asks for a plain body, and is accepted by a 200 with the coding %j and the body %j',
    async (coding, body, answer) => {
      let accepted: unknown;
      const url = await crm(({ headers }, response) => {
        accepted = headers['accept-encoding'];
        response.writeHead(200, { 'content-encoding': coding }).end(body);
      });
      expect(await postTo(url)).toEqual(answer);
      expect(accepted).toBe('identity');
    },
  );

  it('is accepted by a 200 whose body breaks', async () => {
    const url = await crm((_request, response) => response.write('{"client_id":', () => response.destroy()));
    expect(await postTo(url)).toEqual({ unusable: 'answer_broken' });
  });

  it('is accepted by a 200 whose body does not end in time', async () => {
    const time = new AbortController();
    const url = await crm((_request, response) => response.write('{"client_id":'));
    // When the head of the answer has arrived.
    const arrive = () => void setImmediate(() => time.abort());
    subscribe('http.client.response.finish', arrive);
    onTestFinished(() => void unsubscribe('http.client.response.finish', arrive));
    expect(await signedPost(url, async () => [KEY])(MESSAGE, time.signal)).toEqual({ unusable: 'answer_broken' });
  });

  it.each([101, 300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 409, 410, 413, 422, 429, 500, 502, 503, 504, 599])(
    'is not accepted by %i, and no redirect is followed',
    async (status) => {
      let calls = 0;
      const url = await crm((_request, response) => {
        calls += 1;
        response
          .writeHead(status, { location: '/elsewhere', connection: 'upgrade', upgrade: 'other' })
          .end('{"client_id":"CLIENT09"}');
      });
      expect(await reasonOf(postTo(url))).toBe(`http_${status}`);
      expect(calls).toBe(1);
    },
  );

  it('is refused for good by 410 alone', async () => {
    for (const status of [409, 410, 500]) {
      const refusal = await refusalOf(postTo(await answering(status, '')));
      expect(refusal.isGone).toBe(status === 410);
    }
  });

  it('is not accepted by a CRM that never answers', async () => {
    expect(await reasonOf(postTo(await crm(() => {}), 50))).toBe('timeout');
  });

  it('is not accepted by a CRM that breaks the connection, or cannot be reached', async () => {
    expect(await reasonOf(postTo(await crm((request) => request.socket.destroy())))).toBe('ECONNRESET');
    expect(await reasonOf(postTo(`http://127.0.0.1:${await closedPort()}/hook`))).toBe('ECONNREFUSED');
  });
});
