import { request as httpRequest, type IncomingMessage } from 'node:http';
import { isIP, Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { WebApiConnection } from '../../records/crm-records.ts';
import { PlatformFailure } from '../platform.ts';
import type { AnswerKind } from '../proof.ts';

/** The address of a server, and the proof of its identity. */
export type WebApiHost = Pick<WebApiConnection, 'host' | 'port' | 'ca' | 'fingerprint'>;

/** System error codes. Other codes come from TLS and certificates. */
const SYSTEM_ERROR = /^E(?!RR_|PROTO$)[A-Z_]+$/;

/** A connection to a server whose certificate was verified. Closing `tls` closes `tcp`. */
export interface WebApiLine {
  tls: TLSSocket;
  tcp: TcpSocket;
}

/**
 * A socket that is reset if it is closed while a command waits for its answer, also by Node's TLS or HTTP. After an
 * orderly close the kernel would retransmit lost bytes for minutes, and the server might open an account after the
 * order was decided. A reset discards those bytes.
 */
class TcpSocket extends Socket {
  awaitingAnswer = false;

  override destroy(error?: Error): this {
    if (!this.awaitingAnswer) return super.destroy(error);
    this.awaitingAnswer = false;
    // `resetAndDestroy` calls `destroy` again.
    return this.resetAndDestroy();
  }
}

/**
 * Connects and verifies the server's certificate before any data is sent: by the public authorities or `ca`, both with
 * the host name, or by `fingerprint`, for any issuer and name. With `ca` and `fingerprint`, both must match.
 * @throws PlatformFailure `platform_unavailable` if the server is unreachable, `platform_refused` if it is not trusted
 */
export function connectTls(server: WebApiHost, timeoutMs: number, signal: AbortSignal): Promise<WebApiLine> {
  const { host, port, ca } = server;
  const pin = server.fingerprint?.replaceAll(':', '').toUpperCase();
  return new Promise((resolve, reject) => {
    let secureContext: SecureContext;
    try {
      // The server's own certificate may be in `ca` too.
      secureContext = createSecureContext(ca === undefined ? {} : { ca, allowPartialTrustChain: true });
    } catch (error) {
      // The PEM of `ca` cannot be read.
      reject(new PlatformFailure('platform_refused', { reason: 'tls_ca_malformed', cause: error }));
      return;
    }
    const tcp = new TcpSocket();
    let tls: TLSSocket | undefined;
    const finish = (outcome: WebApiLine | PlatformFailure) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onTimeout);
      tcp.off('connect', onConnect).off('close', onClose);
      tls?.off('secureConnect', onSecureConnect);
      if (!(outcome instanceof PlatformFailure)) return resolve(outcome);
      tls?.destroy();
      tcp.destroy();
      reject(outcome);
    };
    // The listener stays for the life of the socket: an error of an idle session only ends the session.
    const onError = (error: NodeJS.ErrnoException) => finish(connectFailure(error));
    const onConnect = () => {
      // Commands are small, and each is followed by a wait.
      tcp.setNoDelay(true);
      tls = connect({
        socket: tcp,
        host,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        secureContext,
        // The pin, compared below, replaces the authority.
        rejectUnauthorized: pin === undefined || ca !== undefined,
      });
      tls.on('secureConnect', onSecureConnect).on('error', onError);
    };
    const onSecureConnect = () => {
      if (tls === undefined) return;
      const matches = pin === undefined || tls.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '') === pin;
      finish(matches ? { tls, tcp } : new PlatformFailure('platform_refused', { reason: 'tls_fingerprint_mismatch' }));
    };
    const onTimeout = () => finish(unreachableFailure('connect_timeout'));
    const onClose = () => finish(unreachableFailure('connect_closed'));
    const timer = setTimeout(onTimeout, timeoutMs);
    signal.addEventListener('abort', onTimeout);
    tcp.on('connect', onConnect).on('close', onClose).on('error', onError);
    if (signal.aborted) onTimeout();
    else tcp.connect({ host, port });
  });
}

function connectFailure(error: NodeJS.ErrnoException): PlatformFailure {
  const code = error.code ?? 'failed';
  if (SYSTEM_ERROR.test(code)) return unreachableFailure(`connect_${code.toLowerCase()}`, error);
  return new PlatformFailure('platform_refused', { reason: `tls_${code.toLowerCase()}`, cause: error });
}

function unreachableFailure(reason: string, cause?: unknown): PlatformFailure {
  return new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10, cause });
}

/** A connection that is opened before the credentials are known. Nothing is sent on it until it is taken. */
export interface EarlyLine {
  /**
   * The connection, which the caller must close; undefined if it has ended. @throws PlatformFailure if connecting
   * failed
   */
  take(): Promise<WebApiLine | undefined>;
  /** Closes the connection; it is not needed. */
  drop(): void;
}

/** Connects before the first session needs it. @param signal closes the connection until it is taken */
export function connectEarly(server: WebApiHost, timeoutMs: number, signal: AbortSignal): EarlyLine {
  const connecting = connectTls(server, timeoutMs, signal);
  const drop = () => {
    connecting.then(
      ({ tls }) => tls.destroy(),
      () => {},
    );
  };
  // `take` reports the error.
  connecting.catch(() => {});
  signal.addEventListener('abort', drop, { once: true });
  return {
    async take() {
      signal.removeEventListener('abort', drop);
      if (signal.aborted) return undefined;
      const line = await connecting;
      return line.tls.writable ? line : undefined;
    },
    drop,
  };
}

export interface WebApiRequest {
  /** The path with its query. */
  path: string;
  /** The body of a POST; without it the request is a GET. Passwords are only here, because servers log paths. */
  body?: Record<string, string>;
  headers?: Record<string, string>;
  /** The same values by the names that the older family has in a query; for servers that read no body. */
  query?: Record<string, string>;
  /** The largest answer that is read. */
  maxBytes?: number;
}

export interface HttpAnswer {
  status: number;
  text: string;
  /** The values of all `Set-Cookie` headers. */
  cookies: readonly string[];
}

/** The bytes of a command may have left, and no valid answer came. */
export class LostAnswer extends Error {
  override readonly name = 'LostAnswer';
  readonly reason: string;
  readonly kind: AnswerKind;

  constructor(reason: string, kind: AnswerKind, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
    this.kind = kind;
  }
}

/** The reason of an answer that was lost with its connection. */
export const CONNECTION_CLOSED = 'connection_closed';

const MAX_ANSWER_BYTES = 262_144;

/**
 * One request and its answer over an open connection. After a failure the connection is reset, so that no more bytes of
 * the request are sent.
 * @param timeoutMs for the whole answer
 * @throws LostAnswer
 */
export function exchangeWebApi(
  { tls, tcp }: WebApiLine,
  server: WebApiHost,
  { path, body, headers, maxBytes = MAX_ANSWER_BYTES }: WebApiRequest,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<HttpAnswer> {
  const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  // A request on a connection that is ending would damage Node's pool of HTTP parsers: later ones of the process fail.
  if (!tls.writable) return Promise.reject(new LostAnswer(CONNECTION_CLOSED, 'closed'));
  return new Promise((resolve, reject) => {
    let answer: HttpAnswer | undefined;
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onTimeout);
    };
    const succeed = (known: HttpAnswer) => {
      end();
      tcp.awaitingAnswer = false;
      resolve(known);
    };
    const fail = (lost: LostAnswer) => {
      end();
      // Reject first: destroying the connection fails the request with another error.
      if (answer === undefined) reject(lost);
      else succeed(answer);
      tls.destroy();
    };
    // An answer may arrive before Node has finished the request, which then still holds the connection. The next
    // request would lose its answer.
    const onAnswer = (read: HttpAnswer) => {
      answer = read;
      if (sent.writableFinished || sent.destroyed) succeed(read);
    };
    const onTimeout = () => fail(new LostAnswer('answer_timeout', 'silence'));
    const onError = (error: NodeJS.ErrnoException) => fail(lostAnswer(error));
    const timer = setTimeout(onTimeout, timeoutMs);
    signal?.addEventListener('abort', onTimeout, { once: true });
    tcp.awaitingAnswer = true;
    const sent = httpRequest({
      createConnection: () => tls,
      method: content === undefined ? 'GET' : 'POST',
      path,
      setHost: false,
      headers: {
        Host: hostHeader(server),
        Connection: 'keep-alive',
        ...(content && { 'Content-Length': content.length }),
        ...headers,
      },
    })
      .on('error', onError)
      .on('response', (response) => readAnswer(response, maxBytes).then(onAnswer, fail))
      .on('close', () => answer && succeed(answer))
      .end(content);
  });
}

/** @throws LostAnswer */
function readAnswer(response: IncomingMessage, maxBytes: number): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('error', (error) => reject(lostAnswer(error)));
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) reject(new LostAnswer('answer_too_large', 'page'));
      else chunks.push(chunk);
    });
    response.on('end', () => {
      const { statusCode: status = 0, headers } = response;
      resolve({ status, text: Buffer.concat(chunks).toString('utf8'), cookies: headers['set-cookie'] ?? [] });
    });
  });
}

function lostAnswer(error: NodeJS.ErrnoException): LostAnswer {
  if (error.code?.startsWith('HPE_') === true) return new LostAnswer('malformed_answer', 'page', error);
  return new LostAnswer(CONNECTION_CLOSED, 'closed', error);
}

function hostHeader({ host, port }: WebApiHost): string {
  // Only IPv6 addresses contain a colon.
  const name = host.includes(':') ? `[${host}]` : host;
  return port === 443 ? name : `${name}:${port}`;
}

/**
 * A path with its query. A backslash escapes `=`, `|`, linefeed and itself; before any other character it is literal.
 */
export function buildPath(path: string, values: Record<string, string | number>): string {
  const pairs = Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(escaped(String(value)))}`);
  return `${path}?${pairs.join('&')}`;
}

function escaped(value: string): string {
  return value.replace(/\\(?=[\\=|\n])|[=|\n]/g, '\\$&');
}
