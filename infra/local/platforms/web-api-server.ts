import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server as HttpsServer } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { generate } from 'selfsigned';
import type { Fault } from '../faults.ts';
import { refuseForeignRequests } from '../listen.ts';
import { SimulatedPlatform, type SimulatedServer } from './simulated-server.ts';
import {
  readParameters,
  retcodeReply,
  WebApiAccounts,
  type WebApiAccountsOptions,
  type WebApiReply,
} from './web-api-accounts.ts';

export interface WebApiServerOptions extends WebApiAccountsOptions {
  /** Absent or 0: a free port. */
  port?: number;
  /** Paths that the manager may not use: they are answered with 403, logged in or not. */
  forbiddenPaths?: string[];
  /** The idle timeout of a session, in milliseconds. */
  idleMs?: number;
  /** Absent: a self-signed certificate for localhost. */
  certificate?: Certificate;
  /** The content type that bodies must have, and the answer to another one. Default: any. */
  contentType?: { wants: 'application/x-www-form-urlencoded' | 'application/json'; refusal: '3' | '415' };
  /**
   * The server has the paths of older builds alone (`/auth_start`). It reads the body of
   * `/user_add`, or only its query: then it answers a body with code 3 or 404.
   */
  older?: 'body' | 'query_3' | 'query_404';
  /** The connection ends after 404, as web servers may do. */
  endsAfter404?: boolean;
  /** `auth/answer` sets a cookie; a command without it gets 403. */
  cookie?: boolean;
  /** How answers are written: with a byte order mark, or with control characters in strings. */
  answers?: 'plain' | 'byte_order_mark' | 'control_characters';
}

export type WebApiServer = SimulatedServer & {
  /** The authority to trust, PEM. Every certificate is self-signed, so it is its own authority. */
  readonly ca: string;
  /** The number of sessions that were opened so far. */
  readonly sessions: number;
  /** The number of open connections. */
  readonly connections: number;
  /** Forgets every session, but keeps the connections: their next command gets 403. */
  forgetSessions(): void;
};

const OPENING = '/api/user/add';
const ACTING = [OPENING, '/api/trade/balance'];
const UNCOUNTED = ['/api/test/access', '/api/quit'];
const PAGE = '<!doctype html><title>Proxy</title><p>No trading server here.</p>';
const GARBAGE = '\x00\xff\x17HTML/0.9 <garbage> {"retcode"';

/**
 * A tp5 server with the Web API over HTTPS: the session is the connection, the proofs of both sides are
 * computed.
 *
 * Faults count commands, except authentication, `test/access` and `quit`. `throttled` is code 12, `refused` code 8. A
 * code from 300 to 599 is a status of HTTP, and 200 a page of HTML.
 *
 * With the step `authentication` they count `auth/start` and `auth/answer` instead, and `refused` is 403, as for a
 * wrong proof. With the step `tls` they count connections, before TLS.
 */
export async function startWebApiServer(options: WebApiServerOptions): Promise<WebApiServer> {
  const server = new SimulatedWebApi(options, options.certificate ?? (await selfSignedCertificate()));
  await server.listen(options.port);
  return server;
}

interface Session {
  state: 'new' | 'started' | 'open';
  serverRandom: string;
  /** A request is being worked on. */
  busy: boolean;
}

const LOWEST_VERSION = 484;
/** The time that a connection has for its login, in milliseconds. */
const LOGIN_MS = 10_000;

class SimulatedWebApi extends SimulatedPlatform implements WebApiServer {
  readonly ca: string;
  sessions = 0;
  readonly #options: WebApiServerOptions;
  readonly #commands: WebApiAccounts;
  readonly #passwordHash: Buffer;
  readonly #https: HttpsServer;
  readonly #connections = new Map<Socket, Session>();

  constructor(options: WebApiServerOptions, { key, cert }: Certificate) {
    super(options.firstLogin ?? 1_000_001);
    this.ca = cert;
    this.#options = options;
    this.#commands = new WebApiAccounts(options, this);
    this.#passwordHash = md5(md5(Buffer.from(options.manager.password, 'utf16le')), Buffer.from('WebAPI'));
    const listener = refuseForeignRequests((request, response) => {
      this.#serve(request, response).catch(() => request.socket.destroy());
    });
    // The sessions have their own idle timeout; Node's would end one after five seconds.
    this.#https = createServer({ key, cert, keepAliveTimeout: 0, noDelay: true }, listener);
    this.#https.on('secureConnection', (socket: Socket) => this.#add(socket));
    this.#https.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#https.on('timeout', (socket: Socket) => {
      // A running command does not count as idle.
      if (this.#connections.get(socket)?.busy !== true) socket.destroy();
    });
  }

  override async listen(port?: number): Promise<void> {
    await super.listen(port);
    const { onChange } = this.faults;
    this.faults.onChange = () => {
      onChange();
      if (this.faults.peek()?.kind !== 'down') return;
      for (const [socket, { busy }] of this.#connections) if (!busy) socket.destroy();
    };
  }

  get connections(): number {
    return this.#connections.size;
  }

  forgetSessions(): void {
    for (const session of this.#connections.values()) session.state = 'new';
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

  /** Adds a connection. Each connection is a session, which ends with it. */
  #add(socket: Socket): void {
    this.#connections.set(socket, { state: 'new', serverRandom: '', busy: false });
    socket
      .setTimeout(LOGIN_MS)
      .on('error', () => {})
      .on('close', () => this.#connections.delete(socket));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    const session = this.#connections.get(socket);
    if (session === undefined) return void socket.destroy();
    session.busy = true;
    response.on('close', () => {
      session.busy = false;
    });
    const { path: asked, parameters, query } = await readParameters(request);
    const path = this.#path(asked);
    if (path === undefined) {
      response.shouldKeepAlive = this.#options.endsAfter404 !== true;
      return void response.writeHead(404, { 'content-length': 0 }).end();
    }
    const [, step] = /^\/api\/auth\/(start|answer)$/.exec(path) ?? [];
    if (step !== undefined) {
      const execute = () => (step === 'start' ? this.#start(session, query) : this.#finish(socket, session, query));
      if (step === 'answer' && this.#options.cookie === true) {
        response.setHeader('set-cookie', [
          `session=${session.serverRandom}; Path=/; Secure; HttpOnly`,
          'other=; Path=/',
        ]);
      }
      return this.#work(this.faults.next('authentication'), execute, socket, response);
    }
    const hasCookie = this.#options.cookie !== true || request.headers.cookie === `session=${session.serverRandom}`;
    if (session.state !== 'open' || !hasCookie || this.#options.forbiddenPaths?.includes(path)) {
      return this.#answer(response, undefined);
    }
    const { contentType, older } = this.#options;
    if (request.method === 'POST' && older !== undefined && older !== 'body') {
      this.commands += 1;
      if (older === 'query_3') return this.#answer(response, retcodeReply(3));
      return void response.writeHead(404, { 'content-length': 0 }).end();
    }
    if (request.method === 'POST' && contentType && request.headers['content-type'] !== contentType.wants) {
      this.commands += 1;
      if (contentType.refusal === '3') return this.#answer(response, retcodeReply(3));
      return void response.writeHead(415, { 'content-length': 0 }).end();
    }
    if (path === '/api/quit') response.shouldKeepAlive = false;
    if (UNCOUNTED.includes(path)) return this.#answer(response, retcodeReply(0));

    const fault = await this.nextFault({ name: path, parameters }, ACTING.includes(path));
    const execute = (ignoresLogin = false) =>
      this.#commands.work(path, ignoresLogin && path === OPENING ? { ...parameters, Login: '0' } : parameters);
    await this.#work(fault, execute, socket, response);
  }

  /** The path of today's builds; undefined: the server has no such path. */
  #path(asked: string): string | undefined {
    if (this.#options.older === undefined) return asked;
    return !asked.startsWith('/api/') ? `/api/${asked.slice(1).replace('_', '/')}` : undefined;
  }

  /** Answers `auth/start`, the first step of authentication. */
  #start(session: Session, query: URLSearchParams): WebApiReply {
    if (Number(query.get('version')) < LOWEST_VERSION) return retcodeReply(1010);
    if (query.get('type') !== 'manager') return retcodeReply(1017);
    if (Number(query.get('login')) !== this.#options.manager.login) return retcodeReply(1001);
    session.state = 'started';
    session.serverRandom = randomBytes(16).toString('hex');
    return retcodeReply(0, { version_access: '4150', srv_rand: session.serverRandom });
  }

  /** Answers `auth/answer`, the second step. @returns undefined for a wrong proof, which is answered with 403 */
  #finish(socket: Socket, session: Session, query: URLSearchParams): WebApiReply | undefined {
    const proof = query.get('srv_rand_answer')?.toLowerCase();
    const started = session.state === 'started';
    session.state = 'new';
    if (!started || proof !== this.#randomAnswer(session.serverRandom)) return undefined;
    session.state = 'open';
    this.sessions += 1;
    socket.setTimeout(this.#options.idleMs ?? 180_000);
    const cli_rand_answer = this.#randomAnswer(query.get('cli_rand') ?? '');
    return retcodeReply(0, { version_access: '4150', version_trade: '4150', cli_rand_answer });
  }

  #randomAnswer(random: string): string {
    return md5(this.#passwordHash, Buffer.from(random, 'hex')).toString('hex');
  }

  #work(
    fault: Fault | undefined,
    execute: (ignoresLogin?: boolean) => WebApiReply | undefined,
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

  #write(content: WebApiReply): string {
    const { answers = 'plain' } = this.#options;
    const text = JSON.stringify(content);
    if (answers === 'byte_order_mark') return `\ufeff${text}`;
    return answers === 'plain' ? text : withControlCharacters(text);
  }

  /** undefined: the path is forbidden or unknown. */
  #answer(response: ServerResponse, content: WebApiReply | undefined): void {
    // The port will be closed, so this was the connection's last answer.
    if (this.faults.peek()?.kind === 'down') response.shouldKeepAlive = false;
    if (content?.http_status !== undefined) {
      return void response.writeHead(content.http_status, { 'content-type': 'text/html' }).end(PAGE);
    }
    const text = content === undefined ? '403 Forbidden' : this.#write(content);
    response.writeHead(content === undefined ? 403 : 200, {
      'content-type': content === undefined ? 'text/plain' : 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  }
}

/** A JSON text as some servers write it: the control characters of strings are not escaped. */
function withControlCharacters(text: string): string {
  return text.replace(/\\([ntr])/g, (_, letter: 'n' | 't' | 'r') => ({ n: '\n', t: '\t', r: '\r' })[letter]);
}

/** @returns undefined for 403, as for a wrong proof */
function refusal({ kind, step, code = 2 }: Fault): WebApiReply | undefined {
  if (kind === 'throttled') return retcodeReply(12);
  const isStatus = code === 200 || (code >= 300 && code < 600);
  if (kind === 'retcode' || kind === 'executed_retcode')
    return isStatus ? retcodeReply(code, { http_status: code }) : retcodeReply(code);
  return step === undefined ? retcodeReply(8) : undefined;
}

function md5(...texts: Buffer[]): Buffer {
  return createHash('md5').update(Buffer.concat(texts)).digest();
}

export interface Certificate {
  /** PEM. */
  key: string;
  /** PEM; self-signed, so it is its own authority. */
  cert: string;
  /** SHA-256 of the certificate, hexadecimal with colons. */
  fingerprint: string;
}

/** A new self-signed certificate for these host names and addresses. */
export async function selfSignedCertificate(hosts: string[] = ['localhost', '127.0.0.1', '::1']): Promise<Certificate> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: hosts[0] ?? 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: hosts.map((host) => (isIP(host) === 0 ? { type: 2, value: host } : { type: 7, ip: host })),
      },
    ],
  });
  return { key, cert, fingerprint: new X509Certificate(cert).fingerprint256 };
}
