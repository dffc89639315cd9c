import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Fault, Faults } from '../faults.ts';
import { listenOn, refuseForeignRequests, refuseWhileDown } from '../listen.ts';
import type { OutboxEntry } from '../outbox.ts';
import { type Caller, type Callers, findDenial, type NeededRight } from '../rights/policy.ts';

export interface StandInOptions {
  faults: Faults;
  /** The callers and their rights; absent: everything is allowed. */
  callers?: Callers | undefined;
  /** Called with every message that the service accepted. */
  record: (entry: OutboxEntry) => void;
}

/** A service on 127.0.0.1, for one deployment, speaking its wire format. */
export interface StandIn {
  readonly url: string;
  /** The number of requests, with any outcome; of signed services, the allowed ones. */
  readonly requests: number;
  /** The path and the body of the last request, with any outcome. */
  readonly lastPath: string;
  readonly lastBody: string;
  close(): Promise<void>;
}

export interface Call {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
  /** The unchanged bytes of the body. */
  bytes: Buffer;
  /** A fault that the service itself makes. */
  fault?: Fault | undefined;
}

export interface StandInAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array;
}

/** An error of a service. Each protocol writes it in its own format. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: string;
  readonly status: number;
  /** More members of the answer. */
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: string, message = code, status = 400, members: ServiceError['members'] = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.members = members;
  }
}

/** The answers of one service. */
export interface StandInService {
  /** The name of an allowed call, which may still fail; absent: the name of the service. */
  name?(call: Call): string;
  /** @throws ServiceError */
  answer(call: Call): StandInAnswer | Promise<StandInAnswer>;
  /** The answer for an error. */
  error(error: ServiceError, call: Call): StandInAnswer;
  /** The errors of the faults. */
  throttled: ServiceError;
  refused: ServiceError;
  /** The error of a refused recipient. Only stand-ins that send messages have it. */
  refused_recipient?: ServiceError;
  /** The error of a refused message. Only the broker's own provider has it. */
  refused_message?: ServiceError;
  /** The signature of requests. Absent: they are not signed. */
  signed?: Signed;
}

interface Signed {
  /** The name of the service in a signature's credential scope. */
  name: string;
  /** The rights that a call needs. */
  needs(call: Call): NeededRight[];
  /** The code of the answer to a caller without the right. */
  denied: string;
}

/** Serves a service over HTTP, with the requested faults. */
export async function serveStandIn(service: StandInService, { faults, callers }: Omit<StandInOptions, 'record'>) {
  const closing = new AbortController();
  let requests = 0;
  let [lastPath, lastBody] = ['', ''];

  const server = createServer(
    // An idle connection stays open as long as those of AWS, so a slow machine does not use one that is just closing.
    { keepAliveTimeout: 60_000 },
    refuseForeignRequests((request, response) => {
      // Tests move only the clock of the functions, and a client that sees two different times retries a refused call.
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

  async function work(request: IncomingMessage): Promise<StandInAnswer | 'down'> {
    const bytes = await buffer(request);
    const { method = '', url: path = '/', headers } = request;
    [lastPath, lastBody] = [path, bytes.toString('utf8')];
    const call = { method, path, headers, body: lastBody, bytes };
    try {
      if (service.signed !== undefined) admit(request, call, service.signed);
      requests += 1;
      const name = service.name?.(call) ?? service.signed?.name ?? '';
      const fault = faults.next();
      down.check();
      await faults.onCall({ name, fault });
      if (fault?.kind === 'throttled' || fault?.kind === 'refused') throw service[fault.kind];
      if (fault?.kind === 'refused_recipient' || fault?.kind === 'refused_message') {
        const refusal = service[fault.kind];
        if (refusal !== undefined) throw refusal;
      }
      // This connection was kept from before the fault.
      if (fault?.kind === 'down') return 'down';
      if (fault?.kind === 'slow') await faults.pause(fault.ms ?? 1_000, closing.signal);
      return await service.answer({ ...call, fault });
    } catch (error) {
      if (error instanceof ServiceError) return service.error(error, call);
      throw error;
    }
  }

  /** @throws ServiceError if the caller is unknown or lacks the right */
  function admit(request: IncomingMessage, call: Call, { name, needs, denied }: Signed): void {
    const caller = findCaller(request, name, callers);
    if (caller === undefined) throw new ServiceError('UnrecognizedClientException', undefined, 403);
    const denial = findDenial(caller, needs(call));
    if (denial !== undefined) throw new ServiceError(denied, denial, 403);
  }

  const url = `http://127.0.0.1:${await listenOn(server, 0)}`;
  const down = refuseWhileDown(server, faults);

  return {
    url,
    get requests() {
      return requests;
    },
    get lastPath() {
      return lastPath;
    },
    get lastBody() {
      return lastBody;
    },
    async close() {
      down.stop();
      closing.abort();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  } satisfies StandIn;
}

const ANYONE: Caller = { name: 'anyone' };

/**
 * Who signed a request for this service, by the access key in its signature's credential scope. The signature itself is
 * not computed.
 */
function findCaller({ headers, url }: IncomingMessage, signingName: string, callers?: Callers): Caller | undefined {
  const [, inHeader] = /^AWS4-HMAC-SHA256 Credential=([^,]+),/.exec(headers.authorization ?? '') ?? [];
  // A link is signed in its address.
  const credential = inHeader ?? new URL(url ?? '/', 'http://localhost').searchParams.get('X-Amz-Credential') ?? '';
  const [, key = '', service] = /^([^/]+)\/\d{8}\/[a-z0-9-]+\/([\w-]+)\/aws4_request$/.exec(credential) ?? [];
  if (service !== signingName) return undefined;
  return callers === undefined ? ANYONE : callers.get(key);
}

/** A new id in the form that AWS uses for requests and messages. */
export function requestId(): string {
  return crypto.randomUUID();
}

export function jsonAnswer(body: unknown, status = 200, type = 'application/json'): StandInAnswer {
  return { status, headers: { 'content-type': type }, body: JSON.stringify(body) };
}
