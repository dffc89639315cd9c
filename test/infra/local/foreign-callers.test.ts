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

const ALLOWED = 'http://register.example';
const LISTENING = 'tracing:net.server.listen:asyncEnd';
let service: LocalService;
/** The ports that the service listens on. */
const ports = new Set<number>();

beforeAll(async () => {
  const servers: TcpServer[] = [];
  const note = (message: unknown) => servers.push((message as { server: TcpServer }).server);
  subscribe(LISTENING, note);
  service = await startService({ allowedOrigins: [ALLOWED] });
  unsubscribe(LISTENING, note);
  for (const server of servers) ports.add((server.address() as AddressInfo).port);
});
afterAll(() => service.close());

/** The answer to a request over HTTP or HTTPS; undefined if the port has neither. */
function ask(port: number, headers: Record<string, string>, secure: boolean) {
  const options = { host: '127.0.0.1', port, path: '/', headers, rejectUnauthorized: false, agent: false } as const;
  return new Promise<{ refused: boolean; cors: string[] } | undefined>((resolve) => {
    (secure ? secureRequest : request)({ ...options, timeout: 500 }, async (response) => {
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

async function answersOf(headers: Record<string, string>) {
  const asked = [...ports].flatMap((port) => [false, true].map((secure) => ask(port, headers, secure)));
  return (await Promise.all(asked)).filter((answer) => answer !== undefined);
}

describe('every listener of the local service', () => {
  it('that speaks HTTP answers this machine', async () => {
    const answers = await answersOf({ host: 'localhost' });
    expect(answers.length).toBeGreaterThanOrEqual(Object.keys(service.standIns).length + 4);
    expect(answers).toEqual(answers.map(() => ({ refused: false, cors: [] })));
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
    const answers = await answersOf(headers);
    expect(answers).toEqual(answers.map(() => ({ refused: true, cors: [] })));
  });
});

describe('the embedded services', () => {
  it('refuse calls that are not signed with the key of this start', async () => {
    const { environment } = service;
    expect(environment.AWS_ACCESS_KEY_ID).toMatch(/^LOCAL[0-9A-F]{20}$/);
    const stranger = { ...environment, AWS_ACCESS_KEY_ID: 'LOCAL', AWS_SECRET_ACCESS_KEY: 'local' };
    const patience = AbortSignal.timeout(5_000);
    for (const [who, answer] of [
      [environment, undefined],
      [stranger, 'UnrecognizedClientException'],
    ] as const) {
      const client = databaseClient(localClient(who, 'AWS_ENDPOINT_URL_DYNAMODB'));
      const read = dynamoTable(client, 'crm').get({ pk: 'nothing' }, patience);
      if (answer === undefined) expect(await read).toBeUndefined();
      else await expect(read).rejects.toThrow(answer);
      client.destroy();
    }
    const read = secretReader(localClient(stranger, 'AWS_ENDPOINT_URL_SECRETS_MANAGER'));
    await expect(read('local/pepper', patience)).rejects.toThrow();
  });
});
