import { createServer as createHttpServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { selfSignedCertificate } from '../../../infra/local/platforms/web-api-server.ts';
import { providerChannel } from '../../../lib/messages/provider.ts';
import { PHONE_CHANNELS, type PhoneChannel } from '../../../lib/validators/otp-types.ts';
import { failureOf, NEVER_ABORTED } from '../../support/outcomes.ts';
import { BRAND } from '../../support/senders.ts';
import { closedPort, listenForTest } from '../../support/servers.ts';

const TO = '+447400123456';
const CODE = '012345';
const [OLD, KEY] = ['o', 'k'].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`) as [string, string];

/** A provider that answers like this. @returns its address */
async function provider(answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listenForTest(createHttpServer(answer))}/send?team=1`;
}

/** A provider that records its requests. */
async function recording() {
  const seen: { path: string | undefined; headers: IncomingHttpHeaders; body: string }[] = [];
  const url = await provider(async (request, response) => {
    seen.push({ path: request.url, headers: request.headers, body: await text(request) });
    response.writeHead(202).end();
  });
  return { seen, url };
}

function channel(url: string, name: PhoneChannel = 'sms') {
  return providerChannel(name, { url, keys: async () => [KEY, OLD], brand: BRAND });
}
const sendTo = (url: string, signal = NEVER_ABORTED) => channel(url).send(TO, CODE, 'en', signal, 'message-1');

describe('A message to the provider', () => {
  it.each(PHONE_CHANNELS)('by %s is one signed request with its id', async (name) => {
    const phrase = name === 'call' ? '0, 1, 2, 3, 4, 5.' : '012345 is your Example Markets verification code.';
    const { seen, url } = await recording();
    const sent = await channel(url, name).send(TO, CODE, 'en-GB', NEVER_ABORTED, 'message-1');
    expect(sent).toEqual({ messageId: 'message-1' });
    const [{ path, headers, body } = { path: '', headers: {}, body: '' }, ...others] = seen;
    expect([path, headers['content-type'], headers['user-agent'], headers['webhook-id'], others]).toEqual([
      ...['/send?team=1', 'application/json', 'broker-public-api', 'message-1'],
      [],
    ]);
    for (const key of [KEY, OLD]) new Webhook(key).verify(body, headers as Record<string, string>);
    expect(JSON.parse(body)).toEqual({
      ...{ to: TO, kind: name, code: '012345', language: 'en' },
      text: expect.stringContaining(phrase),
    });
  });

  it('names the language of a call whose language has no voice of AWS as that of its text', async () => {
    const { seen, url } = await recording();
    await channel(url, 'call').send(TO, CODE, 'th', NEVER_ABORTED);
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ language: 'en' });
  });
});

describe('A message that certainly was not sent', () => {
  it('is recognized by a refused connection', async () => {
    const failure = await failureOf(sendTo(`http://127.0.0.1:${await closedPort()}/`));
    expect(failure).toMatchObject({ kind: 'retryable', reason: 'ECONNREFUSED' });
  });

  it('is recognized by a host name without an address', async () => {
    const failure = await failureOf(sendTo('https://provider.invalid/'));
    expect([failure.kind, failure.reason]).toEqual(['retryable', expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/)]);
  });

  it('is recognized by an untrusted certificate: the provider gets no byte of the message', async () => {
    const { key, cert } = await selfSignedCertificate();
    let requests = 0;
    const server = createTlsServer({ key, cert }, () => {
      requests += 1;
    });
    const failure = await failureOf(sendTo(`https://localhost:${await listenForTest(server)}/`));
    expect(failure).toMatchObject({ kind: 'retryable', reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(requests).toBe(0);
  });

  it('is recognized by a deadline that passes before TLS is established', async () => {
    const caller = new AbortController();
    const silent = createServer(() => caller.abort());
    const failure = await failureOf(sendTo(`https://localhost:${await listenForTest(silent)}/`, caller.signal));
    expect(failure).toMatchObject({ kind: 'retryable' });
  });

  it('is recognized by a deadline that has passed or a missing key: then no call is made', async () => {
    const { seen, url } = await recording();
    expect(await failureOf(sendTo(url, AbortSignal.abort()))).toMatchObject({ reason: 'NoTimeLeft' });
    const keys = () => Promise.reject(new Error('none'));
    const locked = providerChannel('sms', { url, keys, brand: BRAND });
    const failure = await failureOf(locked.send(TO, CODE, 'en', NEVER_ABORTED));
    expect(failure).toMatchObject({ kind: 'misconfigured', reason: 'NoSigningKey' });
    expect(seen).toEqual([]);
  });

  it.each([
    [400, 'refused_message'],
    [401, 'misconfigured'],
    [403, 'misconfigured'],
    [404, 'refused_message'],
    [405, 'refused_message'],
    [409, 'refused_message'],
    [410, 'refused_recipient'],
    [413, 'refused_message'],
    [415, 'refused_message'],
    [422, 'refused_recipient'],
    [425, 'refused_message'],
    [429, 'throttled'],
    [451, 'refused_recipient'],
    [499, 'refused_message'],
  ])('is recognized by the provider’s status %i', async (status, kind) => {
    const url = await provider((_, response) => response.writeHead(status).end(`${TO} is refused`));
    const failure = await failureOf(sendTo(url));
    expect(failure).toMatchObject({ kind, reason: `Http${status}` });
    expect(JSON.stringify(failure)).not.toContain(TO);
  });
});

describe('A message that may have been sent', () => {
  it.each([101, 301, 302, 307, 308, 408, 500, 502, 503, 504])(
    'is assumed after the provider’s status %i, and is not sent again or elsewhere',
    async (status) => {
      let requests = 0;
      const url = await provider((_, response) => {
        requests += 1;
        response.writeHead(status, { location: '/elsewhere', connection: 'upgrade', upgrade: 'other' }).end();
      });
      expect(await failureOf(sendTo(url))).toMatchObject({ kind: 'unknown_outcome', reason: `Http${status}` });
      expect(requests).toBe(1);
    },
  );

  it.each<[string, string, (caller: AbortController) => RequestListener]>([
    ['breaks the connection', 'ECONNRESET', () => (request) => void request.socket.destroy()],
    ['answers nonsense', 'HPE_INVALID_CONSTANT', () => (request) => void request.socket.end('nonsense\r\n\r\n')],
    ['answers too late', 'AbortError', (caller) => () => caller.abort()],
  ])('is assumed if the provider %s', async (_, reason, answer) => {
    const caller = new AbortController();
    const failure = await failureOf(sendTo(await provider(answer(caller)), caller.signal));
    expect(failure).toMatchObject({ kind: 'unknown_outcome', reason });
  });
});

describe('A message that was sent', () => {
  it.each([200, 201, 202, 299])('is recognized by the provider’s status %i, with any body', async (status) => {
    const url = await provider((_, response) => void response.writeHead(status).write('x'.repeat(100_000)));
    expect(await sendTo(url)).toEqual({ messageId: 'message-1' });
  });

  it('went through TLS to a provider whose certificate is trusted', async () => {
    const trusted = getCACertificates('default');
    onTestFinished(() => setDefaultCACertificates(trusted));
    const { key, cert } = await selfSignedCertificate();
    setDefaultCACertificates([...trusted, cert]);
    const server = createTlsServer({ key, cert }, (_, response) => void response.writeHead(204).end());
    const url = `https://localhost:${await listenForTest(server)}/`;
    expect(await sendTo(url)).toEqual({ messageId: 'message-1' });
  });
});
