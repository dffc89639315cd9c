import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RequestListener } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { deliverCommand } from '../../../lib/aws/delivery.ts';
import { sesMailer } from '../../../lib/aws/ses.ts';
import { failureOf, NEVER_ABORTED } from '../../support/outcomes.ts';
import { issuedCertificate } from '../../support/private-authority.ts';
import { answeringServer, MAIL } from '../../support/senders.ts';
import { clientSettings, closedPort, listenForTest } from '../../support/servers.ts';

const SENT =
  '<SendEmailResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><SendEmailResult><MessageId>m-1</MessageId></SendEmailResult></SendEmailResponse>';

function queryError(code: string, message = 'text'): string {
  return `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`;
}

/** A TCP server that counts its connections. */
async function tcp(onSocket: (socket: Socket) => void) {
  const seen = { connections: 0 };
  const server = createServer((socket) => {
    seen.connections += 1;
    onSocket(socket);
  });
  return { seen, url: `http://127.0.0.1:${await listenForTest(server)}` };
}

/** A port with a full queue of connections: the next one gets no answer. */
async function blackHole(): Promise<{ url: string }> {
  const worker = new Worker(
    `const { createServer, connect } = require('node:net');
     const { parentPort } = require('node:worker_threads');
     const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
       const { port } = server.address();
       for (let filled = 0; filled < 4; filled += 1) connect(port, '127.0.0.1').on('error', () => {});
       // Before the server accepts any of them.
       process.nextTick(() => {
         parentPort.postMessage(port);
         Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
       });
     });`,
    { eval: true },
  );
  onTestFinished(async () => {
    await worker.terminate();
  });
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  return { url: `http://127.0.0.1:${port}` };
}

/** A server whose certificate comes from an unknown authority. */
async function untrusted(): Promise<{ url: string }> {
  return { url: `https://localhost:${await listenForTest(createTlsServer(await issuedCertificate()))}` };
}

/** A server that ends each connection before TLS. */
async function brokenOff(): Promise<{ url: string }> {
  const { url } = await tcp((socket) => void socket.destroy());
  return { url: url.replace('http:', 'https:') };
}

/** The failure of a mail to this service. */
const mailing = (server: { url: string }, signal = NEVER_ABORTED) =>
  failureOf(sesMailer(clientSettings(server.url))(MAIL, signal));

/** A service that gives this answer. */
const saying = (body: string, status = 200) => answeringServer((_, response) => response.writeHead(status).end(body));

/** Calls back when the client has the head of the next answer. */
function onAnswer(done: () => void): void {
  const listener = () => {
    unsubscribe('http.client.response.finish', listener);
    done();
  };
  subscribe('http.client.response.finish', listener);
}

let caller: AbortController;
beforeEach(() => {
  caller = new AbortController();
});

describe('A send of which certainly nothing left is retryable', () => {
  it.each<[string, () => Promise<{ url: string }>, RegExp]>([
    ['the connection is refused', async () => ({ url: `http://127.0.0.1:${await closedPort()}` }), /^ECONNREFUSED$/],
    ['every address of a name refuses', async () => ({ url: 'http://localhost:1' }), /^ECONNREFUSED$/],
    ['the name cannot be resolved', async () => ({ url: 'http://service.invalid' }), /^(ENOTFOUND|EAI_AGAIN)$/],
    ['no connection is established in time', blackHole, /^TimeoutError$/],
    ['the certificate is not trusted', untrusted, /^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/],
    ['the connection breaks off before it is secure', brokenOff, /^ECONNRESET$/],
  ])('when %s', async (_, service, reason) => {
    expect(await mailing(await service())).toMatchObject({
      kind: 'retryable',
      reason: expect.stringMatching(reason),
    });
  });

  it('when the time was over before it began', async () => {
    const server = await saying(SENT);
    expect(await mailing(server, AbortSignal.abort())).toMatchObject({
      kind: 'retryable',
      reason: 'NoTimeLeft',
    });
    expect(server.seen.connections).toBe(0);
  });
});

it('A send without credentials is misconfigured, and nothing leaves', async () => {
  const server = await saying(SENT);
  const credentials = () => Promise.reject(Object.assign(new Error('none'), { name: 'CredentialsProviderError' }));
  const failure = await failureOf(sesMailer({ ...clientSettings(server.url), credentials })(MAIL, NEVER_ABORTED));
  expect(failure).toMatchObject({ kind: 'misconfigured', reason: 'CredentialsProviderError' });
  expect(server.seen.connections).toBe(0);
});

describe('A send that may have gone out has an unknown outcome, and is not sent again', () => {
  it('when no answer comes in the time of a send', async () => {
    const limitMs = 30;
    const leaving = {
      middlewareStack: { add: (noticed: (next: () => void) => (args: object) => void) => noticed(() => {})({}) },
    };
    const silence = (_: unknown, { abortSignal }: { abortSignal: AbortSignal }) =>
      new Promise<never>((_resolve, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason)));
    const failure = await failureOf(deliverCommand(leaving as never, silence, {}, NEVER_ABORTED, limitMs));
    expect(failure).toMatchObject({ kind: 'unknown_outcome', reason: 'TimeoutError' });
  });

  it.each<[string, RequestListener]>([
    ['the connection breaks off after the request', (request) => void request.socket.destroy()],
    ['the caller’s time ends without an answer', () => caller.abort()],
    [
      'the answer stops in the middle',
      (_, response) => {
        onAnswer(() => caller.abort());
        response.writeHead(200, { 'content-length': '500' }).write('<Send');
      },
    ],
    ...[
      ['is no XML', 'OK'],
      ['is cut', SENT.slice(0, 80)],
      ['has no message id', '<SendEmailResponse><SendEmailResult></SendEmailResult></SendEmailResponse>'],
      ['is empty', ''],
      ['is a page of a proxy', '<html><body>Welcome<br></body></html>'],
    ].map(([what, body]): [string, RequestListener] => [`the answer ${what}`, (_, response) => response.end(body)]),
    ...(
      [
        [500, '<html>Error</html>'],
        [502, '<html>Bad gateway</html>'],
        [504, ''],
        [302, ''],
      ] as const
    ).map(([status, body]): [string, RequestListener] => [
      `the service answers ${status} ${body}`,
      (_, response) => response.writeHead(status).end(body),
    ]),
  ])('when %s', async (_, listener) => {
    const server = await answeringServer(listener);
    expect(await mailing(server, caller.signal)).toMatchObject({ kind: 'unknown_outcome' });
    expect(server.seen.requests).toBe(1);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['the connection is reset while the request is written', (socket) => socket.resetAndDestroy()],
    [
      'the answer breaks off',
      (socket) =>
        socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n${SENT.slice(0, 40)}`)),
    ],
  ])('when %s', async (_, onSocket) => {
    const server = await tcp(onSocket);
    expect((await mailing(server)).kind).toBe('unknown_outcome');
    expect(server.seen.connections).toBe(1);
  });
});

describe('An answer of 400 to 499 but 408, or 503, is certain; any other status is not', () => {
  it.each([
    [500, queryError('InternalFailure'), 'unknown_outcome', 'InternalFailure'],
    [500, queryError('InternalError'), 'unknown_outcome', 'InternalError'],
    [504, queryError('GatewayTimeout'), 'unknown_outcome', 'GatewayTimeout'],
    [408, queryError('RequestTimeoutException'), 'unknown_outcome', 'RequestTimeoutException'],
    [408, 'too slow', 'unknown_outcome', 'Http408'],
    [503, queryError('ServiceUnavailable'), 'retryable', 'ServiceUnavailable'],
    [503, 'busy', 'retryable', 'Http503'],
    [429, queryError('SomethingNew'), 'throttled', 'SomethingNew'],
    [403, queryError('ExpiredToken'), 'retryable', 'ExpiredToken'],
    [403, queryError('RequestTimeTooSkewed'), 'retryable', 'RequestTimeTooSkewed'],
    [403, queryError('AccessDenied'), 'misconfigured', 'AccessDenied'],
    [403, queryError('SignatureDoesNotMatch'), 'misconfigured', 'SignatureDoesNotMatch'],
    [403, '<html>Forbidden<br></html>', 'misconfigured', 'Http403'],
    [400, queryError('SomethingNew'), 'misconfigured', 'SomethingNew'],
  ] as const)('%i %s is %s', async (status, body, kind, reason) => {
    const server = await saying(body, status);
    expect(await mailing(server)).toMatchObject({ kind, reason });
    expect(server.seen.requests).toBe(1);
  });
});

describe('A send', () => {
  it('opens a new connection, because a kept connection may have closed since the last send', async () => {
    const server = await saying(SENT);
    const send = sesMailer(clientSettings(server.url));
    for (let sent = 1; sent <= 3; sent += 1) expect(await send(MAIL, NEVER_ABORTED)).toEqual({ messageId: 'm-1' });
    expect(server.seen).toEqual({ requests: 3, connections: 3 });
  });

  it('fails with nothing of the message in its error', async () => {
    const message = `Email address is not verified: ${MAIL.to}, ${MAIL.text}`;
    const server = await saying(queryError('MessageRejected', message), 400);
    const failure = await mailing(server);
    const shown = inspect(failure, { depth: 20, showHidden: true });
    expect(shown).toContain('MessageRejected');
    expect(shown).not.toContain(MAIL.to);
    expect(shown).not.toContain(MAIL.text);
  });

  it('does not keep an error name with other characters', async () => {
    const server = await saying(queryError('ann@example.com 123456'), 400);
    expect(await mailing(server)).toMatchObject({ kind: 'misconfigured', reason: 'Unknown' });
  });
});
