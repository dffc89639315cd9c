import { createServer, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { NotAccepted, signedPost } from '../../../lib/crm-webhook/post.ts';
import { forever } from '../../support/outcomes.ts';
import { closedPort, listening } from '../../support/servers.ts';

const KEY = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
const MESSAGE = { id: 'r-1', body: '{"type":"RegistrationConfirmed","data":{"name":"Zoë"}}' };

/** A CRM that answers like this. @returns its address */
async function crm(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(createServer(listener))}/hook`;
}

const postTo = (url: string, timeoutMs = 20_000) => signedPost(url, async () => [KEY], { timeoutMs })(MESSAGE, forever);
const answering = (status: number, body: string, headers: Record<string, string> = {}) =>
  crm((_request, response) => response.writeHead(status, headers).end(body));

/** The reason why the CRM did not accept it. */
async function reasonOf(posting: Promise<unknown>): Promise<string> {
  const error = await posting.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(NotAccepted);
  const { reason, message } = error as NotAccepted;
  expect(message).toBe(reason);
  return reason;
}

describe('A message to the CRM', () => {
  it('is JSON, signed with its id, on a connection of its own', async () => {
    const seen: unknown[] = [];
    const url = await crm(async ({ method, url: path, headers }, response) => {
      seen.push(method, path, headers['content-type'], headers['webhook-id'], headers.connection);
      response.end();
    });
    await postTo(url);
    expect(seen).toEqual(['POST', '/hook', 'application/json', 'r-1', 'close']);
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
    [200, '', {}],
    [202, '  ', {}],
    [204, '', {}],
    [200, '{}', {}],
    [200, '{"client_id":"CLIENT09","more":1}', { client_id: 'CLIENT09' }],
  ])('is accepted by %i %j', async (status, body, answer) => {
    expect(await postTo(await answering(status, body))).toEqual(answer);
  });

  it.each([
    ['OK', 'answer_malformed'],
    ['[]', 'answer_malformed'],
    ['null', 'answer_malformed'],
    ['{"client_id":"short"}', 'answer_malformed'],
    ['{"client_id":12345678}', 'answer_malformed'],
    ['{"client_id":"CLIENT\\u00e9"}', 'answer_malformed'],
    [`{"padding":"${'x'.repeat(65_536)}"}`, 'answer_too_large'],
  ])('is not accepted by the answer %.30j', async (body, reason) => {
    expect(await reasonOf(postTo(await answering(200, body)))).toBe(reason);
  });

  it.each([301, 302, 307, 308, 400, 401, 403, 404, 409, 410, 413, 422, 429, 500, 502, 503, 504])(
    'is not accepted by %i, and no redirect is followed',
    async (status) => {
      let calls = 0;
      const url = await crm((_request, response) => {
        calls += 1;
        response.writeHead(status, { location: '/elsewhere' }).end('{"client_id":"CLIENT09"}');
      });
      expect(await reasonOf(postTo(url))).toBe(`http_${status}`);
      expect(calls).toBe(1);
    },
  );

  it.each([
    ['never answers', () => {}],
    ['never ends its answer', (_: unknown, response: Parameters<RequestListener>[1]) => void response.write('{')],
  ] as [string, RequestListener][])('is not accepted by a CRM that %s', async (_, listener) => {
    expect(await reasonOf(postTo(await crm(listener), 50))).toBe('timeout');
  });

  it('is not accepted by a CRM that breaks the connection, or cannot be reached', async () => {
    expect(await reasonOf(postTo(await crm((request) => request.socket.destroy())))).toMatch(
      /^(UND_ERR_SOCKET|ECONNRESET)$/,
    );
    expect(await reasonOf(postTo(`http://127.0.0.1:${await closedPort()}/hook`))).toBe('ECONNREFUSED');
  });
});
