import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as v from 'valibot';
import { within } from '../../deadline.ts';
import type { WebApiSecret } from '../../records/crm-records.ts';
import { PlatformFailure } from '../platform.ts';
import { commandFailure, isDone, parseAnswer, parseMember } from './answers.ts';
import { exchange, type HttpAnswer, LostAnswer, type WebApiRequest } from './exchange.ts';
import { connectTls, type EarlyLine, type WebApiHost, type WebApiLine } from './tls.ts';

export interface SessionLimits {
  /** TCP and TLS, in milliseconds. */
  connectMs: number;
  /** Both steps of authentication, in milliseconds; the server itself allows 10 s between them. */
  authMs: number;
  /** The maximum idle time of a session, in milliseconds. The server drops it at 180 s. */
  idleMs: number;
  now: () => number;
}

/** An authenticated connection. There is no token: the session ends with the socket. */
export type WebApiSession = ReturnType<typeof createSession>;

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
export async function openSession(
  server: WebApiHost,
  secret: WebApiSecret,
  limits: SessionLimits,
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
    const answer = await exchange(line, server, { ...request, headers }, timeoutMs, signal);
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

function createSession(line: WebApiLine, send: Send, { idleMs, now }: SessionLimits) {
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
