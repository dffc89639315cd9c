import { createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type Fault, Faults } from '../faults.ts';
import { listen } from '../listen.ts';
import { downtime } from '../stand-ins/downtime.ts';
import type { SimulatedGroup, SimulatedServer } from './simulated-server.ts';
import { type AccountDetails, TextAccounts } from './text-accounts.ts';

export interface TextServerOptions {
  dialect: 'web-registration' | 'interface-gateway';
  /** 0 or absent: a free one. */
  port?: number;
  master: string;
  /** In the plug-in's order: the first one has index 1. */
  groups: SimulatedGroup[];
  /** In which names are shown; the server itself only knows bytes. */
  codePage?: string;
  firstLogin?: number;
  /** Client addresses that are listened to; absent: any. */
  allowedAddresses?: string[];
  /** How long the plug-in makes one `IP=` wait between two accounts. */
  floodSeconds?: number;
  /** False: an older gateway, without `WCHKACCOUNT` and `WCHECKPASS`. */
  looksUp?: boolean;
  /** How many bytes of an answer go out in one packet. */
  packetBytes?: number;
  /** What closes an answer; the gateway's has no line end. `none`: it is left out. */
  end?: 'line' | 'bare' | 'none';
  now?: () => number;
}

/** The longest line that is read; a longer one is thrown away. */
const MAX_LINE = 1_023;

export interface TextServer extends SimulatedServer {
  /** What is kept of an account beside what is listed. */
  details(login: number): AccountDetails | undefined;
}

/**
 * What the fault `retcode` answers, by the return code of the tp5 Web API that means the same; from 9001 on by a code of
 * its own, where no return code does.
 */
const RETURN_CODES: Record<number, string> = {
  3: 'invalid data',
  8: 'invalid GROUP',
  10: 'MT is disconnected',
  12: 'IP is blocked. Please wait 20 secs and try again.',
  1001: 'invalid MASTER',
  1012: 'illegal IP',
  3004: 'account create failed',
  3006: 'simple password',
  9001: 'invalid LEVERAGE',
  9002: 'invalid NAME',
  9003: 'invalid PASSWORD',
  9004: 'invalid CMD',
  9011: 'miss MASTER',
  9012: 'miss NAME',
  9013: 'miss PASSWORD',
  9014: 'miss INVESTOR',
};

/** An answer: its lines without `end`; undefined: the server says nothing and closes. */
export type Reply = string[] | undefined;

/**
 * A trading server that speaks the text protocol, with all the carelessness of the real ones, so that an injection
 * really works on it.
 *
 * Faults count commands. `throttled`: `IP is blocked`. `refused`: an address that is not listed, so the gateway answers
 * `illegal IP` and the plug-in closes in silence. `slow`: works the command off later, whether the client still waits
 * or not. `reply_lost`: works it off, then resets; it waits for a command that opens an account. `session_dropped`:
 * resets before. `silence`: neither works nor answers. `garbage`: works it off and answers nonsense. `retcode`: the
 * `ERROR` of `RETURN_CODES`, without working.
 */
export async function startTextServer(options: TextServerOptions): Promise<TextServer> {
  const { dialect, packetBytes = 1, allowedAddresses } = options;
  const gateway = dialect === 'interface-gateway';
  const end = { line: 'end\r\n', bare: 'end', none: '' }[options.end ?? (gateway ? 'bare' : 'line')];
  const accounts = new TextAccounts(options);
  const faults = new Faults();
  const sockets = new Set<Socket>();
  const closing = new AbortController();
  let commands = 0;

  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    let received = '';
    const onData = (bytes: Buffer) => {
      received += bytes.toString('latin1');
      const length = received.indexOf('\n');
      if (length === -1 && received.length <= MAX_LINE) return;
      socket.off('data', onData).resume();
      if (length === -1 || length > MAX_LINE) socket.end();
      else serve(socket, received.slice(0, length)).catch(() => socket.destroy());
    };
    socket.on('data', onData);
  });

  async function serve(socket: Socket, line: string): Promise<void> {
    commands += 1;
    const waits = faults.peek()?.kind === 'reply_lost' && !line.startsWith('WNEWACCOUNT');
    const fault = waits ? undefined : faults.next();
    down.check();
    const work = () => (isListed(socket) ? accounts.work(line.replace(/\r$/, '')) : unlisted());
    if (fault === undefined) return answer(socket, work());
    switch (fault.kind) {
      case 'slow':
        await sleep(fault.ms ?? 1_000, undefined, { signal: closing.signal });
        return answer(socket, work());
      case 'reply_lost':
        work();
        socket.resetAndDestroy();
        return;
      case 'session_dropped':
      case 'down':
        socket.resetAndDestroy();
        return;
      case 'silence':
        return;
      case 'garbage':
        work();
        return send(socket, '\x00\xffHTTP/1.0 418\r\n\r\n<html>LOGIN=1</html>');
      default:
        return answer(socket, refusal(fault));
    }
  }

  function isListed(socket: Socket): boolean {
    return allowedAddresses === undefined || allowedAddresses.includes(socket.remoteAddress ?? '');
  }

  function unlisted(): Reply {
    return gateway ? ['ERROR', 'illegal IP'] : undefined;
  }

  function refusal(fault: Fault): Reply {
    if (fault.kind === 'refused') return unlisted();
    return ['ERROR', RETURN_CODES[fault.kind === 'throttled' ? 12 : (fault.code ?? 0)] ?? 'account create failed'];
  }

  async function answer(socket: Socket, reply: Reply): Promise<void> {
    if (reply === undefined) socket.end();
    else await send(socket, reply.map((line) => `${line}\r\n`).join('') + end);
  }

  async function send(socket: Socket, text: string): Promise<void> {
    for (let at = 0; at < text.length && socket.writable; at += packetBytes) {
      socket.write(text.slice(at, at + packetBytes), 'latin1');
      await nextTurn();
    }
    socket.end();
  }

  const port = await listen(server, options.port ?? 0);
  const down = downtime(server, faults);

  return {
    port,
    faults,
    accounts: () => accounts.list(),
    access: (login, password) => accounts.access(login, password),
    details: (login) => accounts.details(login),
    get commands() {
      return commands;
    },
    async close() {
      down.stop();
      closing.abort();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      });
    },
  };
}
