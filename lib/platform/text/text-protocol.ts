import type { LoginRange, TextProtocolConnection, TextProtocolSecret } from '../../records/crm-records.ts';
import {
  type AccountOrder,
  type ClosedGroups,
  type Departure,
  type Finding,
  mayStillLeave,
  type OrderTrace,
  PlatformFailure,
  type Rights,
  type TradingPlatform,
} from '../platform.ts';
import { inspectRange } from '../range.ts';
import { CREATE_FAILED, isNoAnswer, readExistence, readOpening, readPassword, unavailable } from './answers.ts';
import { TextClient, type TextLimits } from './client.ts';
import { checkAccountCommand, checkPasswordCommand, openingCommand, orderFaults } from './command.ts';
import type { Answer } from './exchange.ts';

const DEFAULTS: TextLimits = { connectTimeoutMs: 4_000, answerTimeoutMs: 14_000, now: Date.now };

/**
 * A tp4 server that speaks the text protocol of the web-registration plug-in or of a manager-interface gateway: one TCP
 * connection for each command, one line there, a few lines back. Nothing is encrypted and nothing is ever repeated.
 *
 * What each dialect can do: `web-registration` knows groups by index, chooses every login itself, has no read-only
 * flag, and no way to look an account up. `interface-gateway` has all of these, the look-up by login alone.
 */
export class TextProtocolPlatform implements TradingPlatform {
  readonly loginIsKey: boolean;
  readonly #connection: TextProtocolConnection;
  readonly #limits: TextLimits;
  readonly #client: TextClient;
  /** Once it has answered `WCHKACCOUNT`, a gateway knows that command, and is only silent for a while. */
  #knowsAccountCheck = false;

  constructor(connection: TextProtocolConnection, secret: TextProtocolSecret, limits: Partial<TextLimits> = {}) {
    this.loginIsKey = connection.protocol === 'interface-gateway';
    this.#connection = connection;
    this.#limits = { ...DEFAULTS, ...limits };
    this.#client = new TextClient(connection, secret.master, this.#limits);
  }

  /** Each command has a connection of its own. */
  async ready(): Promise<void> {}

  unsupported(order: AccountOrder) {
    return orderFaults(this.#connection, order);
  }

  async open(order: AccountOrder, departure: Departure, signal: AbortSignal): Promise<{ login: number }> {
    const errors = this.unsupported(order);
    if (errors.length > 0) throw new PlatformFailure('validation_failed', { reason: 'not_transmittable', errors });
    const command = await openingCommand(await this.#client.server(), order);
    const outcome = readOpening(await this.#send(command, departure, signal));
    if (typeof outcome === 'number') return { login: outcome };
    if (outcome.reason !== CREATE_FAILED || !(await this.#exists(order, signal))) throw outcome;
    if (await this.#hasMade(order, signal)) return { login: order.login ?? 0 };
    throw new PlatformFailure('login_taken', { reason: 'login_exists' });
  }

  /** Only an order with a login can be looked up, and that the login exists does not say whose it is. */
  async find({ login, reserved, masterPassword }: OrderTrace, signal: AbortSignal): Promise<Finding> {
    if (!this.loginIsKey || login === undefined) return { kind: 'cannot_tell' };
    const existence = await this.#existence(login, signal);
    if (existence === 'absent') return { kind: 'absent' };
    if (existence === 'unsaid') return { kind: 'cannot_tell' };
    if (reserved === true) return { kind: 'found', login };
    const password = masterPassword === undefined ? 'unsaid' : await this.#tryPassword(login, masterPassword, signal);
    if (password === 'right') return { kind: 'found', login };
    return { kind: password === 'wrong' ? 'another' : 'cannot_tell' };
  }

  /** The deposit travels in the command that opens the account. */
  async fund(): Promise<void> {}

  async holdsFunds(): Promise<undefined> {}

  /**
   * The gateway is asked whether login 1 exists, which needs the master password. The plug-in has no command that
   * creates nothing, so there it is only seen that it can be reached.
   */
  async check(signal: AbortSignal): Promise<void> {
    const server = await this.#client.server();
    if (this.loginIsKey) await this.#client.ask(checkAccountCommand(server, 1), signal);
    else (await this.#client.connect(signal)).close();
  }

  /** The protocol has no word for them. */
  async rights(): Promise<Rights> {
    return { openAccounts: 'unsaid', seePersonalData: 'unsaid', changeBalances: 'unsaid' };
  }

  async closedGroups(): Promise<ClosedGroups> {
    return { unknown: [], notShown: [] };
  }

  inspectRange(range: LoginRange, signal: AbortSignal) {
    return inspectRange(range, async (login) => {
      const existence = this.loginIsKey ? await this.#existence(login, signal) : 'unsaid';
      return existence === 'unsaid' ? undefined : existence === 'exists';
    });
  }

  /** No connection outlives its command. */
  async close(): Promise<void> {}

  async #send(command: Buffer, departure: Departure, signal: AbortSignal): Promise<Answer> {
    const connection = await this.#client.connect(signal);
    try {
      await departure.note();
      if (connection.closed) throw unavailable('closed_before_sending');
      mayStillLeave(departure, signal, this.#limits.now);
      return await connection.exchange(command, this.#limits.answerTimeoutMs, signal);
    } finally {
      connection.close();
    }
  }

  /** Whether an order that the server failed to carry out has a login that exists, as far as can be told. */
  async #exists({ login }: AccountOrder, signal: AbortSignal): Promise<boolean> {
    if (!this.loginIsKey || login === undefined) return false;
    const existence = await this.#existence(login, signal).catch(() => 'unsaid');
    return existence === 'exists';
  }

  /** A gateway that lost its own server on the way says `account create failed` of an account that it may have made. */
  async #hasMade({ login = 0, reserved, masterPassword }: AccountOrder, signal: AbortSignal): Promise<boolean> {
    if (reserved !== true) return false;
    return (await this.#tryPassword(login, masterPassword, signal).catch(() => 'unsaid')) === 'right';
  }

  async #existence(login: number, signal: AbortSignal): Promise<ReturnType<typeof readExistence>> {
    const command = checkAccountCommand(await this.#client.server(), login);
    try {
      const existence = readExistence(await this.#client.ask(command, signal));
      this.#knowsAccountCheck ||= existence !== 'unsaid';
      return existence;
    } catch (error) {
      if (isNoAnswer(error) && !this.#knowsAccountCheck && !signal.aborted) return 'unsaid';
      throw error;
    }
  }

  async #tryPassword(login: number, password: string, signal: AbortSignal): Promise<ReturnType<typeof readPassword>> {
    const command = checkPasswordCommand(await this.#client.server(), login, password);
    try {
      return readPassword(await this.#client.ask(command, signal));
    } catch (error) {
      if (isNoAnswer(error) && !signal.aborted) return 'unsaid';
      throw error;
    }
  }
}
