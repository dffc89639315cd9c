import { spawn } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accepts } from '../../support/openapi.ts';

const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'a-secret', AWS_REGION: 'eu-west-1' };

interface Received {
  request: IncomingMessage;
  body: string;
}

let server: Server;
const received: Received[] = [];
beforeAll(async () => {
  server = createServer(async (request, response) => {
    received.push({ request, body: await text(request) });
    const account = { login: 500_001, master_password: 'a', investor_password: 'b' };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(account));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.close();
});

/** The path without the packages of this project: its `node` is the one of the machine, which may be older. */
const PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);

/** Runs a file as a person would, and returns the request that arrived. */
async function run(file: string, environment: Record<string, string>): Promise<Received & { output: string }> {
  const API_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const child = spawn(file.endsWith('.sh') ? 'sh' : 'node', [file], {
    cwd: new URL('../../../infra/openapi/calls', import.meta.url),
    env: { PATH, API_URL, ...environment },
  });
  const output = await text(child.stdout);
  const [one] = received.splice(0);
  if (one === undefined) throw new Error(`${file} sent nothing: ${await text(child.stderr)}`);
  return { ...one, output };
}

/** The signature that AWS computes for the request that arrived (Signature Version 4). */
function signatureOf({ request, body }: Received, signedHeaders: string): string {
  const hash = (value: string) => createHash('sha256').update(value).digest('hex');
  const mac = (key: string | Buffer, value: string) => createHmac('sha256', key).update(value).digest();
  const date = String(request.headers['x-amz-date']);
  const scope = [date.slice(0, 8), CREDENTIALS.AWS_REGION, 'execute-api', 'aws4_request'];
  const headers = signedHeaders.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
  const canonical = ['POST', request.url, '', headers.join(''), signedHeaders, hash(body)].join('\n');
  const key = scope.reduce<string | Buffer>(mac, `AWS4${CREDENTIALS.AWS_SECRET_ACCESS_KEY}`);
  return mac(key, ['AWS4-HMAC-SHA256', date, scope.join('/'), hash(canonical)].join('\n')).toString('hex');
}

const KEY = /^[\da-f-]{32,36}$/;
const ORDER = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };

const PERSON = { EMAIL: 'ann@example.com', PASSWORD: 'correct horse battery' };

describe('The calls for integrators', () => {
  it.each(['register.mjs', 'register.sh'])(
    '%s requests a registration, and confirms it with its code',
    async (file) => {
      const requested = await run(file, PERSON);
      expect(requested.request.url).toBe('/public/v1/account/register/request');
      expect(requested.request.headers['idempotency-key']).toMatch(KEY);
      expect(await accepts('requestRegistration', JSON.parse(requested.body))).toBe(true);
      const confirmed = await run(file, { ...PERSON, CODE: '123456' });
      expect(confirmed.request.url).toBe('/public/v1/account/register/confirm');
      expect(await accepts('confirmRegistration', JSON.parse(confirmed.body))).toBe(true);
    },
  );

  it.each(['account.mjs', 'account.sh'])('%s opens an account with a signature that AWS accepts', async (file) => {
    const { request, body, output } = await run(file, CREDENTIALS);
    expect([request.method, request.url]).toEqual(['POST', '/public/v1/users/CLIENT01/tp5/accounts']);
    expect(JSON.parse(body)).toEqual(ORDER);
    expect(request.headers['idempotency-key']).toMatch(KEY);
    const [, headers = '', signature] =
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/execute-api\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w+)$/.exec(
        String(request.headers.authorization),
      ) ?? [];
    expect(signature).toBe(signatureOf({ request, body }, headers));
    expect(output).toContain('500001');
  });

  it.each(['account.mjs', 'account.sh'])('%s sends the token of a role next to its signature', async (file) => {
    const { request } = await run(file, { ...CREDENTIALS, AWS_SESSION_TOKEN: 'a-session' });
    expect(request.headers['x-amz-security-token']).toBe('a-session');
    expect(request.headers.authorization).toContain('x-amz-security-token');
  });

  it.each(['account.mjs', 'account.sh'])('%s opens an account with a token', async (file) => {
    const { request, body, output } = await run(file, { API_TOKEN: 'a.token.here' });
    expect(request.headers).toMatchObject({
      authorization: 'Bearer a.token.here',
      'idempotency-key': expect.stringMatching(KEY),
    });
    expect(JSON.parse(body)).toEqual(ORDER);
    expect(output).toContain('500001');
  });
});
