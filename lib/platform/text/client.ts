import type { TextProtocolConnection } from '../../records/crm-records.ts';
import { PlatformFailure } from '../platform.ts';
import { requireAnswer } from './answers.ts';
import type { TextServer } from './command.ts';
import { type CodePage, codePage } from './encoding.ts';
import { type Answer, dial, type TextConnection } from './exchange.ts';

export interface TextLimits {
  /** How long connecting may take, in milliseconds. */
  connectTimeoutMs: number;
  /** The timeout of an opening, in milliseconds. Other commands get at most three seconds. */
  answerTimeoutMs: number;
  /** The time of day, in epoch milliseconds. */
  now: () => number;
}

/** Two questions, about existence and password, fit into `LOOK_MS` of `lib/openings/effects.ts`. */
const QUESTION_MS = 3_000;

/** Connects to one server and sends commands that create nothing. Each command has its own connection. */
export class TextClient {
  readonly #connection: TextProtocolConnection;
  readonly #master: string;
  readonly #limits: TextLimits;
  #page: Promise<CodePage | undefined> | undefined;

  constructor(connection: TextProtocolConnection, master: string, limits: TextLimits) {
    this.#connection = connection;
    this.#master = master;
    this.#limits = limits;
  }

  /** The server's data for commands. @throws PlatformFailure `platform_refused` for an unknown code page */
  async server(): Promise<TextServer> {
    this.#page ??= codePage(this.#connection.code_page);
    const page = await this.#page;
    if (page === undefined) throw new PlatformFailure('platform_refused', { reason: 'unknown_code_page' });
    return { connection: this.#connection, master: this.#master, page };
  }

  /** @throws PlatformFailure `platform_unavailable`: nothing was sent */
  connect(signal: AbortSignal): Promise<TextConnection> {
    const { host, port } = this.#connection;
    return dial(host, port, this.#limits.connectTimeoutMs, signal);
  }

  /**
   * Sends a command that creates nothing and may be sent again.
   * @throws PlatformFailure `platform_unavailable`, or `platform_refused` if the answer is about the service
   */
  async ask(command: Buffer, signal: AbortSignal): Promise<Answer> {
    const connection = await this.connect(signal);
    const answer = await connection.exchange(command, Math.min(QUESTION_MS, this.#limits.answerTimeoutMs), signal);
    requireAnswer(answer);
    return answer;
  }
}
