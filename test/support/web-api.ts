import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import {
  type Certificate,
  selfSignedCertificate,
  startWebApiServer,
  type WebApiServer,
  type WebApiServerOptions,
} from '../../infra/local/platforms/web-api-server.ts';
import type { AccountOrder } from '../../lib/platform/platform.ts';
import type { ClientTimeouts } from '../../lib/platform/tp5/client.ts';
import { passwordHash, randomAnswer } from '../../lib/platform/tp5/login.ts';
import { WebApiPlatform } from '../../lib/platform/tp5/web-api.ts';
import type { WebApiConnection } from '../../lib/records/crm-records.ts';
import { ANY_TIME, NEVER_ABORTED } from './outcomes.ts';
import { listenForTest } from './servers.ts';

export const MANAGER = { login: 1000, password: 'Password1' };

/** A certificate for localhost, made once: it takes longer than most tests. */
let shared: Promise<Certificate> | undefined;
export function localCertificate(): Promise<Certificate> {
  shared ??= selfSignedCertificate();
  return shared;
}

/** A simulated tp5 server that ends with the test. */
export async function testServer(options: Partial<WebApiServerOptions> = {}): Promise<WebApiServer> {
  const server = await startWebApiServer({
    manager: MANAGER,
    groups: [
      { name: 'real\\standard' },
      { name: 'real\\strict', minPasswordLength: 14 },
      { name: 'real\\closed', permitted: false },
    ],
    firstLogin: 5_001,
    certificate: await localCertificate(),
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

export interface ScriptedRequest {
  path: string;
  body: string;
  headers: IncomingMessage['headers'];
}

const START = '{"retcode":"0 Done","srv_rand":"73007dc7184747ce0f7c98516ef1c851"}';

/**
 * A TLS server that authenticates as it should, and answers every other request as the test says.
 * `impostor`: it accepts any proof and has none of its own. `start`: the exact answer to `auth/start`.
 */
export async function scriptedServer(
  answer: (request: ScriptedRequest, response: ServerResponse) => void,
  { impostor = false, start = START } = {},
) {
  const { key, cert } = await localCertificate();
  const hash = passwordHash(MANAGER.password);
  const requests: ScriptedRequest[] = [];
  let silent = false;
  const server = createServer({ key, cert, keepAliveTimeout: 0 }, async (request, response) => {
    const scripted = { path: request.url ?? '', body: await text(request), headers: request.headers };
    const query = new URL(scripted.path, 'https://localhost').searchParams;
    if (silent && scripted.path.startsWith('/api/auth/')) return;
    if (scripted.path.startsWith('/api/auth/start')) {
      response.end(start);
    } else if (scripted.path.startsWith('/api/auth/answer')) {
      const proof = randomAnswer(hash, query.get(impostor ? 'srv_rand_answer' : 'cli_rand') ?? '');
      response.end(JSON.stringify({ retcode: '0 Done', cli_rand_answer: proof }));
    } else {
      requests.push(scripted);
      answer(scripted, response);
    }
  });
  return {
    port: await listenForTest(server),
    ca: cert,
    /** The requests, without those of authentication. */
    requests,
    /** Leaves authentication without an answer from now on. */
    stopAuthentication() {
      silent = true;
    },
  };
}

export function connectionTo(server: { port: number; ca?: string }, more: Partial<WebApiConnection> = {}) {
  const connection: WebApiConnection = {
    id: 'tp5-test',
    platform: 'tp5',
    protocol: 'web-api',
    host: '127.0.0.1',
    port: server.port,
    demo: false,
    logins: { from: 500_000, to: 599_999 },
    secret: 'platform/tp5-test',
    ...(server.ca === undefined ? {} : { ca: server.ca }),
    ...more,
  };
  return connection;
}

/** The adapter on a server, closed with the test. */
export function platformOn(
  server: { port: number; ca?: string },
  options: Partial<ClientTimeouts> = {},
  more: Partial<WebApiConnection> = {},
): WebApiPlatform {
  const platform = new WebApiPlatform(connectionTo(server, more), MANAGER, options);
  onTestFinished(() => platform.close());
  return platform;
}

let orders = 0;
export function anOrder(more: Partial<AccountOrder> = {}): AccountOrder {
  orders += 1;
  const operationId = `6f1d8a52-5c1c-8f0e-9d3e-${String(orders).padStart(12, '0')}`;
  return {
    operationId,
    group: 'real\\standard',
    leverage: 100,
    masterPassword: 'Ma5ter#word',
    investorPassword: 'Inve5tor#wd',
    name: 'Ann Lee',
    email: 'ann@example.com',
    readonly: false,
    ...more,
  };
}

/** Opens an account on a server. The order differs from the usual one by these members. */
export function openWebApiAccount(
  server: { port: number; ca?: string },
  order: Partial<AccountOrder> = {},
  limits: Partial<ClientTimeouts> = {},
): Promise<{ login: number }> {
  return platformOn(server, limits).open(anOrder(order), ANY_TIME, NEVER_ABORTED);
}
