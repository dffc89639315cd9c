import { spawn } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptsBody } from '../../support/openapi.ts';

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
    const account = { login: 500_001, master_password: 'secret-a', investor_password: 'secret-b' };
    const headers = { 'content-type': 'application/json', 'registration-id': REGISTRATION_ID };
    response.writeHead(200, headers).end(JSON.stringify(account));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.close();
});

/** The path without the packages of this project. */
const PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);

/** Runs an example as a person would, and returns the request that arrived. */
async function run(file: string, environment: Record<string, string>): Promise<Received & { output: string }> {
  const API_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const child = spawn(file.endsWith('.py') ? 'python3' : process.execPath, [file], {
    cwd: new URL('../../../infra/openapi', import.meta.url),
    env: { PATH, API_URL, ...environment },
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [one] = received.splice(0);
  if (one === undefined) throw new Error(`${file} sent nothing: ${errors}`);
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

const REGISTRATION_ID = '5f0c1f6e-8d3a-8b52-9a57-2f3f8f6f3f10';
const PERSON = { EMAIL: 'ann@example.com', PASSWORD: 'correct horse battery' };
const CHOICE = { USER_ID: 'CLIENT01', CONNECTION_ID: 'tp5-live-1', GROUP: 'real\\standard' };
const REGISTER = ['typescript/register.ts', 'python/register.py'];
const ACCOUNT = ['typescript/account.ts', 'python/account.py'];

describe('The examples for integrators', () => {
  it.each(REGISTER)('%s requests a registration, and confirms it with its code', async (file) => {
    const requested = await run(file, PERSON);
    expect(requested.request.url).toBe('/public/v1/account/register/request');
    expect(requested.request.headers['idempotency-key']).toMatch(KEY);
    expect(await acceptsBody('requestRegistration', JSON.parse(requested.body))).toBe(true);
    expect(requested.output.trim()).toBe(REGISTRATION_ID);
    const confirmed = await run(file, { REGISTRATION_ID, CODE: '123456' });
    expect(confirmed.request.url).toBe('/public/v1/account/register/confirm');
    expect(await acceptsBody('confirmRegistration', JSON.parse(confirmed.body))).toBe(true);
  });

  it.each(ACCOUNT)('%s opens an account with a signature that AWS accepts', async (file) => {
    const { request, body, output } = await run(file, { ...CHOICE, ...CREDENTIALS });
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

  it.each(ACCOUNT)('%s opens the chosen account with a token, and prints its passwords once', async (file) => {
    const chosen = {
      USER_ID: 'OTHER/01',
      CONNECTION_ID: 'tp4-gw-1',
      GROUP: 'demoforex',
      LEVERAGE: '50',
      PLATFORM: 'tp4',
    };
    const { request, body, output } = await run(file, { ...chosen, ACCOUNT_TYPE_ID: 'ATDEMO04', API_TOKEN: 'a.token' });
    expect(request.url).toBe('/public/v1/users/OTHER%2F01/tp4/accounts');
    expect(request.headers).toMatchObject({
      authorization: 'Bearer a.token',
      'idempotency-key': expect.stringMatching(KEY),
    });
    const order = { connection_id: 'tp4-gw-1', group: 'demoforex', leverage: 50, account_type_id: 'ATDEMO04' };
    expect(JSON.parse(body)).toEqual(order);
    expect(output).toMatch(/^Opening a real account/);
    expect(output.match(/secret-[ab]/g)).toEqual(['secret-a', 'secret-b']);
  });

  it.each(ACCOUNT)('%s needs no token for the local service, and opens nothing that was not chosen', async (file) => {
    const { request } = await run(file, CHOICE);
    expect(request.headers).not.toHaveProperty('authorization');
    for (const name of Object.keys(CHOICE))
      await expect(run(file, { ...CHOICE, [name]: '' })).rejects.toThrow('are needed');
  });
});

it('The document passes the linter', async () => {
  const file = (name: string) => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
  const words = [
    'lint',
    file('infra/openapi.json'),
    '--config',
    file('infra/openapi/redocly.yaml'),
    '--format',
    'json',
  ];
  const { stdout } = spawn(process.execPath, [file('node_modules/@redocly/cli/bin/cli.js'), ...words], {
    env: { ...process.env, REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', REDOCLY_TELEMETRY: 'off' },
  });
  expect(JSON.parse(await text(stdout))).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] });
});
