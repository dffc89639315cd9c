import { createHash, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { type Reply, reply, type WebApiAccountsOptions } from './web-api-accounts.ts';

export interface SessionOptions extends Pick<WebApiAccountsOptions, 'manager'> {
  /** The idle timeout of a session, in milliseconds. */
  idleMs?: number;
}

export interface Session {
  readonly socket: Socket;
  state: 'new' | 'started' | 'open';
  serverRandom: string;
  timer: NodeJS.Timeout | undefined;
  /** A request is being worked on. */
  busy: boolean;
}

const LOWEST_VERSION = 484;
/** How long a connection may take to log in, in milliseconds. */
const LOGIN_MS = 10_000;

/**
 * The sessions of a simulated tp5 server: each is a connection, and ends with it. The proofs of both sides are
 * computed.
 */
export class WebApiSessions {
  /** How many were opened so far. */
  opened = 0;
  readonly #manager: SessionOptions['manager'];
  readonly #passwordHash: Buffer;
  readonly #idleMs: number;
  readonly #sessions = new Map<Socket, Session>();

  constructor({ manager, idleMs = 180_000 }: SessionOptions) {
    this.#manager = manager;
    this.#passwordHash = md5(md5(Buffer.from(manager.password, 'utf16le')), Buffer.from('WebAPI'));
    this.#idleMs = idleMs;
  }

  add(socket: Socket): void {
    const session: Session = { socket, state: 'new', serverRandom: '', timer: undefined, busy: false };
    this.#sessions.set(socket, session);
    this.touch(session);
    socket
      .on('error', () => {})
      .on('close', () => {
        clearTimeout(session.timer);
        this.#sessions.delete(socket);
      });
  }

  of(socket: Socket): Session | undefined {
    return this.#sessions.get(socket);
  }

  /** Begins the idle timeout again, which a session has once it is open. A running command does not count as idle. */
  touch(session: Session): void {
    clearTimeout(session.timer);
    session.timer = setTimeout(
      () => {
        if (session.busy) this.touch(session);
        else session.socket.destroy();
      },
      session.state === 'open' ? this.#idleMs : LOGIN_MS,
    ).unref();
  }

  /** `auth/start` */
  start(session: Session, query: URLSearchParams): Reply {
    if (Number(query.get('version')) < LOWEST_VERSION) return reply(1010);
    if (query.get('type') !== 'manager') return reply(1017);
    if (Number(query.get('login')) !== this.#manager.login) return reply(1001);
    session.state = 'started';
    session.serverRandom = randomBytes(16).toString('hex');
    return reply(0, { version_access: '4150', srv_rand: session.serverRandom });
  }

  /** `auth/answer`; @returns undefined for a wrong proof, which is answered with 403 */
  finish(session: Session, query: URLSearchParams): Reply | undefined {
    const proof = query.get('srv_rand_answer')?.toLowerCase();
    const started = session.state === 'started';
    session.state = 'new';
    if (!started || proof !== this.#randomAnswer(session.serverRandom)) return undefined;
    session.state = 'open';
    this.opened += 1;
    this.touch(session);
    const cli_rand_answer = this.#randomAnswer(query.get('cli_rand') ?? '');
    return reply(0, { version_access: '4150', version_trade: '4150', cli_rand_answer });
  }

  /** Forgets every session, but keeps the connections. */
  forget(): void {
    for (const session of this.#sessions.values()) session.state = 'new';
  }

  /** Ends the connections on which nothing is being worked on. */
  endIdle(): void {
    for (const { busy, socket } of this.#sessions.values()) if (!busy) socket.destroy();
  }

  #randomAnswer(random: string): string {
    return md5(this.#passwordHash, Buffer.from(random, 'hex')).toString('hex');
  }
}

function md5(...texts: Buffer[]): Buffer {
  const digest = createHash('md5');
  for (const text of texts) digest.update(text);
  return digest.digest();
}
