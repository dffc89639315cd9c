import { createServer, type Server, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { deliver } from '../../../lib/aws/delivery.ts';
import { sesMailer } from '../../../lib/aws/ses.ts';
import { answering, clientOf, failureOf, patient } from '../../support/senders.ts';

const MAIL = {
  from: { name: 'Example Markets', address: 'no-reply@example.com' },
  replyTo: 'help@example.com',
  to: 'ann@example.com',
  subject: 'Your code',
  text: '123456',
  html: '<b>123456</b>',
  kind: 'code',
};
const SENT =
  '<SendEmailResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><SendEmailResult><MessageId>m-1</MessageId></SendEmailResult></SendEmailResponse>';

function queryError(code: string, message = 'text'): string {
  return `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`;
}

/** A server of bytes; says how many connections it had. */
async function tcp(onSocket: (socket: Socket) => void) {
  const seen = { connections: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    seen.connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    onSocket(socket);
  });
  await listening(server);
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  return { seen, url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` };
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}

/** A port with a full queue of connections: the next one gets no answer. */
async function blackHole(): Promise<{ url: string }> {
  const worker = new Worker(
    `const { createServer, connect } = require('node:net');
     const { parentPort } = require('node:worker_threads');
     const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
       const { port } = server.address();
       for (let filled = 0; filled < 4; filled += 1) connect(port, '127.0.0.1').on('error', () => {});
       setImmediate(() => {
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

/** The failure of a mail to this service. */
const mailing = (server: { url: string }, signal = patient()) => failureOf(sesMailer(clientOf(server))(MAIL, signal));

/** A service that gives this answer. */
const saying = (body: string, status = 200) => answering((_, response) => response.writeHead(status).end(body));

describe('A send of which certainly nothing left is retryable', () => {
  it('when the connection is refused', async () => {
    const gone = createServer();
    await listening(gone);
    const { port } = gone.address() as { port: number };
    await new Promise((resolve) => gone.close(resolve));
    const failure = await failureOf(sesMailer(clientOf({ url: `http://127.0.0.1:${port}` }))(MAIL, patient()));
    expect(failure).toMatchObject({ kind: 'retryable', reason: 'ECONNREFUSED' });
  });

  it('when every address of a name refuses', async () => {
    expect(await mailing({ url: 'http://localhost:1' })).toMatchObject({ kind: 'retryable', reason: 'ECONNREFUSED' });
  });

  it('when the name cannot be resolved', async () => {
    const failure = await mailing({ url: 'http://service.invalid' });
    expect(failure.kind).toBe('retryable');
    expect(failure.reason).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/);
  });

  it('when no connection is established in time', async () => {
    expect(await mailing(await blackHole())).toMatchObject({ kind: 'retryable', reason: 'TimeoutError' });
  });

  it('when the time was over before it began', async () => {
    const server = await saying(SENT);
    expect(await mailing(server, AbortSignal.abort())).toMatchObject({ kind: 'retryable', reason: 'NoTimeLeft' });
    expect(server.seen.connections).toBe(0);
  });
});

describe('A send without credentials is misconfigured', () => {
  it('and nothing leaves', async () => {
    const server = await saying(SENT);
    const credentials = () => Promise.reject(Object.assign(new Error('none'), { name: 'CredentialsProviderError' }));
    const failure = await failureOf(sesMailer({ ...clientOf(server), credentials })(MAIL, patient()));
    expect(failure).toMatchObject({ kind: 'misconfigured', reason: 'CredentialsProviderError' });
    expect(server.seen.connections).toBe(0);
  });
});

describe('A send that may have gone out has an unknown outcome, and is not sent again', () => {
  it('when no answer comes in the time of the caller', async () => {
    const caller = new AbortController();
    const server = await answering(() => caller.abort());
    expect(await mailing(server, caller.signal)).toMatchObject({ kind: 'unknown_outcome', reason: 'AbortError' });
    expect(server.seen.requests).toBe(1);
  });

  it('when no answer comes in the time of a send', async () => {
    const limitMs = 30;
    const leaving = {
      middlewareStack: { add: (noticed: (next: () => void) => (args: object) => void) => noticed(() => {})({}) },
    };
    const silence = (_: unknown, { abortSignal }: { abortSignal: AbortSignal }) =>
      new Promise<never>((_resolve, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason)));
    const failure = await failureOf(deliver(leaving as never, silence, () => undefined, patient(), limitMs));
    expect(failure).toMatchObject({ kind: 'unknown_outcome', reason: 'TimeoutError' });
  });

  it('when the connection breaks off after the request', async () => {
    const server = await answering((request) => request.socket.destroy());
    expect(await mailing(server)).toMatchObject({ kind: 'unknown_outcome', reason: 'ECONNRESET' });
    expect(server.seen.requests).toBe(1);
  });

  it('when the connection is reset while the request is written', async () => {
    const server = await tcp((socket) => socket.resetAndDestroy());
    expect((await mailing(server)).kind).toBe('unknown_outcome');
    expect(server.seen.connections).toBe(1);
  });

  it('when the answer breaks off', async () => {
    const server = await tcp((socket) =>
      socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n${SENT.slice(0, 40)}`)),
    );
    expect((await mailing(server)).kind).toBe('unknown_outcome');
    expect(server.seen.connections).toBe(1);
  });

  it('when the answer stops in the middle', async () => {
    const caller = new AbortController();
    const server = await answering((_, response) => {
      response.writeHead(200, { 'content-length': '500' }).write('<Send');
      setTimeout(() => caller.abort(), 50);
    });
    expect((await mailing(server, caller.signal)).kind).toBe('unknown_outcome');
    expect(server.seen.requests).toBe(1);
  });

  it.each([
    ['is no XML', 'OK'],
    ['is cut', SENT.slice(0, 80)],
    ['has no message id', '<SendEmailResponse><SendEmailResult></SendEmailResult></SendEmailResponse>'],
    ['is empty', ''],
    ['is a page of a proxy', '<html><body>Welcome<br></body></html>'],
  ])('when the answer with status 200 %s', async (_, body) => {
    const server = await saying(body);
    expect((await mailing(server)).kind).toBe('unknown_outcome');
    expect(server.seen.requests).toBe(1);
  });

  it.each([
    [500, queryError('InternalFailure')],
    [500, queryError('InternalError')],
    [502, '<html>Bad gateway</html>'],
    [504, ''],
    [302, ''],
  ])('when the service answers %i', async (status, body) => {
    const server = await saying(body, status);
    expect((await mailing(server)).kind).toBe('unknown_outcome');
    expect(server.seen.requests).toBe(1);
  });
});

describe('An answer below 500, or 503, is certain', () => {
  it.each([
    [503, queryError('ServiceUnavailable'), 'retryable', 'ServiceUnavailable'],
    [503, 'busy', 'retryable', 'Http503'],
    [429, queryError('SomethingNew'), 'retryable', 'SomethingNew'],
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
  it('opens a new connection, since a kept one may have closed in the meantime', async () => {
    const server = await saying(SENT);
    const send = sesMailer(clientOf(server));
    for (let sent = 1; sent <= 3; sent += 1) expect(await send(MAIL, patient())).toEqual({ messageId: 'm-1' });
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
