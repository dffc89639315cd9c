import { setImmediate as nextTurn } from 'node:timers/promises';
import { within } from '../../deadline.ts';
import type { WebApiSecret } from '../../records/crm-records.ts';
import {
  afterContentRefusal,
  assertMaySend,
  PlatformFailure,
  type ReadSecretAgain,
  unsentFailure,
} from '../platform.ts';
import { provenBy } from '../proof.ts';
import {
  commandFailure,
  isDoneAnswer,
  parseAnswer,
  RETCODE_INVALID_PARAMETERS,
  showsBodyRead,
  type WebApiAnswer,
} from './answers.ts';
import {
  buildPath,
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
import {
  answerKind,
  authenticate,
  isDenied,
  isLoginRefused,
  otherFamily,
  type PathFamily,
  requestForFamily,
} from './login.ts';

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

export interface ClientTimeouts {
  /** TCP and TLS, in milliseconds. */
  connectMs: number;
  /** The timeout of both steps of authentication, in milliseconds. The server itself allows 10 s between them. */
  authMs: number;
  /** The timeout of one command, in milliseconds. */
  commandMs: number;
  /** The maximum idle time of a session, in milliseconds. The server drops it at 180 s. */
  idleMs: number;
  now: () => number;
}

/** The dependencies of a client of the Web API, besides the server and its secret. */
export interface ClientDependencies {
  /** The connection for the first session. */
  early?: EarlyLine | undefined;
  /** Reads the secret again after a refused login. Absent: the refusal is final. */
  readSecretAgain?: ReadSecretAgain<WebApiSecret>;
}

/** An authenticated connection. There is no token: the session ends with the socket. */
type WebApiSession = ReturnType<typeof createSession> & { family: PathFamily };

/**
 * Connects and authenticates both sides.
 * @param isLast true: the other family was asked before, and the connection ended
 * @throws PlatformFailure `platform_unavailable` or `platform_refused`
 */
async function openSession(
  server: WebApiHost,
  secret: WebApiSecret,
  limits: ClientTimeouts,
  signal: AbortSignal,
  known: PathFamily,
  early?: EarlyLine,
  isLast = false,
): Promise<WebApiSession> {
  const line = (await early?.take()) ?? (await connectTls(server, limits.connectMs, signal));
  const send = exchangeWithCookies(line, server);
  let family: PathFamily | undefined;
  try {
    const limit = within(limits.authMs, signal);
    family = await authenticate((path) => send({ path }, limits.authMs, limit), secret, known, isLast);
  } catch (error) {
    line.tls.destroy();
    if (!(error instanceof LostAnswer)) throw error;
    // An answer that is too long, or no HTTP.
    if (provenBy('signIn', error.kind) === 'refused') {
      throw new PlatformFailure('platform_refused', { reason: 'auth_page', cause: error });
    }
    const reason = error.reason === 'answer_timeout' ? 'auth_timeout' : `auth_${error.reason}`;
    throw new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10, cause: error });
  }
  if (family === undefined) {
    line.tls.destroy();
    return openSession(server, secret, limits, signal, otherFamily(known), undefined, true);
  }
  const found = family;
  const sendInFamily: Send = (request, ...rest) => send(requestForFamily(found, request), ...rest);
  return { ...createSession(line, sendInFamily, limits), family };
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

function createSession(line: WebApiLine, send: Send, { idleMs, now }: ClientTimeouts) {
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

/** @throws every other error */
function lostAnswer(error: unknown): LostAnswer {
  if (error instanceof LostAnswer) return error;
  throw error;
}

const QUIT_MS = 1_000;
const NO_DEADLINE = Number.POSITIVE_INFINITY;
/** The reason of a path that the server forbids. */
const FORBIDDEN = 'forbidden';

/**
 * Sends commands to one server: one at a time, over one session. The session is kept, and renewed when it has ended.
 */
export class WebApiClient {
  readonly #server: WebApiHost;
  readonly #readSecretAgain: ReadSecretAgain<WebApiSecret> | undefined;
  #secret: WebApiSecret;
  readonly #limits: ClientTimeouts;
  readonly #lock = createMutex();
  #early: EarlyLine | undefined;
  #kept: WebApiSession | undefined;
  /** The family that the server had last. */
  #family: PathFamily = 'api';
  #closed = false;
  /** The content types of bodies, the preferred one first. */
  #types: [string, string] = ['application/x-www-form-urlencoded', 'application/json'];
  /** The server is known to read bodies of the first type. */
  #isTypeKnown = false;

  constructor(
    server: WebApiHost,
    secret: WebApiSecret,
    limits: ClientTimeouts,
    { early, readSecretAgain }: ClientDependencies = {},
  ) {
    this.#server = server;
    this.#secret = secret;
    this.#limits = limits;
    this.#early = early;
    this.#readSecretAgain = readSecretAgain;
  }

  /** The login of our manager. */
  get manager(): number {
    return this.#secret.login;
  }

  /** Whether the server has the paths of older builds. */
  get isOlder(): boolean {
    return this.#family === 'older';
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
      const { cause = undefined } = error instanceof PlatformFailure ? error : {};
      const kind = cause instanceof LostAnswer ? cause.kind : undefined;
      const isForbidden = error instanceof PlatformFailure && error.reason === FORBIDDEN;
      if (isForbidden || kind === 'status_missing' || kind === 'status_method') return undefined;
      throw error;
    });
    if (answer === undefined || isDoneAnswer(answer)) return answer;
    const failure = commandFailure(answer.retcode);
    if (failure.kind === 'platform_unavailable') throw failure;
    return answer;
  }

  /**
   * A command that changes something, sent once. It is sent again after 401 and 403, which may mean that the session
   * has ended: they prove that it was not executed. A body is also sent in another form if the server does not read the
   * first. That is safe, because an opening names its login, and a payment has no body.
   * @param sendDeadline epoch milliseconds: no byte is sent later
   * @throws PlatformFailure without the answer's code: `account_outcome_unknown` if the command may have been executed,
   * else with the proof that it was not. After an answer that proves nothing, no later answer proves that nothing was
   * executed; after a refusal of the content, none proves more than that
   */
  async act(request: WebApiRequest, sendDeadline: number, signal: AbortSignal): Promise<WebApiAnswer> {
    const earlier: (WebApiAnswer | LostAnswer)[] = [];
    const earlierLost = () => earlier.find((answer) => answer instanceof LostAnswer);
    try {
      const answer = await this.#runExclusive(signal, () => this.#send(request, sendDeadline, signal, earlier));
      const lost = earlierLost();
      if (isDoneAnswer(answer) || lost === undefined) return { ...answer, isRepeated: earlier.length > 0 };
      throw lost;
    } catch (error) {
      const lost = error instanceof LostAnswer ? error : earlierLost();
      if (lost === undefined) throw earlier.length > 0 ? afterContentRefusal(error) : error;
      throw new PlatformFailure('account_outcome_unknown', { reason: lost.reason, cause: error });
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
    try {
      this.#kept = await this.#logIn(signal);
      this.#family = this.#kept.family;
    } catch (error) {
      throw unsentFailure(error);
    }
    return this.#kept;
  }

  /** A refused login is tried once more if the secret has changed. */
  async #logIn(signal: AbortSignal): Promise<WebApiSession> {
    const early = this.#early;
    this.#early = undefined;
    try {
      return await openSession(this.#server, this.#secret, this.#limits, signal, this.#family, early);
    } catch (error) {
      if (!isLoginRefused(error)) throw error;
      const { login, password } = (await this.#readSecretAgain?.(signal)) ?? this.#secret;
      if (login === this.#secret.login && password === this.#secret.password) throw error;
      this.#secret = { ...this.#secret, login, password };
      return openSession(this.#server, this.#secret, this.#limits, signal, this.#family);
    }
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
   * Servers want one of two content types for JSON; some of the older family read only the query. They refuse a body of
   * another form, so it is sent again.
   * @param earlier gets the answers before the last one
   */
  async #send(
    request: WebApiRequest,
    sendDeadline: number,
    signal: AbortSignal,
    earlier: (WebApiAnswer | LostAnswer)[] = [],
  ): Promise<WebApiAnswer> {
    const { body } = request;
    if (body === undefined) return this.#sendOnce(request, sendDeadline, signal);
    const sendAs = (type: string) =>
      this.#sendOnce({ ...request, headers: { 'Content-Type': type } }, sendDeadline, signal).catch(lostAnswer);
    const isUnread = (answer: WebApiAnswer | LostAnswer) =>
      answer instanceof LostAnswer
        ? answer.kind === 'status_type' || (this.isOlder && answer.kind === 'status_missing')
        : answer.retcode === RETCODE_INVALID_PARAMETERS;
    const [first, second] = this.#types;
    let answer = await sendAs(first);
    if (isUnread(answer) && (answer instanceof LostAnswer || !this.#isTypeKnown)) {
      earlier.push(answer);
      const other = await sendAs(second);
      const isBetter = !(other instanceof LostAnswer) && (answer instanceof LostAnswer || !isUnread(other));
      if (isBetter) this.#types = [second, first];
      answer = other;
    }
    if (isUnread(answer) && this.isOlder && !this.#isTypeKnown && request.query !== undefined) {
      earlier.push(answer);
      return this.#sendOnce({ path: buildPath(request.path, request.query) }, sendDeadline, signal);
    }
    if (answer instanceof LostAnswer) throw answer;
    this.#isTypeKnown ||= showsBodyRead(answer);
    return answer;
  }

  /** @throws LostAnswer if the answer proves nothing */
  async #sendOnce(request: WebApiRequest, sendDeadline: number, signal: AbortSignal): Promise<WebApiAnswer> {
    let answer = await this.#exchange(request, sendDeadline, signal);
    if (isDenied(answer)) {
      // The session has ended, or the path is forbidden: a new session shows which.
      this.#drop();
      answer = await this.#exchange(request, sendDeadline, signal);
    }
    const parsed = answer.status === 200 ? parseAnswer(answer.text) : undefined;
    if (parsed !== undefined) return parsed;
    const kind = answerKind(answer);
    if (isDenied(answer)) throw new PlatformFailure('platform_refused', { reason: FORBIDDEN, proof: 'not_served' });
    this.#drop();
    throw new LostAnswer(answer.status === 200 ? 'malformed_answer' : `http_${answer.status}`, kind);
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
