import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import type { WebApiConnection } from '../../records/crm-records.ts';
import { type AccountOrder, PlatformFailure, type TradingPlatform } from '../platform.ts';
import { inspectRange } from '../range.ts';
import {
  commandFailure,
  isDone,
  LoginSchema,
  NO_PERMISSION,
  NOT_FOUND,
  openingFailure,
  type WebApiAnswer,
} from './answers.ts';
import { type ClientLimits, webApiClient } from './client.ts';
import { LostAnswer, type WebApiRequest } from './exchange.ts';
import { findAccount, nothingPassedOver, readBalance, readUser } from './lookup.ts';
import { withQuery } from './query.ts';
import type { WebApiSecret } from './session.ts';

export type WebApiOptions = Partial<ClientLimits>;

const DEFAULTS: ClientLimits = { connectMs: 5_000, authMs: 8_000, commandMs: 15_000, idleMs: 150_000, now: Date.now };

/** ENABLED, PASSWORD, TRAILING, EXPERT, 0x80 and REPORTS. */
const RIGHTS = 0x1e3;
const TRADE_DISABLED = 0x4;
/** In UTF-16 units; the server would cut without looking where. */
const NAME_UNITS = 127;
const DEPOSIT_TYPE = 2;
/** Before a deposit that a busy or absent server certainly did not make is tried again, in milliseconds. */
const DEPOSIT_PAUSES_MS = [500, 1_500];

/**
 * A tp5 server that speaks the Web API: HTTPS, one authenticated connection that is kept from call to call, commands one
 * after the other. On a warm session an account is opened with one round trip.
 */
export function webApiPlatform(
  connection: WebApiConnection,
  secret: WebApiSecret,
  options: WebApiOptions = {},
): TradingPlatform {
  const limits = { ...DEFAULTS, ...options };
  const client = webApiClient(connection, secret, limits);
  const passedOver = nothingPassedOver();

  /** Code 8 does not say whether the group is missing or we may not use it. */
  async function groupFailure(group: string, retcode: number, signal: AbortSignal): Promise<PlatformFailure> {
    const reason = `retcode_${retcode}`;
    try {
      const answer = await client.ask({ path: withQuery('/api/group/get', { group }) }, signal);
      if (answer.retcode === NOT_FOUND) return new PlatformFailure('group_not_found', { reason });
    } catch {
      // What is known is enough: no account was opened.
    }
    return new PlatformFailure('platform_refused', { reason });
  }

  async function act(request: WebApiRequest, signal: AbortSignal): Promise<WebApiAnswer> {
    try {
      return await client.act(request, signal);
    } catch (error) {
      if (!(error instanceof LostAnswer)) throw error;
      throw new PlatformFailure('account_outcome_unknown', { reason: error.reason, cause: error });
    }
  }

  return {
    loginIsKey: true,

    unsupported: () => [],

    async open(order, departure, signal) {
      await client.ready(signal);
      await departure.note();
      const answer = await act({ path: '/api/user/add', body: toUser(order) }, signal);
      if (isDone(answer)) return { login: newLogin(answer) };
      if (answer.retcode === NO_PERMISSION || answer.retcode === NOT_FOUND) {
        throw await groupFailure(order.group, answer.retcode, signal);
      }
      throw openingFailure(answer.retcode, order);
    },

    find: (trace, signal) => findAccount(client, trace, passedOver, limits.now, signal),

    async fund({ deposit = 0 }, login, departure, signal) {
      if (deposit <= 0) return;
      const values = { login, type: DEPOSIT_TYPE, balance: deposit.toFixed(2), comment: 'Initial deposit' };
      let noted = false;
      const pay = async () => {
        await client.ready(signal);
        if (!noted) await departure.note();
        noted = true;
        const answer = await act({ path: withQuery('/api/trade/balance', values) }, signal);
        // As at an opening, a code that nobody documented leaves the outcome open.
        if (!isDone(answer)) throw openingFailure(answer.retcode, {});
      };
      for (const pause of DEPOSIT_PAUSES_MS) {
        try {
          return await pay();
        } catch (error) {
          const isBusy = error instanceof PlatformFailure && error.kind === 'platform_unavailable';
          if (!isBusy || !(await passes(pause, signal))) throw error;
        }
      }
      await pay();
    },

    holdsFunds: async (login, signal) => (await readBalance(client, login, signal)) !== 0,

    async check(signal) {
      const answer = await client.ask({ path: '/api/test/access' }, signal);
      if (!isDone(answer)) throw commandFailure(answer.retcode);
    },

    inspectRange: (range, signal) =>
      inspectRange(range, async (login) => (await readUser(client, login, signal)) !== undefined),

    close: () => client.close(),
  };
}

/** @returns false when the signal comes first */
async function passes(ms: number, signal: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal }).catch(() => {});
  return !signal.aborted;
}

/** The record of `user/add`, all in strings. Passwords stand in the body only. */
function toUser(order: AccountOrder): Record<string, string> {
  return {
    PassMain: order.masterPassword,
    PassInvestor: order.investorPassword,
    Group: order.group,
    Name: cut(order.name.replace(/\p{Cc}+/gu, ' '), NAME_UNITS),
    Leverage: String(order.leverage),
    Rights: String(order.readonly ? RIGHTS | TRADE_DISABLED : RIGHTS),
    Email: order.email,
    Comment: order.operationId,
    ...(order.login === undefined ? {} : { Login: String(order.login) }),
    ...(order.phone === undefined ? {} : { Phone: order.phone }),
    ...(order.country === undefined ? {} : { Country: order.country }),
  };
}

/** Cuts at the end of a character as people see it. */
function cut(value: string, units: number): string {
  if (value.length <= units) return value;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(value)) {
    if (kept.length + segment.length > units) break;
    kept += segment;
  }
  return kept;
}

const NewUserSchema = v.object({ Login: LoginSchema });

/** Newer servers name the login at the root too. */
function newLogin({ answer, login }: WebApiAnswer): number {
  const user = v.safeParse(NewUserSchema, answer);
  if (user.success) return user.output.Login;
  const root = v.safeParse(LoginSchema, login);
  if (root.success) return root.output;
  throw new PlatformFailure('account_outcome_unknown', { reason: 'login_missing' });
}
