import type { TextProtocolConnection, TextProtocolSecret } from '../../records/crm-records.ts';
import {
  type AccountOrder,
  afterContentRefusal,
  assertMaySend,
  type ClosedGroups,
  PlatformFailure,
  type PlatformInspector,
  type ReadSecretAgain,
  type ServerRights,
  type Sighting,
  type TradingPlatform,
  unsentFailure,
} from '../platform.ts';
import {
  ACCOUNT_CREATE_FAILED,
  hasNoResponse,
  isMasterRefused,
  isServiceRefused,
  readExistence,
  readOpening,
  unavailableFailure,
} from './answers.ts';
import { checkAccountCommand, commandPrefix, openingCommand, orderViolations, type TextServer } from './command.ts';
import { codePage } from './encoding.ts';
import { openTextSession, type ServerReply, type TextConnection } from './exchange.ts';

export interface TextLimits {
  /** How long connecting may take, in milliseconds. */
  connectTimeoutMs: number;
  /** The timeout of a command that opens an account, in milliseconds. Other commands get at most three seconds. */
  answerTimeoutMs: number;
  /** The time of day, in epoch milliseconds. */
  now: () => number;
}

const DEFAULTS: TextLimits = { connectTimeoutMs: 4_000, answerTimeoutMs: 14_000, now: Date.now };
/** The timeout of one question, in milliseconds. */
const QUESTION_MS = 3_000;

/**
 * A tp4 server with the text protocol of the web-registration plug-in or of a manager-interface gateway. Each command
 * has one TCP connection: one line goes there, a few lines come back. Nothing is encrypted.
 * `web-registration` knows groups by index, chooses every login itself, and has no read-only flag and no look-up.
 * `interface-gateway` has all of these; it looks accounts up by login alone.
 */
export class TextProtocolPlatform implements TradingPlatform, PlatformInspector {
  readonly keyed: boolean;
  readonly fundsWithOpening = true;
  readonly #connection: TextProtocolConnection;
  readonly #readSecretAgain: ReadSecretAgain<TextProtocolSecret> | undefined;
  #master: string;
  readonly #limits: TextLimits;
  #page: ReturnType<typeof codePage> | undefined;

  /** @param readSecretAgain reads the secret after a refused master password; absent: the refusal is final */
  constructor(
    connection: TextProtocolConnection,
    secret: TextProtocolSecret,
    limits: Partial<TextLimits> = {},
    readSecretAgain?: ReadSecretAgain<TextProtocolSecret>,
  ) {
    this.keyed = connection.protocol === 'interface-gateway';
    this.#connection = connection;
    this.#master = secret.master;
    this.#readSecretAgain = readSecretAgain;
    this.#limits = { ...DEFAULTS, ...limits };
  }

  /** Does nothing: each command has a connection of its own. */
  async ready(): Promise<void> {}

  unsupported(order: AccountOrder) {
    return orderViolations(this.#connection, order);
  }

  async open(order: AccountOrder, sendDeadline: number, signal: AbortSignal): Promise<{ login: number }> {
    const errors = this.unsupported(order);
    if (errors.length > 0) {
      throw new PlatformFailure('validation_failed', { reason: 'not_transmittable', proof: 'unsent', errors });
    }
    const outcome = await this.#withMaster(signal, async (server) => {
      const command = await openingCommand(server, order).catch((error: unknown) => {
        throw unsentFailure(error);
      });
      return readOpening(await this.#send(command, sendDeadline, signal));
    });
    if (typeof outcome === 'number') return { login: outcome };
    if (!this.keyed || outcome.reason !== ACCOUNT_CREATE_FAILED || order.login === undefined) throw outcome;
    throw await this.#createFailure(order.login, outcome, signal);
  }

  /** A gateway shows no comments: that a login exists says only that somebody has it. */
  async look(login: number, _operationId: string, signal: AbortSignal): Promise<Sighting> {
    const existence = await this.#existence(login, signal);
    if (existence === 'absent') return { is: 'absent' };
    return { is: existence === 'exists' ? 'unmarked' : 'silent' };
  }

  /** The deposit is part of the command that opens the account. */
  async fund(): Promise<void> {}

  async holdsFunds(): Promise<boolean> {
    return true;
  }

  /**
   * Asks a gateway whether login 1 exists, which needs the master password. The plug-in has no command that creates
   * nothing, so only its connection is tried.
   */
  async check(signal: AbortSignal): Promise<void> {
    const server = await this.#server();
    if (!this.keyed || this.#lacksLookUp()) return (await this.#connect(signal)).close();
    try {
      await this.#ask((known) => checkAccountCommand(known, 1), signal);
    } catch (error) {
      const prefix = commandPrefix(server) === 'W' ? ('Z' as const) : ('W' as const);
      const other = { ...server, connection: { ...this.#connection, prefix } };
      if (!hasNoResponse(error) || !(await this.#answers(checkAccountCommand(other, 1), signal))) throw error;
      throw new PlatformFailure('platform_refused', { reason: `wants_prefix_${prefix.toLowerCase()}` });
    }
  }

  /** Whether the server answers a command at all, if only with a refusal. */
  async #answers(command: Buffer, signal: AbortSignal): Promise<boolean> {
    return this.#ask(() => command, signal).then(
      () => true,
      (error: unknown) => error instanceof PlatformFailure && !hasNoResponse(error),
    );
  }

  /** The protocol has no command for rights. */
  async rights(): Promise<ServerRights> {
    return { openAccounts: 'unknown', seePersonalData: 'unknown', changeBalances: 'unknown' };
  }

  async closedGroups(): Promise<ClosedGroups> {
    return { unknown: [], notShown: [] };
  }

  async isGateway(signal: AbortSignal): Promise<boolean> {
    if (this.keyed) return false;
    // The plug-in answers no other command than the one that opens accounts. A gateway may refuse us.
    const answered = await this.#existence(1, signal).catch((error: unknown) => error);
    return answered === 'exists' || answered === 'absent' || isServiceRefused(answered);
  }

  async logins(): Promise<undefined> {}

  /** No connection outlives its command. */
  async close(): Promise<void> {}

  async #send(command: Buffer, sendDeadline: number, signal: AbortSignal): Promise<ServerReply> {
    const connection = await this.#connect(signal);
    try {
      if (connection.closed) throw unavailableFailure('closed_before_sending', 'unsent');
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

  /** @throws PlatformFailure without an answer: the service must ask again later */
  async #existence(login: number, signal: AbortSignal) {
    if (this.#lacksLookUp()) return 'lacks';
    return this.#ask((server) => checkAccountCommand(server, login), signal);
  }

  /** Sends a question, which creates nothing and may be sent again. @throws PlatformFailure */
  async #ask(command: (server: TextServer) => Buffer, signal: AbortSignal): Promise<ReturnType<typeof readExistence>> {
    const asked = await this.#withMaster(signal, async (server) => {
      const connection = await this.#connect(signal);
      const limit = Math.min(QUESTION_MS, this.#limits.answerTimeoutMs);
      const answer = await connection.exchange(command(server), limit, signal);
      try {
        return readExistence(answer);
      } catch (error) {
        if (error instanceof PlatformFailure) return error;
        throw error;
      }
    });
    if (asked instanceof PlatformFailure) throw asked;
    return asked;
  }

  /** Runs a command. If the server refuses our master password, and the secret has changed, it runs once more. */
  async #withMaster<T>(
    signal: AbortSignal,
    run: (server: TextServer) => Promise<T | PlatformFailure>,
  ): Promise<T | PlatformFailure> {
    const server = await this.#server();
    const outcome = await run(server);
    if (!isMasterRefused(outcome)) return outcome;
    this.#master = (await this.#readSecretAgain?.(signal))?.master ?? this.#master;
    if (this.#master === server.master) return outcome;
    const again = run({ ...server, master: this.#master });
    if (outcome.proof !== 'content') return again;
    return again.then(afterContentRefusal, (error: unknown) => {
      throw afterContentRefusal(error);
    });
  }

  /** @throws PlatformFailure `platform_unavailable`: nothing was sent */
  #connect(signal: AbortSignal): Promise<TextConnection> {
    const { host, port } = this.#connection;
    return openTextSession(host, port, this.#limits.connectTimeoutMs, signal);
  }

  /** Whether the connection says that the gateway never answers a look-up. */
  #lacksLookUp(): boolean {
    const connection = this.#connection;
    return connection.protocol === 'interface-gateway' && connection.lacks?.includes('account_check') === true;
  }

  /** The server's data for commands. @throws PlatformFailure `platform_refused` for an unknown code page */
  async #server(): Promise<TextServer> {
    this.#page ??= codePage(this.#connection.code_page);
    const page = await this.#page;
    if (page === undefined) throw new PlatformFailure('platform_refused', { reason: 'unknown_code_page' });
    return { connection: this.#connection, master: this.#master, page };
  }
}
