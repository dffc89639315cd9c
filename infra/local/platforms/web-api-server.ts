import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server as HttpsServer } from 'node:https';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { type Fault, Faults, STEP_FAULT_KINDS } from '../faults.ts';
import { listen, refuseForeign } from '../listen.ts';
import { downtime } from '../stand-ins/downtime.ts';
import { type Certificate, certificate } from './certificate.ts';
import {
  ACTING_LATE_MS,
  type BulkAccounts,
  type SimulatedAccount,
  type SimulatedServer,
  UNDOCUMENTED_CODE,
} from './simulated-server.ts';
import { type Reply, reply, WebApiAccounts, type WebApiAccountsOptions } from './web-api-accounts.ts';
import { managerRecord } from './web-api-manager.ts';
import { readParameters } from './web-api-parameters.ts';
import { type Session, type SessionOptions, WebApiSessions } from './web-api-sessions.ts';

export interface WebApiServerOptions extends WebApiAccountsOptions, SessionOptions {
  /** 0 or absent: a free one. */
  port?: number;
  /** Paths that the manager may not use: 403, logged in or not. */
  forbiddenPaths?: string[];
  /** A self-signed one for localhost where absent. */
  certificate?: Certificate;
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

/** Commands that change something: the ones whose reply is worth losing. */
const ACTING = ['/api/user/add', '/api/trade/balance'];
const UNCOUNTED = ['/api/test/access', '/api/quit'];
const GARBAGE = '\x00\xff\x17HTML/0.9 <garbage> {"retcode"';

/**
 * A tp5 server that speaks the Web API over HTTPS: the session is the connection, the proofs of both sides are
 * computed.
 *
 * Faults count commands, except authentication, `test/access` and `quit`. `throttled`: code 12. `refused`: code 8, no
 * permission. `slow`: executes the command later, even if the client has gone. `late`: closes the connection and
 * executes the command later. `reply_lost`: executes it and resets the connection. Both wait for a command that changes
 * something. `session_dropped`: resets before. `retcode`: that code, without working, but for 9999. `silence`: neither
 * works nor answers. `garbage`: works it off and answers bytes that are not even HTTP.
 *
 * With the step `authentication` they count `auth/start` and `auth/answer` instead, and `refused` is 403, as for a
 * wrong proof. With the step `tls` they count connections, before anything of TLS is said.
 */
export async function startWebApiServer(options: WebApiServerOptions): Promise<WebApiServer> {
  const server = new SimulatedWebApi(options, options.certificate ?? (await certificate()));
  await server.listen();
  return server;
}

class SimulatedWebApi implements WebApiServer {
  readonly faults = new Faults(STEP_FAULT_KINDS);
  readonly ca: string;
  readonly fingerprint: string;
  port = 0;
  commands = 0;
  readonly #options: WebApiServerOptions;
  readonly #accounts: WebApiAccounts;
  readonly #sessions: WebApiSessions;
  readonly #https: HttpsServer;
  /** The port's own server: so a connection can go wrong before TLS comes to see it. */
  readonly #listener: Server;
  /** By the client's port. */
  readonly #connections = new Map<number, Socket>();
  readonly #closing = new AbortController();
  #down: ReturnType<typeof downtime> | undefined;

  constructor(options: WebApiServerOptions, { key, cert, fingerprint }: Certificate) {
    this.ca = cert;
    this.fingerprint = fingerprint;
    this.#options = options;
    this.#accounts = new WebApiAccounts(options);
    this.#sessions = new WebApiSessions(options);
    // The windows are kept by the sessions; Node's own would end an idle one after five seconds.
    const listener = refuseForeign((request, response) => {
      this.#serve(request, response).catch(() => request.socket.destroy());
    });
    this.#https = createServer({ key, cert, keepAliveTimeout: 0, noDelay: true }, listener);
    this.#https.on('secureConnection', (socket: Socket) => this.#sessions.add(socket));
    this.#https.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#listener = createTcpServer({ noDelay: true }, (socket) => {
      const { remotePort = 0 } = socket;
      this.#connections.set(remotePort, socket);
      socket.on('error', () => {}).on('close', () => this.#connections.delete(remotePort));
      this.#enter(socket).catch(() => socket.destroy());
    });
  }

  async listen(): Promise<void> {
    this.port = await listen(this.#listener, this.#options.port ?? 0);
    this.#down = downtime(this.#listener, this.faults);
    const { onChange } = this.faults;
    this.faults.onChange = () => {
      onChange();
      if (this.faults.peek()?.kind === 'down') this.#sessions.endIdle();
    };
  }

  get sessions(): number {
    return this.#sessions.opened;
  }

  accounts(): SimulatedAccount[] {
    return this.#accounts.list();
  }

  details(login: number) {
    return this.#accounts.details(login);
  }

  populate(bulk: BulkAccounts): void {
    this.#accounts.bulk = bulk;
  }

  edit(login: number, changes: Parameters<WebApiServer['edit']>[1]): void {
    this.#accounts.edit(login, changes);
  }

  remove(login: number): void {
    this.#accounts.remove(login);
  }

  access(login: number, password: string) {
    return this.#accounts.access(login, password);
  }

  forgetSessions(): void {
    this.#sessions.forget();
  }

  async close(): Promise<void> {
    this.#down?.stop();
    this.#closing.abort();
    await new Promise<void>((resolve) => {
      this.#listener.close(() => resolve());
      for (const socket of this.#connections.values()) socket.destroy();
    });
  }

  async #enter(socket: Socket): Promise<void> {
    const fault = this.faults.next('tls');
    switch (fault?.kind) {
      // Input is read and ignored, so that the close is noticed.
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
        await this.#pause(fault);
    }
    if (!socket.destroyed) this.#https.emit('connection', socket);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = this.#sessions.of(request.socket);
    if (session === undefined) return void request.socket.destroy();
    session.busy = true;
    response.on('close', () => {
      session.busy = false;
    });
    const { path, parameters, query } = await readParameters(request);
    this.#sessions.touch(session);
    if (path === '/api/auth/start' || path === '/api/auth/answer') {
      return this.#authenticate(path, session, query, response);
    }
    if (session.state !== 'open' || this.#options.forbiddenPaths?.includes(path)) {
      return this.#answer(response, undefined);
    }
    if (path === '/api/quit') response.shouldKeepAlive = false;
    if (UNCOUNTED.includes(path)) return this.#answer(response, reply(0));

    this.commands += 1;
    const fault = this.#nextFault(path);
    this.#down?.check();
    await this.faults.onCall({ name: path, fault, parameters });
    const { manager, rights = {} } = this.#options;
    const execute = () =>
      path === '/api/manager/get'
        ? managerRecord(manager.login, rights, parameters)
        : this.#accounts.work(path, parameters);
    await this.#work(fault, execute, session.socket, response);
  }

  #authenticate(path: string, session: Session, query: URLSearchParams, response: ServerResponse): Promise<void> {
    const step = path === '/api/auth/start' ? 'start' : 'finish';
    const execute = () => this.#sessions[step](session, query);
    return this.#work(this.faults.next('authentication'), execute, session.socket, response);
  }

  /** A lost reply, or a late deed, is one of a command that changes something. */
  #nextFault(path: string): Fault | undefined {
    const { kind } = this.faults.peek() ?? {};
    const waits = (kind === 'reply_lost' || kind === 'late') && !ACTING.includes(path);
    return waits ? undefined : this.faults.next();
  }

  async #work(
    fault: Fault | undefined,
    execute: () => Reply | undefined,
    socket: Socket,
    response: ServerResponse,
  ): Promise<void> {
    if (fault === undefined) return this.#answer(response, execute());
    switch (fault.kind) {
      case 'slow':
        await this.#pause(fault);
        return this.#answer(response, execute());
      case 'late':
        this.#endConnection(socket, fault);
        await this.#pause(fault);
        execute();
        return;
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
        return;
      default:
        if (fault.kind === 'retcode' && fault.code === UNDOCUMENTED_CODE) execute();
        return this.#answer(response, refusal(fault));
    }
  }

  #endConnection(socket: Socket, { ending = 'orderly' }: Fault): void {
    const tcp = this.#connections.get(socket.remotePort ?? 0);
    if (ending === 'orderly') socket.end();
    else if (ending === 'cut') tcp?.end();
    else tcp?.resetAndDestroy();
  }

  async #pause({ ms = ACTING_LATE_MS }: Fault): Promise<void> {
    await this.faults.pause(ms, this.#closing.signal);
  }

  /** undefined: the path is forbidden or unknown. */
  #answer(response: ServerResponse, content: Reply | undefined): void {
    // Once the port is to be closed, this was the connection's last answer.
    if (this.faults.peek()?.kind === 'down') response.shouldKeepAlive = false;
    const text = content === undefined ? '403 Forbidden' : JSON.stringify(content);
    response.writeHead(content === undefined ? 403 : 200, {
      'content-type': content === undefined ? 'text/plain' : 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  }
}

/** @returns undefined for 403, as for a wrong proof */
function refusal({ kind, step, code = 2 }: Fault): Reply | undefined {
  if (kind === 'throttled') return reply(12);
  if (kind === 'retcode') return reply(code);
  return step === undefined ? reply(8) : undefined;
}
