import type { WebApiSecret } from '../../records/crm-records.ts';
import { assertMaySend, PlatformFailure, unsentFailure } from '../platform.ts';
import {
  commandFailure,
  INVALID_PARAMETERS,
  isDone,
  parseAnswer,
  showsBodyRead,
  type WebApiAnswer,
} from './answers.ts';
import { CONNECTION_CLOSED, type HttpAnswer, LostAnswer, type WebApiRequest } from './exchange.ts';
import { createMutex } from './mutex.ts';
import { openSession, type SessionLimits, type WebApiSession } from './session.ts';
import type { EarlyLine, WebApiHost } from './tls.ts';

export interface ClientLimits extends SessionLimits {
  /** One command, in milliseconds. */
  commandMs: number;
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
