import type { TextProtocolConnection } from '../../records/crm-records.ts';
import { PlatformFailure } from '../platform.ts';
import { requireAnswer } from './answers.ts';
import type { TextServer } from './command.ts';
import { type CodePage, codePage } from './encoding.ts';
import { type Answer, dial, type TextConnection } from './exchange.ts';

export interface TextLimits {
  /** How long connecting may take, in milliseconds. */
  connectTimeoutMs: number;
  /** How long the answer to an opening may take, in milliseconds; a question gets at most three seconds of it. */
  answerTimeoutMs: number;
  /** The time of day, in epoch milliseconds. */
  now: () => number;
}

/** Two of them, whether an account exists and whose it is, take less than `FINDING_MS` of `lib/accounts/work.ts`. */
const QUESTION_MS = 3_000;

/** Connects to one server, and asks what creates nothing. Each command has a connection of its own. */
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

  /** What commands to this server are made of. @throws PlatformFailure `platform_refused` for an unknown code page */
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
   * A command that creates nothing: whatever goes wrong with it, it may be asked again.
   * @throws PlatformFailure `platform_unavailable`, or `platform_refused` where the answer speaks of us
   */
  async ask(command: Buffer, signal: AbortSignal): Promise<Answer> {
    const connection = await this.connect(signal);
    const answer = await connection.exchange(command, Math.min(QUESTION_MS, this.#limits.answerTimeoutMs), signal);
    requireAnswer(answer);
    return answer;
  }
}
