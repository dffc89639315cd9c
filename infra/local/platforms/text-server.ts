import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Fault } from '../faults.ts';
import { SimulatedPlatform, type SimulatedServer } from './simulated-server.ts';
import { type Reply, TextAccounts, type TextServerOptions } from './text-accounts.ts';

/** The longest line that is read; a longer one closes the connection. */
const MAX_LINE = 1_023;
const GARBAGE = '\x00\xffHTTP/1.0 418\r\n\r\n<html>LOGIN=1</html>';

/**
 * The answers of the fault `retcode`, by the equivalent return code of the tp5 Web API; from 9001 on codes of
 * this server.
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
  9999: 'internal error 9999',
};

/**
 * A trading server that speaks the text protocol, as careless as real ones, so that an injection would succeed.
 *
 * Faults count commands. `throttled`: `IP is blocked`. `refused`: an address that is not listed, so the gateway answers
 * `illegal IP` and the plug-in closes silently. `retcode`: the `ERROR` of `RETURN_CODES`.
 */
export async function startTextServer(options: TextServerOptions): Promise<SimulatedServer> {
  const server = new SimulatedTextServer(options);
  await server.listen(options.port);
  return server;
}

class SimulatedTextServer extends SimulatedPlatform {
  readonly #options: TextServerOptions;
  readonly #commands: TextAccounts;

  constructor(options: TextServerOptions) {
    super(options.firstLogin ?? 100_001);
    this.#options = options;
    this.#commands = new TextAccounts(options, this);
  }

  /** Reads one line and ignores the rest. */
  protected override accept(socket: Socket): void {
    let received = '';
    const onData = (bytes: Buffer) => {
      received += bytes.toString('latin1');
      const length = received.indexOf('\n');
      if (length === -1 && received.length <= MAX_LINE) return;
      socket.off('data', onData).resume();
      if (length === -1 || length > MAX_LINE) socket.end();
      else this.#serve(socket, received.slice(0, length).replace(/\r$/, '')).catch(() => socket.destroy());
    };
    socket.on('data', onData);
  }

  async #serve(socket: Socket, line: string): Promise<void> {
    this.commands += 1;
    const fault = this.nextFault(line.startsWith('WNEWACCOUNT'));
    this.down?.check();
    await this.faults.onCall({ name: line.split(' ', 1)[0] ?? '', fault });
    await this.perform<Reply>(fault, {
      execute: () => (this.#isListed(socket) ? this.#commands.work(line) : this.#unlisted()),
      refusal: (one) => this.#refusal(one),
      answer: (reply) => this.#answer(socket, reply),
      garbage: () => this.#send(socket, GARBAGE),
      end: (ending) => (ending === 'dropped' || ending === 'reset' ? socket.resetAndDestroy() : socket.end()),
    });
  }

  #isListed({ remoteAddress = '' }: Socket): boolean {
    return this.#options.allowedAddresses?.includes(remoteAddress) ?? true;
  }

  #unlisted(): Reply {
    return this.#options.dialect === 'interface-gateway' ? ['ERROR', 'illegal IP'] : 'closes';
  }

  #refusal({ kind, code = 0 }: Fault): Reply {
    if (kind === 'refused') return this.#unlisted();
    return ['ERROR', RETURN_CODES[kind === 'throttled' ? 12 : code] ?? 'account create failed'];
  }

  async #answer(socket: Socket, reply: Reply): Promise<void> {
    // The gateway's answer has no line end.
    const end = this.#options.dialect === 'interface-gateway' ? 'end' : 'end\r\n';
    if (reply === 'closes') socket.end();
    else if (reply !== 'silent') await this.#send(socket, reply.map((line) => `${line}\r\n`).join('') + end);
  }

  async #send(socket: Socket, text: string): Promise<void> {
    const { packetBytes = 1 } = this.#options;
    for (let at = 0; at < text.length && socket.writable; at += packetBytes) {
      socket.write(text.slice(at, at + packetBytes), 'latin1');
      await nextTurn();
    }
    socket.end();
  }
}
