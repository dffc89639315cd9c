import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, request, type Server } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { localClient } from '../../../infra/local-client.ts';
import { databaseClient, dynamoTable } from '../../../lib/aws/dynamodb.ts';
import { secretReader } from '../../../lib/aws/secrets.ts';
import { CHROMIUM, inChromium, launchChromium } from '../../support/chromium.ts';

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

/** The answer to a request over HTTP or HTTPS; undefined if the port speaks neither. */
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

  it.each([
    ['another name', { host: 'evil.example' }],
    ['the address of a network', { host: '192.168.0.1' }],
    ['a page of another origin', { host: 'localhost', origin: 'http://evil.example' }],
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

/** The page's script: it tries to read and to change each address, and returns the readable ones. */
const ATTACK = `async (urls) => {
  const read = [];
  const tries = urls.flatMap((url) => [
    [url, {}],
    [url, { method: 'DELETE' }],
    [url, { method: 'PUT', body: '{"kind":"down","times":5}' }],
    [url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }],
    [url, { method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body: '{"login":1,"password":"x"}' }],
    [url, { mode: 'no-cors' }],
  ]);
  for (const [url, options] of tries) {
    try {
      const answer = await fetch(url, options);
      const text = await answer.text();
      if (answer.type !== 'opaque' && answer.status !== 403) read.push(url + ': ' + text.slice(0, 40));
    } catch {}
  }
  return read;
}`;

describe.skipIf(CHROMIUM === undefined)(
  inChromium('a web page of another origin, in a browser of this machine'),
  () => {
    let browser: Browser;
    let page: Page;
    let unguarded: Server;
    let heard = 0;
    beforeAll(async () => {
      // It answers everyone, which shows that the attack would succeed.
      unguarded = createServer((_request, response) => {
        heard += 1;
        response.end('a secret');
      });
      await new Promise<void>((resolve) => unguarded.listen(0, '127.0.0.1', resolve));
      // Without the browser's own protection of private networks, only ours is tested.
      const features =
        'BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights,LocalNetworkAccessChecks';
      const rules = '--host-resolver-rules=MAP evil.example 127.0.0.1';
      browser = await launchChromium(`--disable-features=${features}`, rules);
      page = await browser.newPage();
    });
    afterAll(async () => {
      await browser?.close();
      unguarded.close();
    });

    const portOf = (server: Server) => (server.address() as AddressInfo).port;
    const PATHS = [
      '/',
      '/_local/outbox',
      '/_local/environment',
      '/_local/openapi.json',
      '/_local/faults',
      '/_local/faults/ses',
      '/_local/platforms/tp5-live-1/login',
      '/public/v1/account/register/request',
      '/public/v1/users/CLIENT01/tp5/accounts',
    ];

    async function state() {
      const { outbox, database, standIns } = service;
      const faults = ['ses', 'dynamodb', 'tp5-live-1'].map((target) => service.faults(target).list());
      const requests = Object.values(standIns).map((one) => one.requests);
      return { sent: outbox.list().length, calls: database.calls.length, faults, requests };
    }

    /** The addresses that the page could read. */
    function attack(urls: string[]): Promise<string[]> {
      return page.evaluate<string[]>(`(${ATTACK})(${JSON.stringify(urls)})`);
    }

    function embeddedPorts(): number[] {
      return Object.entries(service.environment).flatMap(([name, url]) =>
        name.startsWith('AWS_ENDPOINT_URL_') ? [Number(new URL(url).port)] : [],
      );
    }

    /** Opens a page of this origin, without its server. */
    async function open(origin: string): Promise<void> {
      await page.route(`${origin}/page`, (route) => route.fulfill({ contentType: 'text/html', body: 'A page' }));
      await page.goto(`${origin}/page`);
    }

    it('reads and changes nothing by the name localhost', async () => {
      service.outbox.record({ kind: 'sms', to: '+447400123456', text: '123456' });
      await open('http://shop.example');
      const before = await state();
      const paths = PATHS.map((path) => service.url + path);
      expect(await attack([...paths, ...embeddedPorts().map((port) => `http://localhost:${port}/`)])).toEqual([]);
      expect(await state()).toEqual(before);
      await page.evaluate(`fetch('http://localhost:${portOf(unguarded)}', { method: 'POST', mode: 'no-cors' })`);
      expect(heard).toBeGreaterThan(0);
    });

    it('reads and changes nothing when its own name resolves to this machine', async () => {
      for (const port of [service.port, ...embeddedPorts()]) {
        const own = `http://evil.example:${port}`;
        await open(own);
        const before = await state();
        expect(await attack((port === service.port ? PATHS : ['/']).map((path) => own + path))).toEqual([]);
        expect(await state()).toEqual(before);
      }
      const own = `http://evil.example:${portOf(unguarded)}`;
      await open(own);
      expect(await attack([`${own}/`])).toContain(`${own}/: a secret`);
    });
  },
);
