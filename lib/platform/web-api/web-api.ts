import type { WebApiConnection, WebApiSecret } from '../../records/crm-records.ts';
import type { Violation } from '../../validators/primitives.ts';
import {
  type AccountOrder,
  type ClosedGroups,
  type Mark,
  PlatformFailure,
  type PlatformInspector,
  type Rights,
  type Sighting,
  type TradingPlatform,
  type Variant,
} from '../platform.ts';
import { commandFailure, isDone, NO_PERMISSION, NOT_FOUND, openingFailure, paymentFailure } from './answers.ts';
import { type ClientLimits, WebApiClient } from './client.ts';
import { buildPath } from './exchange.ts';
import { readGroups, readRights } from './rights.ts';
import { connectEarly, type EarlyLine } from './tls.ts';
import { compareAccount, newLogin, readBalance, readLogins, readUser, readVariant, userRecord } from './users.ts';

/** The server ends a session after 180 idle seconds, and a frozen function cannot send a keep-alive. */
const DEFAULTS: ClientLimits = { connectMs: 5_000, authMs: 8_000, commandMs: 15_000, idleMs: 150_000, now: Date.now };

/** Connects before the secret is known. @param signal ends the connection if no platform has taken it */
export function connectAhead(connection: WebApiConnection, signal: AbortSignal): EarlyLine {
  return connectEarly(connection, DEFAULTS.connectMs, signal);
}

const DEPOSIT_TYPE = 2;

/**
 * A tp5 server with the Web API: HTTPS, one authenticated connection that is kept from call to call, one command at
 * a time. On a warm session an account is opened with one round trip.
 */
export class WebApiPlatform implements TradingPlatform, PlatformInspector {
  readonly keyed = true;
  readonly fundsWithOpening = false;
  readonly #client: WebApiClient;
  readonly #connection: WebApiConnection;
  readonly #manager: number;

  constructor(
    connection: WebApiConnection,
    secret: WebApiSecret,
    options: Partial<ClientLimits> = {},
    early?: EarlyLine,
  ) {
    const limits = { ...DEFAULTS, ...options };
    this.#client = new WebApiClient(connection, secret, limits, early);
    this.#connection = connection;
    this.#manager = secret.login;
  }

  ready(signal: AbortSignal): Promise<void> {
    return this.#client.ready(signal);
  }

  unsupported(): Violation[] {
    return [];
  }

  async open(order: AccountOrder, sendDeadline: number, signal: AbortSignal): Promise<{ login: number }> {
    const answer = await this.#client.act(
      { path: '/api/user/add', body: userRecord(order, this.#connection) },
      sendDeadline,
      signal,
    );
    if (isDone(answer)) return { login: newLogin(answer) };
    if (answer.retcode === NO_PERMISSION || answer.retcode === NOT_FOUND) {
      throw await this.#groupFailure(order.group, answer.retcode, signal);
    }
    throw openingFailure(answer.retcode, order.loginGiven);
  }

  look(mark: Mark, signal: AbortSignal): Promise<Sighting> {
    return compareAccount(this.#client, mark, signal);
  }

  async fund(login: number, amount: number, sendDeadline: number, signal: AbortSignal): Promise<void> {
    const values = { login, type: DEPOSIT_TYPE, balance: amount.toFixed(2), comment: 'Initial deposit' };
    const answer = await this.#client.act({ path: buildPath('/api/trade/balance', values) }, sendDeadline, signal);
    if (!isDone(answer)) throw paymentFailure(answer.retcode);
  }

  async holdsFunds(login: number, signal: AbortSignal): Promise<boolean> {
    return (await readBalance(this.#client, login, signal)) !== 0;
  }

  async check(signal: AbortSignal): Promise<void> {
    const answer = await this.#client.ask({ path: '/api/test/access' }, signal);
    if (!isDone(answer)) throw commandFailure(answer.retcode);
  }

  rights(signal: AbortSignal): Promise<Rights> {
    return readRights(this.#client, this.#manager, signal);
  }

  closedGroups(signal: AbortSignal): Promise<ClosedGroups> {
    return readGroups(this.#client, this.#connection.groups ?? [], signal);
  }

  variant(login: number | undefined, signal: AbortSignal): Promise<Variant> {
    return readVariant(this.#client, login ?? this.#manager, signal);
  }

  async exists(login: number, signal: AbortSignal): Promise<boolean> {
    return (await readUser(this.#client, login, signal)) !== undefined;
  }

  logins(signal: AbortSignal): Promise<number[]> {
    return readLogins(this.#client, signal);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** Code 8 does not say whether the group is missing or we may not use it. */
  async #groupFailure(group: string, retcode: number, signal: AbortSignal): Promise<PlatformFailure> {
    try {
      const answer = await this.#client.ask({ path: buildPath('/api/group/get', { group }) }, signal);
      if (answer.retcode === NOT_FOUND) {
        return new PlatformFailure('group_not_found', { reason: `retcode_${retcode}`, proof: 'content' });
      }
    } catch {
      // The code alone shows that no account was opened.
    }
    return openingFailure(retcode);
  }
}
