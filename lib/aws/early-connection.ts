import { Agent } from 'node:https';
import type { Duplex } from 'node:stream';

/** The part of an SDK command that is needed here: its list of steps. */
interface Command {
  middlewareStack: {
    add(
      middleware: () => <Args>(args: Args) => Promise<never>,
      options: { step: 'deserialize'; priority: 'high'; name: string },
    ): void;
  };
}

/** Where a request goes. */
interface Place {
  protocol: string;
  hostname: string;
  port?: number;
}

class NothingSent extends Error {
  override readonly name = 'NothingSent';
}

/**
 * The connections of one client, one of which can stand before its request is known: to connect takes three round trips
 * (TCP, TLS and the request's own), and two of them can pass while something else is waited for.
 */
export class EarlyConnection extends Agent {
  #place: Place | undefined;
  #early: Duplex | null | undefined;

  /**
   * Connects to where the client's requests go. The first time, the SDK works on the command up to the moment when it would
   * leave: that tells the place, and all that a first request loads is loaded then. Nothing is sent, and nothing fails.
   */
  async prepare<C extends Command>(command: C, send: (command: C) => Promise<unknown>): Promise<void> {
    if (this.#place === undefined) {
      command.middlewareStack.add(
        () => async (args) => {
          this.#place = (args as { request: Place }).request;
          throw new NothingSent('The command stops here.');
        },
        { step: 'deserialize', priority: 'high', name: 'stopBeforeDeparture' },
      );
      await send(command).catch(() => {});
    }
    if (this.#place !== undefined) this.#connect(this.#place);
  }

  #connect({ protocol, hostname: host, port = 443 }: Place): void {
    if (protocol !== 'https:') return;
    this.#early?.destroy();
    this.#early = super.createConnection({ ...this.options, host, port, servername: host });
    // The request that needs it connects anew, and says what is wrong.
    this.#early?.on('error', () => {});
  }

  override createConnection(...options: Parameters<Agent['createConnection']>): ReturnType<Agent['createConnection']> {
    const early = this.#early;
    this.#early = undefined;
    return early?.writable ? early : super.createConnection(...options);
  }
}
