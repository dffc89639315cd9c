import { Agent, type AgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';

type ConnectionOptions = Parameters<Agent['createConnection']>[0];

/** The part of an SDK command that is needed here: its list of steps. */
interface Command {
  middlewareStack: {
    add(
      middleware: () => <Args>(args: Args) => Promise<never>,
      options: { step: 'deserialize'; priority: 'high' },
    ): void;
  };
}

/** Where a request goes. */
interface Endpoint {
  protocol: string;
  hostname: string;
  port?: number;
}

/** As the SDK's clients have them by themselves. */
export const KEPT_CONNECTIONS = { keepAlive: true, maxSockets: 50 };

/**
 * The connections of one client, one of which can stand before its request is known: to connect takes three round trips
 * (TCP, TLS and the request's own), and two of them can pass while something else is waited for.
 */
export class EarlyConnection extends Agent {
  #endpoint: Endpoint | undefined;
  #early: Duplex | null | undefined;
  #ahead: number;

  /** @param ahead so many of the first connections make the next one with them, for the calls that will go beside theirs */
  constructor(options: AgentOptions, ahead = 0) {
    super(options);
    this.#ahead = ahead;
  }

  /**
   * Connects to where the client's requests go. The first time, the SDK works on the command up to the moment when it would
   * leave: that tells the place, and all that a first request loads is loaded then. Nothing is sent, and nothing fails.
   */
  async prepare<C extends Command>(command: C, send: (command: C) => Promise<unknown>): Promise<void> {
    if (this.#endpoint === undefined) {
      command.middlewareStack.add(
        () => async (args) => {
          this.#endpoint = (args as { request: Endpoint }).request;
          throw new Error('It stops here.');
        },
        { step: 'deserialize', priority: 'high' },
      );
      await send(command).catch(() => {});
    }
    const { protocol, hostname: host, port = 443 } = this.#endpoint ?? {};
    if (protocol === 'https:') this.#connect({ ...this.options, host, port, servername: host });
  }

  #connect(options: ConnectionOptions): void {
    this.#early?.destroy();
    this.#early = super.createConnection(options);
    // The request that needs it connects anew, and says what is wrong.
    this.#early?.on('error', () => {});
  }

  override createConnection(options: ConnectionOptions, ...rest: never[]): ReturnType<Agent['createConnection']> {
    const early = this.#early;
    this.#early = undefined;
    if (this.#ahead > 0) this.#connect(options);
    this.#ahead -= 1;
    return early?.writable ? early : super.createConnection(options, ...rest);
  }
}
