import { X509Certificate } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Certificate, selfSignedCertificate } from '../../../../infra/local/platforms/web-api-server.ts';
import { NEVER_ABORTED, outcomeOf } from '../../../support/outcomes.ts';
import { issuedCertificate } from '../../../support/private-authority.ts';
import { listenForTest } from '../../../support/servers.ts';
import { localCertificate, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

const DONE = '{"retcode":"0 Done","login":"1","answer":[]}';
const ELSEWHERE = 'mt5.example.com';

interface Trust {
  ca?: string;
  fingerprint?: string;
  host?: string;
}
interface Issued extends Certificate {
  authority: string;
}
/** Of this machine and of another host: self-signed, and issued by an authority. */
type Certificates = Record<'own' | 'foreign', Certificate> & Record<'issued' | 'chained' | 'issuedElsewhere', Issued>;

const connecting = (port: number, { ca, ...more }: Trust = {}, limits = {}, signal = NEVER_ABORTED) =>
  outcomeOf(platformOn({ port, ...(ca !== undefined && { ca }) }, limits, more).check(signal));

describe('trust in the server', () => {
  let all: Certificates;
  beforeAll(async () => {
    const issue = async (host?: string, address?: string) => {
      const issued = await issuedCertificate(host, address);
      return { ...issued, fingerprint: new X509Certificate(issued.cert).fingerprint256 };
    };
    const issued = await issue();
    const chained = { ...issued, cert: `${issued.cert}\n${issued.authority}` };
    const issuedElsewhere = await issue(ELSEWHERE, '192.0.2.1');
    all = {
      own: await localCertificate(),
      foreign: await selfSignedCertificate([ELSEWHERE]),
      issued,
      chained,
      issuedElsewhere,
    };
  });

  const UNKNOWN = 'platform_refused tls_depth_zero_self_signed_cert';
  const OTHER_NAME = 'platform_refused tls_err_tls_cert_altname_invalid';
  const OTHER_FINGERPRINT = 'platform_refused tls_fingerprint_mismatch';
  const REFUSED = expect.stringMatching(/^platform_refused tls_/);
  const lower = (fingerprint: string) => fingerprint.replaceAll(':', '').toLowerCase();

  it.each<[string, keyof Certificates, (certificates: Certificates) => Trust, unknown]>([
    ['signed by itself that nothing pins', 'own', () => ({}), UNKNOWN],
    ['pinned as authority', 'own', ({ own }) => ({ ca: own.cert }), undefined],
    ['pinned as authority, by its name', 'own', ({ own }) => ({ ca: own.cert, host: 'localhost' }), undefined],
    ['of another authority', 'own', ({ foreign }) => ({ ca: foreign.cert }), REFUSED],
    ['pinned, of another host name', 'foreign', ({ foreign }) => ({ ca: foreign.cert }), OTHER_NAME],
    [
      'of a fingerprint, of any issuer and name',
      'foreign',
      ({ foreign }) => ({ fingerprint: foreign.fingerprint }),
      undefined,
    ],
    [
      'of a fingerprint in other letters',
      'foreign',
      ({ foreign }) => ({ fingerprint: lower(foreign.fingerprint) }),
      undefined,
    ],
    ['of both', 'own', ({ own }) => ({ ca: own.cert, fingerprint: own.fingerprint }), undefined],
    [
      'of the authority, with another fingerprint',
      'own',
      ({ own, foreign }) => ({ ca: own.cert, fingerprint: foreign.fingerprint }),
      OTHER_FINGERPRINT,
    ],
    [
      'of another authority, with the fingerprint',
      'own',
      ({ own, foreign }) => ({ ca: foreign.cert, fingerprint: own.fingerprint }),
      REFUSED,
    ],
    ['with an authority that is not PEM', 'own', () => ({ ca: 'not a certificate' }), REFUSED],
    ...(['issued', 'chained'] as const).flatMap(
      (name): [string, keyof Certificates, (certificates: Certificates) => Trust, unknown][] => [
        [`${name}, pinned by its authority`, name, ({ issued }) => ({ ca: issued.authority }), undefined],
        [`${name}, pinned directly`, name, ({ issued }) => ({ ca: issued.cert }), undefined],
        [
          `${name}, pinned by both and its fingerprint`,
          name,
          ({ issued }) => ({
            ca: `${issued.authority}\n${issued.cert}`,
            fingerprint: issued.fingerprint,
            host: 'localhost',
          }),
          undefined,
        ],
        [`${name}, next to another of its host`, name, ({ own }) => ({ ca: own.cert }), REFUSED],
        [`${name}, without a pin`, name, () => ({}), REFUSED],
      ],
    ),
    [
      'issued for another host, pinned directly',
      'issuedElsewhere',
      ({ issuedElsewhere }) => ({ ca: issuedElsewhere.cert }),
      OTHER_NAME,
    ],
  ])('a certificate %s', async (_, name, trust, expected) => {
    const server = await testServer({ certificate: all[name] });
    expect(await connecting(server.port, trust(all))).toEqual(expected);
    expect(server.sessions).toBe(expected === undefined ? 1 : 0);
  });

  it('another fingerprint is refused before anything is sent', async () => {
    const server = await scriptedServer((_request, response) => response.end(DONE));
    expect(await connecting(server.port, { fingerprint: all.foreign.fingerprint })).toBe(OTHER_FINGERPRINT);
    expect(server.requests).toEqual([]);
  });

  it('the name of the host is sent for the choice of the certificate (SNI)', async () => {
    const { key, cert } = all.own;
    const names: unknown[] = [];
    const server = createTlsServer({ key, cert }, (socket) => {
      names.push('servername' in socket ? socket.servername : undefined);
      socket.destroy();
    });
    await connecting(await listenForTest(server), { ca: cert, host: 'localhost' });
    expect(names).toEqual(['localhost']);
  });
});

describe('a server that cannot be reached', () => {
  const UNAVAILABLE = expect.stringMatching(/^platform_unavailable /);

  it('refuses the connection: unavailable, and nothing was sent', async () => {
    const server = await testServer();
    await server.close();
    expect(await connecting(server.port)).toBe('platform_unavailable connect_econnrefused');
  });

  it.each<[string, (socket: Socket) => void, { connectMs?: number; ms?: number }, unknown]>([
    ['never finishes the handshake', () => {}, { connectMs: 50 }, 'platform_unavailable connect_timeout'],
    ['never finishes it in the time of the caller', () => {}, { ms: 50 }, UNAVAILABLE],
    ['closes at once, as for an address that is not listed', (socket) => socket.end(), {}, UNAVAILABLE],
    [
      'has no TLS',
      (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
      {},
      expect.stringMatching(/^platform_refused /),
    ],
  ])('%s', async (_, script, { ms, ...limits }, expected) => {
    const signal = ms === undefined ? NEVER_ABORTED : AbortSignal.timeout(ms);
    expect(await connecting(await listenForTest(createServer(script)), {}, limits, signal)).toEqual(expected);
  });
});
