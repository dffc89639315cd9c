import { Agent, type AgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';

type ConnectionOptions = Parameters<Agent['createConnection']>[0];

/** An SDK command, with its middleware. */
export interface SdkCommand {
  middlewareStack: {
    add(
      middleware: <Args, Result>(next: (args: Args) => Promise<Result>) => (args: Args) => Promise<Result>,
      options: { step: 'deserialize'; priority: 'low' },
    ): void;
  };
}

/** The endpoint of a request. */
interface Endpoint {
  protocol: string;
  hostname: string;
  port?: number;
}

/** Calls a function right before the SDK sends the command. If it throws, nothing is sent. */
export function addBeforeSend(command: SdkCommand, run: (request: Endpoint) => void): void {
  command.middlewareStack.add(
    (next) => async (args) => {
      run((args as { request: Endpoint }).request);
      return next(args);
    },
    { step: 'deserialize', priority: 'low' },
  );
}

/** The defaults of the SDK's clients. */
export const KEEP_ALIVE_OPTIONS = { keepAlive: true, maxSockets: 50 };

/**
 * The agent of one client, which can open a connection before the request is known. A request on a new connection takes
 * three round trips. Two of them, TCP and TLS, then overlap with other work.
 */
export class EarlyConnectionAgent extends Agent {
  #endpoint: Endpoint | undefined;
  #early: Duplex | null | undefined;
  #ahead: number;

  /** @param ahead how many of the first connections also open the next one, for calls that run in parallel */
  constructor(options: AgentOptions, ahead = 0) {
    super(options);
    this.#ahead = ahead;
  }

  /**
   * Connects to the client's endpoint. The first time, the SDK prepares the command up to the moment of sending, which
   * reveals the endpoint and loads all that a first request needs. Sends nothing and never fails.
   */
  async prepare<C extends SdkCommand>(command: C, send: (command: C) => Promise<unknown>): Promise<void> {
    if (this.#endpoint === undefined) {
      addBeforeSend(command, (request) => {
        this.#endpoint = request;
        throw new Error('It stops here.');
      });
      await send(command).catch(() => {});
    }
    const { protocol, hostname: host, port = 443 } = this.#endpoint ?? {};
    if (protocol === 'https:') this.#connect({ ...this.options, host, port, servername: host });
  }

  #connect(options: ConnectionOptions): void {
    this.#early?.destroy();
    this.#early = super.createConnection(options);
    // The request that needs the connection connects again and reports the error.
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
