import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { WebApiHost, WebApiLine } from './tls.ts';

export interface WebApiRequest {
  /** With the query. */
  path: string;
  /** Makes it a POST; passwords stand here only, because addresses are logged. */
  body?: Record<string, string>;
  /** The largest answer that is read. */
  maxBytes?: number;
}

export interface HttpAnswer {
  status: number;
  text: string;
}

/** The bytes of a command may have left, and no answer that can be understood came back. */
export class LostAnswer extends Error {
  override readonly name = 'LostAnswer';
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }
}

/** The reason of an answer that was lost with its connection, however that ended. */
export const CONNECTION_CLOSED = 'connection_closed';

const MAX_ANSWER_BYTES = 262_144;

/**
 * One request and its answer over a connection that stands. The connection outlives it, unless it fails: then it is
 * reset, so that nothing of the request is sent from then on.
 * @param timeoutMs for the whole answer
 * @throws LostAnswer
 */
export function exchange(
  { tls, tcp }: WebApiLine,
  server: WebApiHost,
  { path, body, maxBytes = MAX_ANSWER_BYTES }: WebApiRequest,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<HttpAnswer> {
  const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const finish = (outcome: HttpAnswer | LostAnswer) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onTimeout);
      if (outcome instanceof LostAnswer) {
        // First, because the request fails with its connection, for another reason.
        reject(outcome);
        tls.destroy();
      } else {
        tcp.awaitingAnswer = false;
        resolve(outcome);
      }
    };
    const onTimeout = () => finish(new LostAnswer('answer_timeout'));
    const onError = (error: NodeJS.ErrnoException) => {
      const malformed = error.code?.startsWith('HPE_') === true;
      finish(new LostAnswer(malformed ? 'malformed_answer' : CONNECTION_CLOSED, error));
    };
    const timer = setTimeout(onTimeout, timeoutMs);
    signal?.addEventListener('abort', onTimeout, { once: true });
    tcp.awaitingAnswer = true;
    const request = httpRequest({
      createConnection: () => tls,
      method: content === undefined ? 'GET' : 'POST',
      path,
      setHost: false,
      headers: {
        Host: hostHeader(server),
        Connection: 'keep-alive',
        ...(content === undefined
          ? {}
          : { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': content.length }),
      },
    });
    request.on('error', onError);
    request.on('response', (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('error', onError);
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) return finish(new LostAnswer('answer_too_large'));
        chunks.push(chunk);
      });
      response.on('end', () => {
        finish({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    request.end(content);
  });
}

function hostHeader({ host, port }: WebApiHost): string {
  // Of all hosts only an address of version 6 has a colon.
  const name = host.includes(':') ? `[${host}]` : host;
  return port === 443 ? name : `${name}:${port}`;
}
