import type { TextProtocolConnection, TextProtocolSecret } from '../../records/crm-records.ts';
import {
  type AccountOrder,
  assertMaySend,
  type ClosedGroups,
  type Mark,
  PlatformFailure,
  type PlatformInspector,
  type Rights,
  type Sighting,
  type TradingPlatform,
  unsentFailure,
} from '../platform.ts';
import {
  acceptsPassword,
  CREATE_FAILED,
  hasNoResponse,
  readExistence,
  readOpening,
  requireAnswer,
  unavailable,
} from './answers.ts';
import {
  checkAccountCommand,
  checkPasswordCommand,
  openingCommand,
  orderViolations,
  type TextServer,
} from './command.ts';
import { codePage } from './encoding.ts';
import { type Answer, dial, type TextConnection } from './exchange.ts';

export interface TextLimits {
  /** How long connecting may take, in milliseconds. */
  connectTimeoutMs: number;
  /** The timeout of an opening, in milliseconds. Other commands get at most three seconds. */
  answerTimeoutMs: number;
  /** The time of day, in epoch milliseconds. */
  now: () => number;
}

const DEFAULTS: TextLimits = { connectTimeoutMs: 4_000, answerTimeoutMs: 14_000, now: Date.now };
/** Two questions, about existence and password, fit into `LOOK_MS` of `lib/openings/effects.ts`. */
const QUESTION_MS = 3_000;

/**
 * A tp4 server with the text protocol of the web-registration plug-in or of a manager-interface gateway: one TCP
 * connection for each command, one line there, a few lines back. Nothing is encrypted.
 *
 * `web-registration` knows groups by index, chooses every login itself, and has no read-only flag and no look-up.
 * `interface-gateway` has all of these; it looks accounts up by login alone.
 */
export class TextProtocolPlatform implements TradingPlatform, PlatformInspector {
  readonly keyed: boolean;
  readonly fundsWithOpening = true;
  readonly #connection: TextProtocolConnection;
  readonly #master: string;
  readonly #limits: TextLimits;
  #page: ReturnType<typeof codePage> | undefined;

  constructor(connection: TextProtocolConnection, secret: TextProtocolSecret, limits: Partial<TextLimits> = {}) {
    this.keyed = connection.protocol === 'interface-gateway';
    this.#connection = connection;
    this.#master = secret.master;
    this.#limits = { ...DEFAULTS, ...limits };
  }

  /** Each command has a connection of its own. */
  async ready(): Promise<void> {}

  unsupported(order: AccountOrder) {
    return orderViolations(this.#connection, order);
  }

  async open(order: AccountOrder, sendDeadline: number, signal: AbortSignal): Promise<{ login: number }> {
    const errors = this.unsupported(order);
    if (errors.length > 0) {
      throw new PlatformFailure('validation_failed', { reason: 'not_transmittable', proof: 'unsent', errors });
    }
    const command = await this.#server()
      .then((server) => openingCommand(server, order))
      .catch((error: unknown) => {
        throw unsentFailure(error);
      });
    const outcome = readOpening(await this.#send(command, sendDeadline, signal), this.keyed);
    if (typeof outcome === 'number') return { login: outcome };
    if (!this.keyed || outcome.reason !== CREATE_FAILED || order.login === undefined) throw outcome;
    throw await this.#createFailure(order.login, outcome, signal);
  }

  /** The existence of a login does not show its owner; the password may. */
  async look({ login, generated }: Mark, signal: AbortSignal): Promise<Sighting> {
    const existence = await this.#existence(login, signal);
    if (existence !== 'exists') return existence;
    if (generated === undefined) return 'unmarked';
    const command = checkPasswordCommand(await this.#server(), login, generated);
    return (await this.#question(command, acceptsPassword, signal)) === true ? 'ours' : 'unmarked';
  }

  /** The deposit is part of the command that opens the account. */
  async fund(): Promise<void> {}

  async holdsFunds(): Promise<boolean> {
    return true;
  }

  /**
   * The gateway is asked whether login 1 exists, which needs the master password. The plug-in has no command that
   * creates nothing, so only the connection is tried there.
   */
  async check(signal: AbortSignal): Promise<void> {
    const server = await this.#server();
    if (this.keyed) await this.#ask(checkAccountCommand(server, 1), signal);
    else (await this.#connect(signal)).close();
  }

  /** The protocol has no command for them. */
  async rights(): Promise<Rights> {
    return { openAccounts: 'unknown', seePersonalData: 'unknown', changeBalances: 'unknown' };
  }

  async closedGroups(): Promise<ClosedGroups> {
    return { unknown: [], notShown: [] };
  }

  async exists(login: number, signal: AbortSignal): Promise<boolean | undefined> {
    const existence = this.keyed ? await this.#existence(login, signal) : 'silent';
    return existence === 'silent' ? undefined : existence === 'exists';
  }

  async logins(): Promise<undefined> {}

  /** No connection outlives its command. */
  async close(): Promise<void> {}

  async #send(command: Buffer, sendDeadline: number, signal: AbortSignal): Promise<Answer> {
    const connection = await this.#connect(signal);
    try {
      if (connection.closed) throw unavailable('closed_before_sending', 'unsent');
      assertMaySend(sendDeadline, signal, this.#limits.now);
      return await connection.exchange(command, this.#limits.answerTimeoutMs, signal);
    } finally {
      connection.close();
    }
  }

  /** `account create failed` may mean that the login exists, or anything else. */
  async #createFailure(login: number, refusal: PlatformFailure, signal: AbortSignal): Promise<PlatformFailure> {
    try {
      const exists = (await this.#existence(login, signal)) === 'exists';
      return exists ? new PlatformFailure('login_taken', { reason: 'login_exists' }) : refusal;
    } catch (cause) {
      return new PlatformFailure('account_outcome_unknown', { reason: refusal.reason, cause });
    }
  }

  async #existence(login: number, signal: AbortSignal) {
    return this.#question(checkAccountCommand(await this.#server(), login), readExistence, signal);
  }

  /** Silence means that the gateway does not know the command. @throws PlatformFailure if it cannot be reached */
  async #question<T>(command: Buffer, read: (answer: Answer) => T, signal: AbortSignal): Promise<T | 'silent'> {
    try {
      return read(await this.#ask(command, signal));
    } catch (error) {
      if (hasNoResponse(error) && !signal.aborted) return 'silent';
      throw error;
    }
  }

  /** Sends a command that creates nothing and may be sent again. @throws PlatformFailure */
  async #ask(command: Buffer, signal: AbortSignal): Promise<Answer> {
    const connection = await this.#connect(signal);
    const answer = await connection.exchange(command, Math.min(QUESTION_MS, this.#limits.answerTimeoutMs), signal);
    requireAnswer(answer);
    return answer;
  }

  /** @throws PlatformFailure `platform_unavailable`: nothing was sent */
  #connect(signal: AbortSignal): Promise<TextConnection> {
    const { host, port } = this.#connection;
    return dial(host, port, this.#limits.connectTimeoutMs, signal);
  }

  /** The server's data for commands. @throws PlatformFailure `platform_refused` for an unknown code page */
  async #server(): Promise<TextServer> {
    this.#page ??= codePage(this.#connection.code_page);
    const page = await this.#page;
    if (page === undefined) throw new PlatformFailure('platform_refused', { reason: 'unknown_code_page' });
    return { connection: this.#connection, master: this.#master, page };
  }
}
