import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { post, start, startRecording } from '../../support/gateway.ts';

describe('pages of other origins', () => {
  const origin = 'https://register.example.com';
  const preflight = { origin, 'access-control-request-method': 'POST' };
  const done = async () => ({ statusCode: 204 });

  it('may call a route that is open to pages where their origin is allowed', async () => {
    const url = await start(done, { cors: true }, { allowedOrigins: ['http://localhost:5173', origin] });
    const asked = await fetch(`${url}/users/CLIENT01/accounts`, { method: 'OPTIONS', headers: preflight });
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe(origin);
    expect(asked.headers.get('access-control-allow-methods')).toBe('POST');
    expect(asked.headers.get('access-control-allow-headers')).toMatch(/content-type.*idempotency-key/);
    const answer = await post(`${url}/users/CLIENT01/accounts`, '{}', { origin });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    expect(answer.headers.get('access-control-expose-headers')).toContain('x-request-id');
  });

  it.each([
    ['any other route', {}, { allowedOrigins: [origin] }],
    ['any route where their origin is not allowed', { cors: true }, { allowedOrigins: [`${origin}:8443`] }],
    ['any route where none is allowed', { cors: true }, {}],
  ])('may not call %s', async (_, route, options) => {
    let calls = 0;
    const url = await start(
      async () => {
        calls += 1;
        return done();
      },
      route,
      options,
    );
    for (const method of ['OPTIONS', 'POST']) {
      const answer = await fetch(`${url}/users/CLIENT01/accounts`, { method, headers: preflight });
      expect(answer.status).toBe(403);
      expect(await answer.json()).toEqual({ message: 'Forbidden' });
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
    expect(calls).toBe(0);
  });

  it.each(['null', 'http://localhost:1', 'http://localhost.evil.example', 'http://evil.example'])(
    'are foreign: %s',
    async (foreign) => {
      const { url, events } = await startRecording();
      const headers = { 'content-type': 'application/json', origin: foreign };
      expect((await post(`${url}/users/CLIENT01/accounts`, '{}', headers)).status).toBe(403);
      expect((await fetch(`${url}/nothing`, { headers })).status).toBe(403);
      expect(events).toEqual([]);
    },
  );

  it('are not the pages of the gateway itself', async () => {
    const { url } = await startRecording();
    for (const own of [url, url.replace('localhost', '127.0.0.1')]) {
      expect((await post(`${own}/users/CLIENT01/accounts`, '{}', { origin: own })).status).toBe(204);
    }
  });
});

describe('another name that points to this machine', () => {
  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.nip.example', 'LOCALHOST.:80', '[::2]', '0.0.0.0'])(
    'is refused: "%s"',
    async (host) => {
      const { url, events } = await startRecording();
      const { port } = new URL(url);
      const status = await new Promise((resolve, reject) => {
        const path = '/users/CLIENT01/accounts';
        httpRequest({ host: '127.0.0.1', port, path, method: 'POST', headers: { host } }, ({ statusCode }) =>
          resolve(statusCode),
        )
          .on('error', reject)
          .end();
      });
      expect(status).toBe(403);
      expect(events).toEqual([]);
    },
  );
});
