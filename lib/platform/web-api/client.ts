import { PlatformFailure } from '../platform.ts';
import { parseAnswer, type WebApiAnswer } from './answers.ts';
import { CONNECTION_CLOSED, LostAnswer, type WebApiRequest } from './exchange.ts';
import { openSession, type SessionLimits, type WebApiSecret, type WebApiSession } from './session.ts';
import type { WebApiHost } from './tls.ts';
import { turns } from './turns.ts';

export interface ClientLimits extends SessionLimits {
  /** One command, in milliseconds. */
  commandMs: number;
}

/** Commands to one server: one at a time, over one session that is kept and renewed when it is gone. */
export interface WebApiClient {
  /** Sees to it that a session stands. */
  ready(signal: AbortSignal): Promise<void>;
  /** A command that changes nothing: asked once more when the connection ended before the answer came. */
  ask(request: WebApiRequest, signal: AbortSignal): Promise<WebApiAnswer>;
  /**
   * A command that changes something: never sent again, except after a 403, which says that it was not carried out.
   * @throws LostAnswer when its bytes may have left and the outcome is not known; PlatformFailure when nothing happened
   */
  act(request: WebApiRequest, signal: AbortSignal): Promise<WebApiAnswer>;
  /** Waits for its turn and ends the session politely; whatever comes later has a session of its own. */
  close(): Promise<void>;
}

const QUIT_MS = 1_000;

export function webApiClient(server: WebApiHost, secret: WebApiSecret, limits: ClientLimits): WebApiClient {
  const takeTurn = turns();
  let kept: WebApiSession | undefined;
  let closed = false;

  async function inTurn<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const endTurn = await takeTurn(signal);
    try {
      return await work();
    } finally {
      if (closed) drop();
      endTurn();
    }
  }

  async function session(signal: AbortSignal): Promise<WebApiSession> {
    if (kept !== undefined && (await kept.usable())) return kept;
    drop();
    kept = await openSession(server, secret, limits, signal);
    return kept;
  }

  function drop(): void {
    kept?.destroy();
    kept = undefined;
  }

  async function exchange(request: WebApiRequest, signal: AbortSignal) {
    const current = await session(signal);
    if (signal.aborted) {
      throw new PlatformFailure('platform_unavailable', { reason: 'aborted_before_sending', retryAfterSeconds: 5 });
    }
    return current.exchange(request, limits.commandMs, signal);
  }

  async function send(request: WebApiRequest, signal: AbortSignal): Promise<WebApiAnswer> {
    let answer = await exchange(request, signal);
    if (answer.status === 403) {
      // The session is gone, or the path is forbidden: a new session tells which.
      drop();
      answer = await exchange(request, signal);
      if (answer.status === 403) throw new PlatformFailure('platform_refused', { reason: 'forbidden' });
    }
    const parsed = answer.status === 200 ? parseAnswer(answer.text) : undefined;
    if (parsed !== undefined) return parsed;
    drop();
    throw new LostAnswer(answer.status === 200 ? 'malformed_answer' : `http_${answer.status}`);
  }

  async function sendAgainWhenClosed(request: WebApiRequest, signal: AbortSignal): Promise<WebApiAnswer> {
    try {
      return await send(request, signal);
    } catch (error) {
      if (error instanceof LostAnswer && error.reason === CONNECTION_CLOSED) return send(request, signal);
      throw error;
    }
  }

  return {
    async ready(signal) {
      if (kept !== undefined && (await kept.usable())) return;
      await inTurn(signal, () => session(signal));
    },

    ask: (request, signal) =>
      inTurn(signal, async () => {
        try {
          return await sendAgainWhenClosed(request, signal);
        } catch (error) {
          if (!(error instanceof LostAnswer)) throw error;
          const { reason } = error;
          throw new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10, cause: error });
        }
      }),

    act: (request, signal) => inTurn(signal, () => send(request, signal)),

    close: () =>
      inTurn(undefined, async () => {
        closed = true;
        // Whether the goodbye arrives does not matter.
        if (await kept?.usable()) await kept?.exchange({ path: '/api/quit' }, QUIT_MS).catch(() => {});
      }),
  };
}
