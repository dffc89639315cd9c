import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { localClient } from '../../../infra/local-client.ts';
import { databaseClient, dynamoTable } from '../../../lib/aws/dynamodb.ts';
import { secretReader } from '../../../lib/aws/secrets.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';

const ALLOWED = 'http://register.example';
const LISTENING = 'tracing:net.server.listen:asyncEnd';
let service: LocalService;
interface Listener {
  port: number;
  secure: boolean;
}
/** The ports of the service that answer over HTTP or HTTPS. */
let listeners: Listener[] = [];

beforeAll(async () => {
  const servers: TcpServer[] = [];
  const note = (message: unknown) => servers.push((message as { server: TcpServer }).server);
  subscribe(LISTENING, note);
  service = await startService({ allowedOrigins: [ALLOWED] });
  unsubscribe(LISTENING, note);
  const ports = new Set(servers.map((server) => (server.address() as AddressInfo).port));
  const tried = [...ports].flatMap((port) => [false, true].map((secure) => ({ port, secure })));
  const answers = await Promise.all(tried.map((one) => ask(one, { host: 'localhost' })));
  listeners = tried.filter((_, index) => answers[index] !== undefined);
});
afterAll(() => service.close());

/** The answer to a request over HTTP or HTTPS; undefined if the port has neither. */
function ask({ port, secure }: Listener, headers: Record<string, string>) {
  const options = { host: '127.0.0.1', port, path: '/', headers, rejectUnauthorized: false, agent: false } as const;
  return new Promise<{ refused: boolean; cors: string[] } | undefined>((resolve) => {
    (secure ? secureRequest : request)({ ...options, timeout: 5_000 }, async (response) => {
      const cors = Object.keys(response.headers).filter((name) => name.startsWith('access-control'));
      const body = await text(response);
      resolve({ refused: response.statusCode === 403 && body === '{"message":"Forbidden"}', cors });
    })
      .on('timeout', function (this: { destroy(): void }) {
        this.destroy();
      })
      .on('error', () => resolve(undefined))
      .end();
  });
}

function answersOf(headers: Record<string, string>) {
  return Promise.all(listeners.map((one) => ask(one, headers)));
}

describe('every listener of the local service', () => {
  it('with HTTP answers this machine', async () => {
    expect(listeners.length).toBeGreaterThanOrEqual(Object.keys(service.standIns).length + 4);
    expect(await answersOf({ host: 'localhost' })).toEqual(listeners.map(() => ({ refused: false, cors: [] })));
  });

  it.each<[string, Record<string, string>]>([
    ...['localhost.evil.example', 'LOCALHOST.:80', '[::2]', '192.168.0.1'].map(
      (host): [string, Record<string, string>] => [host, { host }],
    ),
    ['a page of another origin', { host: 'localhost', origin: 'http://localhost.evil.example' }],
    ['a page without an origin', { host: 'localhost', origin: 'null' }],
    // `gateway.test.ts` shows that it may call the routes for pages.
    ['a page that may register people', { host: 'localhost', origin: ALLOWED }],
  ])('refuses %s', async (_, headers) => {
    expect(await answersOf(headers)).toEqual(listeners.map(() => ({ refused: true, cors: [] })));
  });
});

describe('the embedded services', () => {
  it('refuse calls that are not signed with the key of this start', async () => {
    const { environment } = service;
    expect(environment.AWS_ACCESS_KEY_ID).toMatch(/^LOCAL[0-9A-F]{20}$/);
    const stranger = { ...environment, AWS_ACCESS_KEY_ID: 'LOCAL', AWS_SECRET_ACCESS_KEY: 'local' };
    for (const [who, answer] of [
      [environment, undefined],
      [stranger, 'UnrecognizedClientException'],
    ] as const) {
      const client = databaseClient(localClient(who, 'AWS_ENDPOINT_URL_DYNAMODB'));
      const read = dynamoTable(client, 'crm').get({ pk: 'nothing' }, NEVER_ABORTED);
      if (answer === undefined) expect(await read).toBeUndefined();
      else await expect(read).rejects.toThrow(answer);
      client.destroy();
    }
    const read = secretReader(localClient(stranger, 'AWS_ENDPOINT_URL_SECRETS_MANAGER'));
    await expect(read('broker-api-keys/local/pepper', NEVER_ABORTED)).rejects.toThrow();
  });
});
