import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { WebApiHost, WebApiLine } from './tls.ts';

export interface WebApiRequest {
  /** With the query. */
  path: string;
  /** Makes it a POST. Passwords are only here, because servers log paths. */
  body?: Record<string, string>;
  headers?: Record<string, string>;
  /** The largest answer that is read. */
  maxBytes?: number;
}

export interface HttpAnswer {
  status: number;
  text: string;
  /** Each `Set-Cookie`. */
  cookies: readonly string[];
}

/** The bytes of a command may have left, and no valid answer came. */
export class LostAnswer extends Error {
  override readonly name = 'LostAnswer';
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
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
export function exchange(
  { tls, tcp }: WebApiLine,
  server: WebApiHost,
  { path, body, headers, maxBytes = MAX_ANSWER_BYTES }: WebApiRequest,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<HttpAnswer> {
  const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
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
    const onTimeout = () => fail(new LostAnswer('answer_timeout'));
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
      if (bytes > maxBytes) reject(new LostAnswer('answer_too_large'));
      else chunks.push(chunk);
    });
    response.on('end', () => {
      const { statusCode: status = 0, headers } = response;
      resolve({ status, text: Buffer.concat(chunks).toString('utf8'), cookies: headers['set-cookie'] ?? [] });
    });
  });
}

function lostAnswer(error: NodeJS.ErrnoException): LostAnswer {
  return new LostAnswer(error.code?.startsWith('HPE_') === true ? 'malformed_answer' : CONNECTION_CLOSED, error);
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
