import { createServer, type IncomingMessage } from 'node:http';
import type { FaultKind, Faults } from '../faults.ts';
import { closed, LIKE_AWS, listen, refuseForeign } from '../listen.ts';
import type { OutboxEntry } from '../outbox-entry.ts';
import { type Caller, type Callers, findDenial } from '../rights/callers.ts';
import type { Need } from '../rights/policy.ts';
import { downtime } from './downtime.ts';

export interface StandInOptions {
  /** 0 or absent: a free one. */
  port?: number;
  faults: Faults;
  /** The callers and their rights; absent: everything is allowed. */
  callers?: Callers | undefined;
  /** Called with every message that the service took on. */
  record: (entry: OutboxEntry) => void;
}

/** A service of AWS on 127.0.0.1, for one deployment, speaking its wire format. */
export interface StandIn {
  readonly url: string;
  /** The number of requests, with any outcome; of signed services, the allowed ones. */
  readonly requests: number;
  /** The body of the last request, with any outcome. */
  readonly lastBody: string;
  close(): Promise<void>;
}

export interface Call {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
  /** The body as it came. */
  bytes: Buffer;
  /** A fault that the service itself makes. */
  fault?: FaultKind | undefined;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array;
}

/** How one service answers. */
interface Answers {
  answer(call: Call): Answer | Promise<Answer>;
  throttled(): Answer;
  refused(): Answer;
}

/** A service of AWS, or one with unsigned requests. */
type Service = Answers & (Signed | { signingName?: undefined });

interface Signed {
  /** The name of the service in a signature's credential scope. */
  signingName: string;
  /** The rights that a call needs. */
  needs(call: Call): Need[];
  /** The answer to a request that is not signed for this service by one of its callers. */
  unsigned(): Answer;
  /** The answer to a caller without the right. @param message AWS's message about the missing right */
  denied(message: string): Answer;
}

/** Serves a service over HTTP, with the faults that were asked for. */
export async function serve(service: Service, { port = 0, faults, callers }: Omit<StandInOptions, 'record'>) {
  const closing = new AbortController();
  let requests = 0;
  let lastBody = '';

  const server = createServer(
    LIKE_AWS,
    refuseForeign((request, response) => {
      // Tests move the clock of the functions alone, and a client that sees two times repeats a refused call.
      response.sendDate = false;
      work(request)
        .then((answer) => {
          if (answer === 'down') request.socket.destroy();
          else
            response.writeHead(answer.status, { 'x-amzn-requestid': requestId(), ...answer.headers }).end(answer.body);
        })
        .catch(() => request.socket.destroy());
    }),
  );

  async function work(request: IncomingMessage): Promise<Answer | 'down'> {
    const bytes = await read(request);
    const { method = '', url: path = '/', headers } = request;
    lastBody = bytes.toString('utf8');
    const call = { method, path, headers, body: lastBody, bytes };
    if (service.signingName !== undefined) {
      const caller = findCaller(request, service.signingName, callers);
      if (caller === undefined) return service.unsigned();
      const denial = findDenial(caller, service.needs(call));
      if (denial !== undefined) return service.denied(denial);
    }
    requests += 1;
    const fault = faults.next();
    down.check();
    await faults.onCall({ name: service.signingName ?? '', fault });
    switch (fault?.kind) {
      case 'throttled':
        return service.throttled();
      case 'refused':
        return service.refused();
      case 'down':
        // On a connection that was kept from before.
        return 'down';
      case 'slow':
        await faults.pause(fault.ms ?? 1_000, closing.signal);
    }
    return service.answer({ ...call, fault: fault?.kind });
  }

  const url = `http://127.0.0.1:${await listen(server, port)}`;
  const down = downtime(server, faults);

  return {
    url,
    get requests() {
      return requests;
    },
    get lastBody() {
      return lastBody;
    },
    async close() {
      down.stop();
      closing.abort();
      await closed(server);
    },
  } satisfies StandIn;
}

const ANYBODY: Caller = { name: 'anybody' };

/**
 * Who signed a request for this service, by the access key in its signature's credential scope. The signature itself is
 * not computed.
 */
export function findCaller(
  { headers, url }: IncomingMessage,
  signingName: string,
  callers?: Callers,
): Caller | undefined {
  const [, inHeader] = /^AWS4-HMAC-SHA256 Credential=([^,]+),/.exec(headers.authorization ?? '') ?? [];
  // A link is signed in its address.
  const credential = inHeader ?? new URL(url ?? '/', 'http://localhost').searchParams.get('X-Amz-Credential') ?? '';
  const [, key = '', service] = /^([^/]+)\/\d{8}\/[a-z0-9-]+\/([\w-]+)\/aws4_request$/.exec(credential) ?? [];
  if (service !== signingName) return undefined;
  return callers === undefined ? ANYBODY : callers.get(key);
}

/** Of the form that AWS uses for request and message ids. */
export function requestId(): string {
  return crypto.randomUUID();
}

/** No service here takes more in one request. */
const MAX_BODY_BYTES = 16_000_000;

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new Error('body too large');
  }
  return Buffer.concat(chunks);
}
