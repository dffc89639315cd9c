import { X509Certificate } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { certificate } from '../../../../infra/local/platforms/certificate.ts';
import { issuedCertificate } from '../../../support/private-authority.ts';
import {
  failure,
  localCertificate,
  noSignal,
  platformOn,
  scriptedServer,
  testServer,
} from '../../../support/web-api.ts';

const DONE = '{"retcode":"0 Done","login":"1","answer":[]}';

describe('trust in the server', () => {
  it('a self-signed certificate that nothing pins is refused', async () => {
    const server = await testServer();
    const failed = await failure(platformOn({ port: server.port }).check(noSignal));
    expect(failed).toMatchObject({
      kind: 'platform_refused',
      options: { reason: 'tls_depth_zero_self_signed_cert' },
    });
    expect(server.sessions).toBe(0);
  });

  it('with its certificate as authority it is trusted', async () => {
    const server = await testServer();
    await platformOn(server).check(noSignal);
    await platformOn(server, {}, { host: 'localhost' }).check(noSignal);
    expect(server.sessions).toBe(2);
  });

  describe('a certificate that a private authority issued', () => {
    async function issuedServer(host?: string, address?: string) {
      const { cert, key, authority } = await issuedCertificate(host, address);
      const fingerprint = new X509Certificate(cert).fingerprint256;
      const alone = await testServer({ certificate: { cert, key, fingerprint } });
      const withChain = await testServer({ certificate: { cert: `${cert}\n${authority}`, key, fingerprint } });
      return { cert, authority, fingerprint, ports: [alone.port, withChain.port] };
    }

    it('is trusted by that authority, and directly', async () => {
      const { cert, authority, fingerprint, ports } = await issuedServer();
      for (const port of ports) {
        for (const ca of [authority, cert, `${authority}\n${cert}`]) {
          await platformOn({ port, ca }).check(noSignal);
          await platformOn({ port, ca }, {}, { host: 'localhost', fingerprint }).check(noSignal);
        }
      }
    });

    it('does not allow another host name when it is trusted directly', async () => {
      const { cert, ports } = await issuedServer('mt5.example.com', '192.0.2.1');
      for (const port of ports) {
        for (const host of ['127.0.0.1', 'localhost']) {
          expect(await failure(platformOn({ port, ca: cert }, {}, { host }).check(noSignal))).toMatchObject({
            kind: 'platform_refused',
            options: { reason: 'tls_err_tls_cert_altname_invalid' },
          });
        }
      }
    });

    it('is refused if another one of the same host is pinned', async () => {
      const { ports } = await issuedServer();
      const { cert: ca } = await issuedCertificate();
      for (const port of ports) {
        expect(await failure(platformOn({ port, ca }).check(noSignal))).toMatchObject({ kind: 'platform_refused' });
      }
    });

    it('is refused without a pin', async () => {
      for (const port of (await issuedServer()).ports) {
        expect(await failure(platformOn({ port }).check(noSignal))).toMatchObject({ kind: 'platform_refused' });
      }
    });
  });

  it('another authority is refused', async () => {
    const { port } = await testServer();
    const { cert } = await certificate();
    expect(await failure(platformOn({ port, ca: cert }).check(noSignal))).toMatchObject({ kind: 'platform_refused' });
  });

  it('an authority does not excuse another host name', async () => {
    const server = await testServer({ certificate: await certificate(['mt5.example.com']) });
    expect(await failure(platformOn(server).check(noSignal))).toMatchObject({
      kind: 'platform_refused',
      options: { reason: 'tls_err_tls_cert_altname_invalid' },
    });
  });

  it('a fingerprint trusts that certificate, of any issuer and name', async () => {
    const server = await testServer({ certificate: await certificate(['mt5.example.com']) });
    const { port, fingerprint } = server;
    await platformOn({ port }, {}, { fingerprint }).check(noSignal);
    await platformOn({ port }, {}, { fingerprint: fingerprint.replaceAll(':', '').toLowerCase() }).check(noSignal);
    expect(server.sessions).toBe(2);
  });

  it('another fingerprint is refused before anything is sent', async () => {
    const server = await scriptedServer((_request, response) => response.end(DONE));
    const { fingerprint } = await certificate();
    expect(await failure(platformOn({ port: server.port }, {}, { fingerprint }).check(noSignal))).toMatchObject({
      kind: 'platform_refused',
      options: { reason: 'tls_fingerprint_mismatch' },
    });
    expect(server.requests).toEqual([]);
  });

  it('with an authority and a fingerprint, both must hold', async () => {
    const server = await testServer();
    const { fingerprint } = server;
    await platformOn(server, {}, { fingerprint }).check(noSignal);
    const { cert, fingerprint: other } = await certificate();
    expect(await failure(platformOn(server, {}, { fingerprint: other }).check(noSignal))).toMatchObject({
      kind: 'platform_refused',
    });
    expect(await failure(platformOn({ ...server, ca: cert }, {}, { fingerprint }).check(noSignal))).toMatchObject({
      kind: 'platform_refused',
    });
  });

  it('an authority that is not PEM is refused', async () => {
    const { port } = await testServer();
    expect(await failure(platformOn({ port, ca: 'not a certificate' }).check(noSignal))).toMatchObject({
      kind: 'platform_refused',
    });
  });

  it('the name of the host is sent for the choice of the certificate (SNI)', async () => {
    const { key, cert } = await localCertificate();
    const names: unknown[] = [];
    const server = createTlsServer({ key, cert }, (socket) => {
      names.push('servername' in socket ? socket.servername : undefined);
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    await failure(platformOn({ port, ca: cert }, {}, { host: 'localhost' }).check(noSignal));
    expect(names).toEqual(['localhost']);
  });
});

describe('a server that cannot be reached', () => {
  async function tcpServer(onConnection: (socket: Socket) => void): Promise<number> {
    const server = createServer(onConnection);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return (server.address() as { port: number }).port;
  }

  it('refuses the connection: unavailable, and nothing was sent', async () => {
    const server = await testServer();
    await server.close();
    expect(await failure(platformOn(server).check(noSignal))).toMatchObject({
      kind: 'platform_unavailable',
      options: { reason: 'connect_econnrefused' },
    });
  });

  it('never finishes the handshake: unavailable within the limit', async () => {
    const port = await tcpServer((socket) => onTestFinished(() => void socket.destroy()));
    expect(await failure(platformOn({ port }, { connectMs: 50 }).check(noSignal))).toMatchObject({
      kind: 'platform_unavailable',
      options: { reason: 'connect_timeout' },
    });
  });

  it('closes at once, as for an address that is not listed: unavailable', async () => {
    const port = await tcpServer((socket) => socket.end());
    expect(await failure(platformOn({ port }).check(noSignal))).toMatchObject({ kind: 'platform_unavailable' });
  });

  it('speaks no TLS: refused', async () => {
    const port = await tcpServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect(await failure(platformOn({ port }).check(noSignal))).toMatchObject({ kind: 'platform_refused' });
  });

  it('ends the handshake when the caller has no more time', async () => {
    const port = await tcpServer((socket) => onTestFinished(() => void socket.destroy()));
    expect(await failure(platformOn({ port }).check(AbortSignal.timeout(50)))).toMatchObject({
      kind: 'platform_unavailable',
    });
  });
});
