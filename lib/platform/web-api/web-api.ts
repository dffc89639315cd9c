import { setTimeout as sleep } from 'node:timers/promises';
import type { LoginRange, WebApiConnection, WebApiSecret } from '../../records/crm-records.ts';
import type { Violation } from '../../validators/primitives.ts';
import {
  type AccountOrder,
  type ClosedGroups,
  type Departure,
  type Finding,
  type OrderTrace,
  PlatformFailure,
  type Rights,
  type TradingPlatform,
} from '../platform.ts';
import { inspectRange } from '../range.ts';
import { commandFailure, isDone, NO_PERMISSION, NOT_FOUND, openingFailure } from './answers.ts';
import { type ClientLimits, WebApiClient } from './client.ts';
import { connectEarly, type EarlyLine } from './early-line.ts';
import { GroupLookup } from './group-lookup.ts';
import { withQuery } from './query.ts';
import { readGroups, readRights } from './rights.ts';
import { newLogin, toUser } from './user-record.ts';
import { findLogin, readBalance, readUser } from './users.ts';

const DEFAULTS: ClientLimits = { connectMs: 5_000, authMs: 8_000, commandMs: 15_000, idleMs: 150_000, now: Date.now };

/** Connects to the server of a platform that is about to be made. @param signal ends what that platform has not taken by then */
export function connectAhead(connection: WebApiConnection, signal: AbortSignal): EarlyLine {
  return connectEarly(connection, DEFAULTS.connectMs, signal);
}

const DEPOSIT_TYPE = 2;
/** Before a deposit that a busy or absent server certainly did not make is sent again, in milliseconds. */
const DEPOSIT_PAUSES_MS = [500, 1_500];

/**
 * A tp5 server that speaks the Web API: HTTPS, one authenticated connection that is kept from call to call, commands one
 * after the other. On a warm session an account is opened with one round trip.
 */
export class WebApiPlatform implements TradingPlatform {
  readonly loginIsKey = true;
  readonly #now: () => number;
  readonly #client: WebApiClient;
  readonly #groups: GroupLookup;
  readonly #offered: readonly string[];
  readonly #manager: number;

  constructor(
    connection: WebApiConnection,
    secret: WebApiSecret,
    options: Partial<ClientLimits> = {},
    early?: EarlyLine,
  ) {
    const limits = { ...DEFAULTS, ...options };
    this.#now = limits.now;
    this.#client = new WebApiClient(connection, secret, limits, early);
    this.#groups = new GroupLookup(this.#client, limits.now);
    this.#offered = connection.groups ?? [];
    this.#manager = secret.login;
  }

  ready(signal: AbortSignal): Promise<void> {
    return this.#client.ready(signal);
  }

  unsupported(): Violation[] {
    return [];
  }

  async open(order: AccountOrder, departure: Departure, signal: AbortSignal): Promise<{ login: number }> {
    await this.#client.ready(signal);
    await departure.note();
    const answer = await this.#client.act({ path: '/api/user/add', body: toUser(order) }, departure, signal);
    if (isDone(answer)) return { login: newLogin(answer) };
    if (answer.retcode === NO_PERMISSION || answer.retcode === NOT_FOUND) {
      throw await this.#groupFailure(order.group, answer.retcode, signal);
    }
    const failure = openingFailure(answer.retcode, order);
    if (failure.kind === 'login_taken') return this.#ownAccount(order, failure, signal);
    throw failure;
  }

  find(trace: OrderTrace, signal: AbortSignal): Promise<Finding> {
    return trace.login === undefined
      ? this.#groups.find(trace, signal)
      : findLogin(this.#client, trace.login, trace, signal);
  }

  async fund(
    { deposit = 0 }: Pick<AccountOrder, 'deposit'>,
    login: number,
    departure: Departure,
    signal: AbortSignal,
  ): Promise<void> {
    if (deposit <= 0) return;
    let noted = false;
    const pay = async () => {
      await this.#client.ready(signal);
      if (!noted) await departure.note();
      noted = true;
      await this.#pay(login, deposit, departure, signal);
    };
    for (const pause of DEPOSIT_PAUSES_MS) {
      try {
        return await pay();
      } catch (error) {
        const isBusy = error instanceof PlatformFailure && error.kind === 'platform_unavailable';
        if (!isBusy || this.#now() + pause > departure.notAfter || !(await passes(pause, signal))) throw error;
      }
    }
    await pay();
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
    return readGroups(this.#client, this.#offered, signal);
  }

  inspectRange(range: LoginRange, signal: AbortSignal) {
    return inspectRange(range, async (login) => (await readUser(this.#client, login, signal)) !== undefined);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /**
   * The account of an order whose login exists, if it is ours after all: a proxy may have sent the command twice and
   * answered with what became of its repeat.
   * @throws PlatformFailure `login_taken`, or `account_outcome_unknown` when nobody can be asked
   */
  async #ownAccount(order: AccountOrder, failure: PlatformFailure, signal: AbortSignal): Promise<{ login: number }> {
    const { operationId, group, name, login = 0, reserved, masterPassword } = order;
    const trace = { operationId, group, name, ...(reserved === true ? { masterPassword } : {}) };
    const finding = await findLogin(this.#client, login, trace, signal).catch((cause: unknown) => {
      throw new PlatformFailure('account_outcome_unknown', { reason: failure.reason, cause });
    });
    if (finding.kind !== 'found') throw failure;
    return { login };
  }

  async #pay(login: number, deposit: number, departure: Departure, signal: AbortSignal): Promise<void> {
    const values = { login, type: DEPOSIT_TYPE, balance: deposit.toFixed(2), comment: 'Initial deposit' };
    const answer = await this.#client.act({ path: withQuery('/api/trade/balance', values) }, departure, signal);
    // As at an opening, a code that nobody documented leaves the outcome open.
    if (!isDone(answer)) throw openingFailure(answer.retcode, {});
  }

  /** Code 8 does not say whether the group is missing or we may not use it. */
  async #groupFailure(group: string, retcode: number, signal: AbortSignal): Promise<PlatformFailure> {
    const reason = `retcode_${retcode}`;
    try {
      const answer = await this.#client.ask({ path: withQuery('/api/group/get', { group }) }, signal);
      if (answer.retcode === NOT_FOUND) return new PlatformFailure('group_not_found', { reason });
    } catch {
      // What is known is enough: no account was opened.
    }
    return new PlatformFailure('platform_refused', { reason });
  }
}

/** @returns false when the signal comes first */
async function passes(ms: number, signal: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal }).catch(() => {});
  return !signal.aborted;
}
