import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { type Fault, STEP_FAULT_KINDS } from '../faults.ts';
import { refuseForeign } from '../listen.ts';
import { type Certificate, certificate } from './certificate.ts';
import { SimulatedPlatform, type SimulatedServer } from './simulated-server.ts';
import { type Reply, readParameters, reply, WebApiAccounts, type WebApiAccountsOptions } from './web-api-accounts.ts';
import { type Session, type SessionOptions, WebApiSessions } from './web-api-sessions.ts';

export interface WebApiServerOptions extends WebApiAccountsOptions, SessionOptions {
  /** 0 or absent: a free one. */
  port?: number;
  /** Paths that the manager may not use: 403, logged in or not. */
  forbiddenPaths?: string[];
  /** Default: a self-signed one for localhost. */
  certificate?: Certificate;
}

export type WebApiServer = SimulatedServer & {
  /** Every certificate is self-signed, so it is its own authority. */
  readonly ca: string;
  readonly fingerprint: string;
  /** How many sessions were opened so far. */
  readonly sessions: number;
  /** Forgets every session, but keeps the connections: their next command gets 403. */
  forgetSessions(): void;
};

const ACTING = ['/api/user/add', '/api/trade/balance'];
const UNCOUNTED = ['/api/test/access', '/api/quit'];
const GARBAGE = '\x00\xff\x17HTML/0.9 <garbage> {"retcode"';

/**
 * A tp5 server that speaks the Web API over HTTPS: the session is the connection, the proofs of both sides are
 * computed.
 *
 * Faults count commands, except authentication, `test/access` and `quit`. `throttled` is code 12, `refused` code 8.
 *
 * With the step `authentication` they count `auth/start` and `auth/answer` instead, and `refused` is 403, as for a
 * wrong proof. With the step `tls` they count connections, before TLS.
 */
export async function startWebApiServer(options: WebApiServerOptions): Promise<WebApiServer> {
  const server = new SimulatedWebApi(options, options.certificate ?? (await certificate()));
  await server.listen(options.port);
  return server;
}

class SimulatedWebApi extends SimulatedPlatform implements WebApiServer {
  readonly ca: string;
  readonly fingerprint: string;
  readonly #options: WebApiServerOptions;
  readonly #commands: WebApiAccounts;
  readonly #sessions: WebApiSessions;
  readonly #https: HttpsServer;

  constructor(options: WebApiServerOptions, { key, cert, fingerprint }: Certificate) {
    super(options.firstLogin ?? 1_000_001, STEP_FAULT_KINDS);
    this.ca = cert;
    this.fingerprint = fingerprint;
    this.#options = options;
    this.#commands = new WebApiAccounts(options, this);
    this.#sessions = new WebApiSessions(options);
    const listener = refuseForeign((request, response) => {
      this.#serve(request, response).catch(() => request.socket.destroy());
    });
    // The sessions have their own idle timeout; Node's would end one after five seconds.
    this.#https = createServer({ key, cert, keepAliveTimeout: 0, noDelay: true }, listener);
    this.#https.on('secureConnection', (socket: Socket) => this.#sessions.add(socket));
    this.#https.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  override async listen(port?: number): Promise<void> {
    await super.listen(port);
    const { onChange } = this.faults;
    this.faults.onChange = () => {
      onChange();
      if (this.faults.peek()?.kind === 'down') this.#sessions.endIdle();
    };
  }

  get sessions(): number {
    return this.#sessions.opened;
  }

  forgetSessions(): void {
    this.#sessions.forget();
  }

  /** A fault of the step `tls` happens before the server of HTTPS gets the connection. */
  protected override accept(socket: Socket): void {
    this.#enter(socket).catch(() => socket.destroy());
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
        await this.pause(fault);
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
    const fault = this.nextFault(ACTING.includes(path));
    this.down?.check();
    await this.faults.onCall({ name: path, fault, parameters });
    await this.#work(fault, () => this.#commands.work(path, parameters), session.socket, response);
  }

  #authenticate(path: string, session: Session, query: URLSearchParams, response: ServerResponse): Promise<void> {
    const step = path === '/api/auth/start' ? 'start' : 'finish';
    const execute = () => this.#sessions[step](session, query);
    return this.#work(this.faults.next('authentication'), execute, session.socket, response);
  }

  #work(
    fault: Fault | undefined,
    execute: () => Reply | undefined,
    socket: Socket,
    response: ServerResponse,
  ): Promise<void> {
    return this.perform(fault, {
      execute,
      refusal,
      answer: (content) => this.#answer(response, content),
      garbage: () => socket.write(GARBAGE, 'latin1'),
      end: (ending) => {
        const tcp = [...this.sockets].find(({ remotePort }) => remotePort === socket.remotePort);
        if (ending === 'orderly') socket.end();
        else if (ending === 'cut') tcp?.end();
        else if (ending === 'reset') tcp?.resetAndDestroy();
        else socket.destroy();
      },
    });
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
