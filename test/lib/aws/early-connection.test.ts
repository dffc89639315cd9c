import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { EarlyConnection } from '../../../lib/aws/early-connection.ts';
import { clientSettings } from '../../support/database.ts';
import { type IssuedCertificate, issuedCertificate } from '../../support/private-authority.ts';

let certificate: IssuedCertificate;
beforeAll(async () => {
  certificate = await issuedCertificate();
});

let server: Server;
let connections: TLSSocket[];
let requests: IncomingMessage[];

beforeEach(async () => {
  [connections, requests] = [[], []];
  server = createServer(certificate, (request, response) => {
    requests.push(request);
    response.end('{"FailedEntryCount":0,"Entries":[]}');
  });
  server.on('secureConnection', (socket) => connections.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
});

/** A client of the server, and what prepares its next connection. */
function client({ protocol = 'https', authority = certificate.authority, ahead = 0 } = {}) {
  const httpsAgent = new EarlyConnection({ keepAlive: true, ca: authority }, ahead);
  onTestFinished(() => httpsAgent.destroy());
  const { port } = server.address() as AddressInfo;
  const settings = { ...clientSettings(`${protocol}://localhost:${port}`), maxAttempts: 1 };
  const events = new EventBridgeClient({ ...settings, requestHandler: { httpsAgent } });
  const send = (command: PutEventsCommand) => events.send(command);
  return {
    prepare: () => httpsAgent.prepare(new PutEventsCommand({ Entries: [] }), send),
    put: () => send(new PutEventsCommand({ Entries: [{ Source: 'test', DetailType: 'Test', Detail: '{}' }] })),
  };
}

describe('A connection that is made early', () => {
  it('stands before the request, and is the one that it takes', async () => {
    const { prepare, put } = client();
    const connected = once(server, 'secureConnection');
    await prepare();
    await connected;
    expect(requests).toEqual([]);
    expect(await put()).toMatchObject({ FailedEntryCount: 0 });
    expect(requests.map(({ socket }) => socket)).toEqual(connections);
  });

  it('is not waited for: what comes before it stands takes it too', async () => {
    const { prepare, put } = client();
    await prepare();
    await put();
    expect(requests.map(({ socket }) => socket)).toEqual(connections);
  });

  it('that has ended meanwhile is replaced', async () => {
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

  it('and was not used is replaced by the next', async () => {
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

  it('that ends when the request comes fails it as any other does, and the next one connects anew', async () => {
    server.prependOnceListener('request', ({ socket }) => socket.destroy());
    const { prepare, put } = client();
    await prepare();
    await expect(put()).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(requests.map(({ socket }) => socket)).toEqual(connections);
    expect(await put()).toMatchObject({ FailedEntryCount: 0 });
    expect(connections).toHaveLength(2);
  });

  it('to a server that cannot be trusted is told by the request', async () => {
    const { prepare, put } = client({ authority: (await issuedCertificate()).authority });
    await prepare();
    await expect(put()).rejects.toMatchObject({ code: expect.stringMatching(/CERT|SIGNATURE/) });
    expect(requests).toEqual([]);
  });

  it('is none where there is no TLS to be made', async () => {
    const { prepare } = client({ protocol: 'http' });
    const connected = once(server, 'connection').then(() => expect.fail('It has connected.'));
    await prepare();
    await Promise.race([connected, new Promise((resolve) => setImmediate(resolve))]);
    expect(connections).toEqual([]);
  });
});

describe('Connections that are made ahead', () => {
  it('stand for the next request that goes beside one, the first with the first', async () => {
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

  it('are as many as were asked for: the third stands with the second', async () => {
    const { put } = client({ ahead: 2 });
    await put();
    await expect.poll(() => connections.length).toBe(2);
    await Promise.all([put(), put()]);
    await expect.poll(() => connections.length).toBe(3);
    await Promise.all([put(), put(), put()]);
    expect(new Set(requests.map(({ socket }) => socket))).toEqual(new Set(connections));
    expect(connections).toHaveLength(3);
  });

  it('are none otherwise', async () => {
    const { put } = client();
    await put();
    await put();
    expect(connections).toHaveLength(1);
  });
});
