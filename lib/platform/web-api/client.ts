import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as v from 'valibot';
import { within } from '../../deadline.ts';
import type { WebApiSecret } from '../../records/crm-records.ts';
import { assertMaySend, PlatformFailure, unsentFailure } from '../platform.ts';
import {
  commandFailure,
  INVALID_PARAMETERS,
  isDone,
  parseAnswer,
  parseMember,
  showsBodyRead,
  type WebApiAnswer,
} from './answers.ts';
import {
  CONNECTION_CLOSED,
  connectTls,
  type EarlyLine,
  exchangeWebApi,
  type HttpAnswer,
  LostAnswer,
  type WebApiHost,
  type WebApiLine,
  type WebApiRequest,
} from './exchange.ts';

/**
 * One holder at a time, in the order of the calls. The promise resolves to the function that unlocks. A caller that waits
 * leaves the queue when its signal aborts.
 * @throws PlatformFailure `platform_unavailable` if the signal aborts first
 */
export function createMutex(): (signal?: AbortSignal) => Promise<() => void> {
  let last = Promise.resolve();

  return async (signal) => {
    const { promise: unlocked, resolve: unlock } = Promise.withResolvers<void>();
    const before = last;
    last = before.then(() => unlocked);
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        unlock();
        const reason = 'queue_timeout';
        reject(new PlatformFailure('platform_unavailable', { reason, proof: 'unsent', retryAfterSeconds: 5 }));
      };
      if (signal?.aborted === true) return leave();
      signal?.addEventListener('abort', leave, { once: true });
      before.then(() => {
        signal?.removeEventListener('abort', leave);
        resolve();
      });
    });
    return unlock;
  };
}

export interface ClientLimits {
  /** TCP and TLS, in milliseconds. */
  connectMs: number;
  /** Both steps of authentication, in milliseconds; the server itself allows 10 s between them. */
  authMs: number;
  /** The timeout of one command, in milliseconds. */
  commandMs: number;
  /** The maximum idle time of a session, in milliseconds. The server drops it at 180 s. */
  idleMs: number;
  now: () => number;
}

/** An authenticated connection. There is no token: the session ends with the socket. */
type WebApiSession = ReturnType<typeof createSession>;

/** The lowest version of the protocol that servers accept. */
const PROTOCOL_VERSION = 484;
const AGENT = 'BrokerApi';

const random = v.pipe(v.string(), v.regex(/^[0-9a-fA-F]{32}$/));
const AuthStartSchema = v.object({ srv_rand: random });
const AuthAnswerSchema = v.object({ cli_rand_answer: random });

/**
 * Connects and authenticates both sides.
 * @throws PlatformFailure `platform_unavailable` or `platform_refused`
 */
async function openSession(
  server: WebApiHost,
  secret: WebApiSecret,
  limits: ClientLimits,
  signal: AbortSignal,
  early?: EarlyLine,
): Promise<WebApiSession> {
  const line = (await early?.take()) ?? (await connectTls(server, limits.connectMs, signal));
  const send = exchangeWithCookies(line, server);
  try {
    const limit = within(limits.authMs, signal);
    await authenticate((path) => send({ path }, limits.authMs, limit), secret);
  } catch (error) {
    line.tls.destroy();
    if (!(error instanceof LostAnswer)) throw error;
    const reason = error.reason === 'answer_timeout' ? 'auth_timeout' : `auth_${error.reason}`;
    throw new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10, cause: error });
  }
  return createSession(line, send, limits);
}

type Send = (request: WebApiRequest, timeoutMs: number, signal?: AbortSignal) => Promise<HttpAnswer>;

/** Sends back the cookies of the connection. Some gateways answer 403 without them. */
function exchangeWithCookies(line: WebApiLine, server: WebApiHost): Send {
  const kept = new Map<string, string>();
  return async (request, timeoutMs, signal) => {
    const cookies = [...kept].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...request.headers, ...(cookies !== '' && { Cookie: cookies }) };
    const answer = await exchangeWebApi(line, server, { ...request, headers }, timeoutMs, signal);
    for (const cookie of answer.cookies) {
      const [, name, value = ''] = /^([^=;]+)=([^;]*)/.exec(cookie) ?? [];
      if (name === undefined) continue;
      // An empty value deletes a cookie.
      if (value.trim() === '') kept.delete(name.trim());
      else kept.set(name.trim(), value.trim());
    }
    return answer;
  };
}

async function authenticate(get: (path: string) => Promise<HttpAnswer>, { login, password }: WebApiSecret) {
  const hash = passwordHash(password);
  const start = await get(`/api/auth/start?version=${PROTOCOL_VERSION}&agent=${AGENT}&login=${login}&type=manager`);
  const { srv_rand } = parseMember(AuthStartSchema, authenticationStep(start));

  const clientRandom = randomBytes(16).toString('hex');
  const proof = randomAnswer(hash, srv_rand);
  const end = await get(`/api/auth/answer?srv_rand_answer=${proof}&cli_rand=${clientRandom}`);
  const { cli_rand_answer } = parseMember(AuthAnswerSchema, authenticationStep(end));

  const expected = Buffer.from(randomAnswer(hash, clientRandom));
  if (!timingSafeEqual(expected, Buffer.from(cli_rand_answer.toLowerCase()))) {
    throw new PlatformFailure('platform_refused', { reason: 'server_not_authentic' });
  }
}

/** `MD5( MD5( UTF16LE(password) ) || "WebAPI" )`, 16 raw bytes: the only form of the password that both proofs need. */
export function passwordHash(password: string): Buffer {
  return md5(md5(Buffer.from(password, 'utf16le')), Buffer.from('WebAPI', 'ascii'));
}

/** The answer to the other side's random number: `hex( MD5( hash || unhex(random) ) )`. */
export function randomAnswer(hash: Buffer, randomHex: string): string {
  return md5(hash, Buffer.from(randomHex, 'hex')).toString('hex');
}

function md5(...parts: Buffer[]): Buffer {
  const digest = createHash('md5');
  for (const part of parts) digest.update(part);
  return digest.digest();
}

/** 403 means a wrong password. */
function authenticationStep({ status, text }: HttpAnswer): unknown {
  if (status === 403) throw new PlatformFailure('platform_refused', { reason: 'auth_forbidden' });
  if (status !== 200) throw new LostAnswer(`http_${status}`);
  const answer = parseAnswer(text);
  if (answer === undefined) throw new LostAnswer('malformed_answer');
  if (!isDone(answer)) throw commandFailure(answer.retcode);
  return answer;
}

function createSession(line: WebApiLine, send: Send, { idleMs, now }: ClientLimits) {
  const socket = line.tls;
  let usedAt = now();
  let working = false;
  // A server that sends unrequested data gets no more commands. If it closes, Node closes the socket too.
  socket.on('data', () => {
    if (!working) socket.destroy();
  });
  // An idle session does not keep the process running.
  socket.unref();

  return {
    /** Whether a command can be sent, as far as known. */
    async usable(): Promise<boolean> {
      if (now() - usedAt > idleMs) return false;
      // After a freeze, a pending close is only read in the next turn of the event loop.
      await nextTurn();
      await nextTurn();
      return !socket.destroyed && socket.writable && socket.readable;
    },

    /** @throws LostAnswer */
    async exchange(request: WebApiRequest, timeoutMs: number, signal?: AbortSignal): Promise<HttpAnswer> {
      usedAt = now();
      working = true;
      socket.ref();
      try {
        return await send(request, timeoutMs, signal);
      } finally {
        working = false;
        socket.unref();
      }
    },

    destroy: () => socket.destroy(),
  };
}

const QUIT_MS = 1_000;
const NO_DEADLINE = Number.POSITIVE_INFINITY;
/** The reason of a path that the server forbids. */
const FORBIDDEN = 'forbidden';
/** The HTTP statuses of a command that the server has not taken. */
const NOT_TAKEN: ReadonlySet<number> = new Set([400, 404, 405, 411, 413, 415, 501]);
/** The session works, and the server has no such command for us. */
const NO_COMMAND: ReadonlySet<string> = new Set([FORBIDDEN, 'http_404', 'http_405', 'http_501']);

/** Commands to one server: one at a time, over one session, which is kept and renewed when it has ended. */
export class WebApiClient {
  readonly #server: WebApiHost;
  readonly #secret: WebApiSecret;
  readonly #limits: ClientLimits;
  readonly #lock = createMutex();
  #early: EarlyLine | undefined;
  #kept: WebApiSession | undefined;
  #closed = false;
  /** The content types of bodies, the better one first. */
  #types = ['application/x-www-form-urlencoded', 'application/json'];
  /** The server is known to read bodies of the first type. */
  #isTypeKnown = false;

  /** @param early the connection for the first session */
  constructor(server: WebApiHost, secret: WebApiSecret, limits: ClientLimits, early?: EarlyLine) {
    this.#server = server;
    this.#secret = secret;
    this.#limits = limits;
    this.#early = early;
  }

  /** The content type of the bodies that the server reads, if it is known. */
  get contentType(): string | undefined {
    return this.#isTypeKnown ? this.#types[0] : undefined;
  }

  /** Opens the session, unless there is one. */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.#kept !== undefined && (await this.#kept.usable())) return;
    await this.#runExclusive(signal, () => this.#session(signal));
  }

  /** A command that changes nothing. It is sent again if the connection ended before the answer came. */
  ask(request: WebApiRequest, signal: AbortSignal): Promise<WebApiAnswer> {
    return this.#runExclusive(signal, async () => {
      try {
        return await this.#resendWhenClosed(request, signal);
      } catch (error) {
        if (!(error instanceof LostAnswer)) throw error;
        const { reason } = error;
        throw new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10, cause: error });
      }
    });
  }

  /**
   * Like `ask`, for a command that a server may lack or refuse.
   * @returns undefined if it forbids the path or lacks it
   * @throws PlatformFailure if it may answer later
   */
  async askOptional(request: WebApiRequest, signal: AbortSignal): Promise<WebApiAnswer | undefined> {
    const answer = await this.ask(request, signal).catch((error: unknown) => {
      if (error instanceof PlatformFailure && NO_COMMAND.has(error.reason)) return undefined;
      throw error;
    });
    if (answer === undefined || isDone(answer)) return answer;
    const failure = commandFailure(answer.retcode);
    if (failure.kind === 'platform_unavailable') throw failure;
    return answer;
  }

  /**
   * A command that changes something, sent once. It is sent again only after a certain refusal: a 403, which may mean that
   * the session has ended, or that the server does not read bodies of this content type.
   * @param sendDeadline epoch milliseconds: no byte is sent later
   * @throws PlatformFailure without the answer's code: `account_outcome_unknown` if the command may have been taken, else
   * with the proof that it was not
   */
  async act(request: WebApiRequest, sendDeadline: number, signal: AbortSignal): Promise<WebApiAnswer> {
    try {
      return await this.#runExclusive(signal, () => this.#send(request, sendDeadline, signal));
    } catch (error) {
      if (!(error instanceof LostAnswer)) throw error;
      throw new PlatformFailure('account_outcome_unknown', { reason: error.reason, cause: error });
    }
  }

  /** Waits for running commands, then logs out. A later command opens a new session. */
  close(): Promise<void> {
    return this.#runExclusive(undefined, async () => {
      this.#closed = true;
      if (await this.#kept?.usable()) await this.#kept?.exchange({ path: '/api/quit' }, QUIT_MS).catch(() => {});
    });
  }

  async #runExclusive<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const unlock = await this.#lock(signal);
    try {
      return await work();
    } finally {
      if (this.#closed) this.#drop();
      unlock();
    }
  }

  async #session(signal: AbortSignal): Promise<WebApiSession> {
    if (this.#kept !== undefined && (await this.#kept.usable())) return this.#kept;
    this.#drop();
    const early = this.#early;
    this.#early = undefined;
    try {
      this.#kept = await openSession(this.#server, this.#secret, this.#limits, signal, early);
    } catch (error) {
      throw unsentFailure(error);
    }
    return this.#kept;
  }

  #drop(): void {
    this.#kept?.destroy();
    this.#kept = undefined;
  }

  async #exchange(request: WebApiRequest, sendDeadline: number, signal: AbortSignal): Promise<HttpAnswer> {
    const session = await this.#session(signal);
    assertMaySend(sendDeadline, signal, this.#limits.now);
    return session.exchange(request, this.#limits.commandMs, signal);
  }

  /**
   * Servers want one of two content types for JSON. They refuse a body of the other one with certainty, so it is sent
   * again.
   */
  async #send(request: WebApiRequest, sendDeadline: number, signal: AbortSignal): Promise<WebApiAnswer> {
    if (request.body === undefined) return this.#sendOnce(request, sendDeadline, signal);
    const sendAs = (type: string | undefined) =>
      this.#sendOnce({ ...request, headers: { 'Content-Type': type ?? '' } }, sendDeadline, signal);
    const [first, second] = this.#types;
    const refusal = await sendAs(first).catch((error: unknown) => {
      if (error instanceof PlatformFailure && error.reason === 'http_415') return error;
      throw error;
    });
    if (!(refusal instanceof PlatformFailure)) {
      this.#isTypeKnown ||= showsBodyRead(refusal);
      if (this.#isTypeKnown || refusal.retcode !== INVALID_PARAMETERS) return refusal;
    }
    const answer = await sendAs(second);
    if (answer.retcode !== INVALID_PARAMETERS || refusal instanceof PlatformFailure) this.#types.reverse();
    this.#isTypeKnown = showsBodyRead(answer);
    return answer;
  }

  async #sendOnce(request: WebApiRequest, sendDeadline: number, signal: AbortSignal): Promise<WebApiAnswer> {
    let answer = await this.#exchange(request, sendDeadline, signal);
    if (answer.status === 403) {
      // The session has ended, or the path is forbidden: a new session shows which.
      this.#drop();
      answer = await this.#exchange(request, sendDeadline, signal);
      if (answer.status === 403) {
        throw new PlatformFailure('platform_refused', { reason: FORBIDDEN, proof: 'rights' });
      }
    }
    const parsed = answer.status === 200 ? parseAnswer(answer.text) : undefined;
    if (parsed !== undefined) return parsed;
    this.#drop();
    if (NOT_TAKEN.has(answer.status)) {
      throw new PlatformFailure('platform_refused', { reason: `http_${answer.status}`, proof: 'unsent' });
    }
    throw new LostAnswer(answer.status === 200 ? 'malformed_answer' : `http_${answer.status}`);
  }

  async #resendWhenClosed(request: WebApiRequest, signal: AbortSignal): Promise<WebApiAnswer> {
    try {
      return await this.#send(request, NO_DEADLINE, signal);
    } catch (error) {
      if (!(error instanceof LostAnswer) || error.reason !== CONNECTION_CLOSED) throw error;
      return this.#send(request, NO_DEADLINE, signal);
    }
  }
}
