import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { EarlyConnectionAgent } from '../../../lib/aws/early-connection.ts';
import { type IssuedCertificate, issuedCertificate } from '../../support/private-authority.ts';
import { clientSettings, listenForTest } from '../../support/servers.ts';

let certificate: IssuedCertificate;
beforeAll(async () => {
  certificate = await issuedCertificate();
});

let server: Server;
let port: number;
let connections: TLSSocket[];
let requests: IncomingMessage[];

beforeEach(async () => {
  [connections, requests] = [[], []];
  server = createServer(certificate, (request, response) => {
    requests.push(request);
    response.end('{"FailedEntryCount":0,"Entries":[]}');
  });
  server.on('secureConnection', (socket) => connections.push(socket));
  port = await listenForTest(server);
});

/** A client of the server, and what prepares its next connection. */
function client({ protocol = 'https', authority = certificate.authority, ahead = 0 } = {}) {
  const httpsAgent = new EarlyConnectionAgent({ keepAlive: true, ca: authority }, ahead);
  onTestFinished(() => httpsAgent.destroy());
  const settings = { ...clientSettings(`${protocol}://localhost:${port}`), maxAttempts: 1 };
  const events = new EventBridgeClient({ ...settings, requestHandler: { httpsAgent } });
  const send = (command: PutEventsCommand) => events.send(command);
  return {
    prepare: () => httpsAgent.prepare(new PutEventsCommand({ Entries: [] }), send),
    put: () => send(new PutEventsCommand({ Entries: [{ Source: 'test', DetailType: 'Test', Detail: '{}' }] })),
  };
}

describe('A connection that is made early', () => {
  it('is open before the request, which uses it', async () => {
    const { prepare, put } = client();
    const connected = once(server, 'secureConnection');
    await prepare();
    await connected;
    expect(requests).toEqual([]);
    expect(await put()).toMatchObject({ FailedEntryCount: 0 });
    expect(requests.map(({ socket }) => socket)).toEqual(connections);
  });

  it('does not delay a request that comes before it is open: the request uses it too', async () => {
    const { prepare, put } = client();
    await prepare();
    await put();
    expect(requests.map(({ socket }) => socket)).toEqual(connections);
  });

  it('that has ended in the meantime is replaced', async () => {
    const { prepare, put } = client();
    const connected = once(server, 'secureConnection') as Promise<[TLSSocket]>;
    await prepare();
    const [early] = await connected;
    // Ended by both sides, so the client knows of it.
    early.end();
    await once(early, 'close');
    await put();
    expect(connections).toHaveLength(2);
    expect(requests.map(({ socket }) => socket)).toEqual(connections.slice(1));
  });

  it('and was not used is replaced by the next connection', async () => {
    const { prepare, put } = client();
    const first = once(server, 'secureConnection') as Promise<[TLSSocket]>;
    await prepare();
    const [unused] = await first;
    const ended = once(unused, 'close');
    const second = once(server, 'secureConnection');
    await prepare();
    await Promise.all([ended, second]);
    await put();
    expect(requests.map(({ socket }) => socket)).toEqual(connections.slice(1));
  });

  it('that ends during a request fails the request, and the next request connects again', async () => {
    server.prependOnceListener('request', ({ socket }) => socket.destroy());
    const { prepare, put } = client();
    await prepare();
    await expect(put()).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(requests.map(({ socket }) => socket)).toEqual(connections);
    expect(await put()).toMatchObject({ FailedEntryCount: 0 });
    expect(connections).toHaveLength(2);
  });

  it('to an untrusted server fails with the request', async () => {
    const { prepare, put } = client({ authority: (await issuedCertificate()).authority });
    await prepare();
    await expect(put()).rejects.toMatchObject({ code: expect.stringMatching(/CERT|SIGNATURE/) });
    expect(requests).toEqual([]);
  });

  it('is not opened without TLS', async () => {
    const { prepare } = client({ protocol: 'http' });
    const connected = once(server, 'connection').then(() => expect.fail('It has connected.'));
    await prepare();
    await Promise.race([connected, new Promise((resolve) => setImmediate(resolve))]);
    expect(connections).toEqual([]);
  });
});

describe('Connections that are opened ahead', () => {
  it('are open for the next parallel request, the first with the first', async () => {
    const both = new Promise<void>((resolve) => {
      server.on('secureConnection', () => connections.length === 2 && resolve());
    });
    const { put } = client({ ahead: 1 });
    await put();
    await both;
    await Promise.all([put(), put()]);
    expect(new Set(requests.map(({ socket }) => socket))).toEqual(new Set(connections));
    expect(connections).toHaveLength(2);
  });

  it('have the given number: the third is open with the second', async () => {
    const { put } = client({ ahead: 2 });
    await put();
    await expect.poll(() => connections.length).toBe(2);
    await Promise.all([put(), put()]);
    await expect.poll(() => connections.length).toBe(3);
    await Promise.all([put(), put(), put()]);
    expect(new Set(requests.map(({ socket }) => socket))).toEqual(new Set(connections));
    expect(connections).toHaveLength(3);
  });

  it('are not opened without that option', async () => {
    const { put } = client();
    await put();
    await put();
    expect(connections).toHaveLength(1);
  });
});
