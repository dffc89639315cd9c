import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Fault, Faults, STEP_FAULT_KINDS } from '../faults.ts';
import { listen } from '../listen.ts';
import { downtime } from '../stand-ins/downtime.ts';
import { type Certificate, certificate } from './certificate.ts';
import type { SimulatedServer } from './simulated-server.ts';
import { type Reply, reply, WebApiAccounts, type WebApiAccountsOptions } from './web-api-accounts.ts';
import { readParameters } from './web-api-parameters.ts';

export interface WebApiServerOptions extends WebApiAccountsOptions {
  /** 0 or absent: a free one. */
  port?: number;
  /** The manager that may log in, with its API password. */
  manager: { login: number; password: string };
  /** Paths that the manager may not use: 403, logged in or not. */
  forbiddenPaths?: string[];
  /** A self-signed one for localhost where absent. */
  certificate?: Certificate;
  /** How long after `auth/start` the answer may come, in milliseconds. */
  authWindowMs?: number;
  /** How long a session lives without a request, in milliseconds. */
  idleMs?: number;
}

export interface WebApiServer extends SimulatedServer {
  /** Every certificate is self-signed, so it is its own authority. */
  readonly ca: string;
  readonly fingerprint: string;
  /** How many sessions were opened so far. */
  readonly sessions: number;
  /** Forgets every session, but keeps the connections: their next command gets 403. */
  forgetSessions(): void;
}

interface Session {
  state: 'new' | 'started' | 'open';
  serverRandom: string;
  timer: NodeJS.Timeout | undefined;
  /** A request is being worked on. */
  busy: boolean;
}

const LOWEST_VERSION = 484;
/** Commands that change something: the ones whose reply is worth losing. */
const ACTING = ['/api/user/add', '/api/user/delete', '/api/trade/balance'];
const UNCOUNTED = ['/api/test/access', '/api/quit'];
const GARBAGE = '\x00\xff\x17HTML/0.9 <garbage> {"retcode"';

/**
 * A tp5 server that speaks the Web API over HTTPS: the session is the connection, the proofs of both sides are computed.
 *
 * Faults count commands, beside authentication, `test/access` and `quit`. `throttled`: code 12. `refused`: code 8, no
 * permission. `slow`: works the command off later, whether the client still waits or not. `reply_lost`: works it off and
 * resets the connection; it waits for a command that changes something. `session_dropped`: resets before. `retcode`:
 * that code, without working. `silence`: neither works nor answers. `garbage`: works it off and answers bytes that are
 * not even HTTP.
 *
 * With the step `authentication` they count `auth/start` and `auth/answer` instead, and `refused` is 403, as for a wrong
 * proof. With the step `tls` they count connections, before anything of TLS is said.
 */
export async function startWebApiServer(options: WebApiServerOptions): Promise<WebApiServer> {
  const { manager, forbiddenPaths = [], authWindowMs = 10_000, idleMs = 180_000 } = options;
  const { key, cert, fingerprint } = options.certificate ?? (await certificate());
  const accounts = new WebApiAccounts(options);
  const faults = new Faults(STEP_FAULT_KINDS);
  const connections = new Set<Socket>();
  const sessions = new Map<Socket, Session>();
  const closing = new AbortController();
  const passwordHash = md5(md5(Buffer.from(manager.password, 'utf16le')), Buffer.from('WebAPI'));
  let opened = 0;
  let commands = 0;

  // The windows are kept here; Node's own would end an idle session after five seconds.
  const server = createServer({ key, cert, keepAliveTimeout: 0, noDelay: true }, (request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  server.on('secureConnection', (socket: Socket) => {
    const session: Session = { state: 'new', serverRandom: '', timer: undefined, busy: false };
    sessions.set(socket, session);
    expire(socket, session, idleMs);
    socket
      .on('error', () => {})
      .on('close', () => {
        clearTimeout(session.timer);
        sessions.delete(socket);
      });
  });
  server.on('tlsClientError', (_error, socket) => socket.destroy());

  // The port's own server: so a connection can go wrong before TLS comes to see it.
  const door = createTcpServer({ noDelay: true }, (socket) => {
    connections.add(socket);
    socket.on('error', () => {}).on('close', () => connections.delete(socket));
    enter(socket).catch(() => socket.destroy());
  });

  async function enter(socket: Socket): Promise<void> {
    const fault = faults.next('tls');
    switch (fault?.kind) {
      // What comes is read and thrown away: so the end of the connection is seen too.
      case 'silence':
        socket.resume();
        return;
      case 'garbage':
        socket.resume().write(GARBAGE, 'latin1');
        return;
      case 'session_dropped':
        socket.destroy();
        return;
      case 'slow':
        await sleep(fault.ms ?? 1_000, undefined, { signal: closing.signal });
    }
    if (!socket.destroyed) server.emit('connection', socket);
  }

  function expire(socket: Socket, session: Session, afterMs: number): void {
    clearTimeout(session.timer);
    session.timer = setTimeout(() => {
      // What is being worked on is no silence of the client.
      if (session.busy) expire(socket, session, afterMs);
      else socket.destroy();
    }, afterMs).unref();
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    const session = sessions.get(socket);
    if (session === undefined) return void socket.destroy();
    session.busy = true;
    response.on('close', () => {
      session.busy = false;
    });
    const { path, parameters, query } = await readParameters(request);
    // The time for the proof goes on whatever else is asked.
    if (session.state !== 'started') expire(socket, session, idleMs);
    const authenticate = { '/api/auth/start': startAuth, '/api/auth/answer': endAuth }[path];
    if (authenticate !== undefined) {
      return work(faults.next('authentication'), () => authenticate(socket, session, query), socket, response);
    }
    if (session.state !== 'open' || forbiddenPaths.includes(path)) return answer(response, undefined);
    if (path === '/api/quit') response.shouldKeepAlive = false;
    if (UNCOUNTED.includes(path)) return answer(response, reply(0));

    commands += 1;
    const waits = faults.peek()?.kind === 'reply_lost' && !ACTING.includes(path);
    const fault = waits ? undefined : faults.next();
    down.check();
    await work(fault, () => accounts.work(path, parameters), socket, response);
  }

  async function work(
    fault: Fault | undefined,
    execute: () => Reply | undefined,
    socket: Socket,
    response: ServerResponse,
  ): Promise<void> {
    switch (fault?.kind) {
      case undefined:
        return answer(response, execute());
      case 'throttled':
        return answer(response, reply(12));
      case 'refused':
        return answer(response, fault.step === undefined ? reply(8) : undefined);
      case 'retcode':
        return answer(response, reply(fault.code ?? 2));
      case 'slow':
        await sleep(fault.ms ?? 1_000, undefined, { signal: closing.signal });
        return answer(response, execute());
      case 'silence':
        return;
      case 'garbage':
        execute();
        socket.write(GARBAGE, 'latin1');
        return;
      case 'reply_lost':
        execute();
        socket.destroy();
        return;
      case 'session_dropped':
      case 'down':
        socket.destroy();
    }
  }

  function startAuth(socket: Socket, session: Session, query: URLSearchParams): Reply {
    if (Number(query.get('version')) < LOWEST_VERSION) return reply(1010);
    if (query.get('type') !== 'manager') return reply(1017);
    if (Number(query.get('login')) !== manager.login) return reply(1001);
    session.state = 'started';
    session.serverRandom = randomBytes(16).toString('hex');
    expire(socket, session, authWindowMs);
    return reply(0, { version_access: '4150', srv_rand: session.serverRandom });
  }

  /** @returns undefined for a wrong proof, which is answered with 403 */
  function endAuth(socket: Socket, session: Session, query: URLSearchParams): Reply | undefined {
    const proof = query.get('srv_rand_answer')?.toLowerCase();
    const started = session.state === 'started';
    session.state = 'new';
    if (!started || proof !== randomAnswer(session.serverRandom)) return undefined;
    session.state = 'open';
    opened += 1;
    expire(socket, session, idleMs);
    const cli_rand_answer = randomAnswer(query.get('cli_rand') ?? '');
    return reply(0, { version_access: '4150', version_trade: '4150', cli_rand_answer });
  }

  function randomAnswer(random: string): string {
    return md5(passwordHash, Buffer.from(random, 'hex')).toString('hex');
  }

  /** undefined: what the path asks for is not allowed, or not there. */
  function answer(response: ServerResponse, content: Reply | undefined): void {
    // Once the port is to be closed, this was the connection's last answer.
    if (faults.peek()?.kind === 'down') response.shouldKeepAlive = false;
    const text = content === undefined ? '403 Forbidden' : JSON.stringify(content);
    response.writeHead(content === undefined ? 403 : 200, {
      'content-type': content === undefined ? 'text/plain' : 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  }

  const port = await listen(door, options.port ?? 0);
  const down = downtime(door, faults);
  const { onChange } = faults;
  faults.onChange = () => {
    onChange();
    if (faults.peek()?.kind !== 'down') return;
    for (const [socket, { busy }] of sessions) if (!busy) socket.destroy();
  };

  return {
    port,
    ca: cert,
    fingerprint,
    faults,
    accounts: () => accounts.list(),
    access: (login, password) => accounts.access(login, password),
    get commands() {
      return commands;
    },
    get sessions() {
      return opened;
    },
    forgetSessions() {
      for (const session of sessions.values()) session.state = 'new';
    },
    async close() {
      down.stop();
      closing.abort();
      await new Promise<void>((resolve) => {
        door.close(() => resolve());
        for (const socket of connections) socket.destroy();
      });
    },
  };
}

function md5(...parts: Buffer[]): Buffer {
  const digest = createHash('md5');
  for (const part of parts) digest.update(part);
  return digest.digest();
}
