import * as v from 'valibot';
import type { WebApiConnection, WebApiSecret } from '../../records/crm-records.ts';
import { cutText, type Violation } from '../../validators/primitives.ts';
import {
  type AccountOrder,
  afterContentRefusal,
  type ClosedGroups,
  compareComment,
  countryText,
  PlatformFailure,
  type PlatformInspector,
  type ServerRights,
  type Sighting,
  type TradingPlatform,
} from '../platform.ts';
import {
  commandFailure,
  isDoneAnswer,
  LoginSchema,
  openingFailure,
  parseMember,
  paymentFailure,
  RETCODE_NO_PERMISSION,
  RETCODE_NOT_FOUND,
  type WebApiAnswer,
} from './answers.ts';
import { type ClientDependencies, type ClientTimeouts, WebApiClient } from './client.ts';
import { buildPath, connectEarly, type EarlyLine, type WebApiRequest } from './exchange.ts';
import { readGroups, readRights } from './rights.ts';

/** The server ends a session after 180 idle seconds, and a frozen function cannot send a keep-alive. */
const DEFAULTS: ClientTimeouts = { connectMs: 5_000, authMs: 8_000, commandMs: 15_000, idleMs: 150_000, now: Date.now };

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

  constructor(
    connection: WebApiConnection,
    secret: WebApiSecret,
    options: Partial<ClientTimeouts> = {},
    sources: ClientDependencies = {},
  ) {
    const limits = { ...DEFAULTS, ...options };
    this.#client = new WebApiClient(connection, secret, limits, sources);
    this.#connection = connection;
  }

  ready(signal: AbortSignal): Promise<void> {
    return this.#client.ready(signal);
  }

  unsupported(): Violation[] {
    return [];
  }

  async open(order: AccountOrder, sendDeadline: number, signal: AbortSignal): Promise<{ login: number }> {
    const answer = await this.#client.act(
      { path: '/api/user/add', ...userRecord(order, this.#connection) },
      sendDeadline,
      signal,
    );
    if (isDoneAnswer(answer)) return { login: parseNewLogin(answer) };
    const isAboutGroup = answer.retcode === RETCODE_NO_PERMISSION || answer.retcode === RETCODE_NOT_FOUND;
    const failure = isAboutGroup
      ? await this.#groupFailure(order.group, answer.retcode, signal)
      : openingFailure(answer.retcode, order.loginGiven);
    throw answer.isRepeated === true ? afterContentRefusal(failure) : failure;
  }

  async look(login: number, operationId: string, signal: AbortSignal): Promise<Sighting> {
    const user = await readUser(this.#client, login, signal);
    return user === undefined ? { is: 'absent' } : compareComment(user.Comment, operationId);
  }

  async fund(login: number, amount: number, sendDeadline: number, signal: AbortSignal): Promise<void> {
    const values = { login, type: DEPOSIT_TYPE, balance: amount.toFixed(2), comment: 'Initial deposit' };
    const answer = await this.#client.act({ path: buildPath('/api/trade/balance', values) }, sendDeadline, signal);
    if (!isDoneAnswer(answer)) throw paymentFailure(answer.retcode);
  }

  async holdsFunds(login: number, signal: AbortSignal): Promise<boolean> {
    return (await readBalance(this.#client, login, signal)) !== 0;
  }

  async check(signal: AbortSignal): Promise<void> {
    const answer = await this.#client.ask({ path: '/api/test/access' }, signal);
    if (!isDoneAnswer(answer)) throw commandFailure(answer.retcode);
  }

  rights(signal: AbortSignal): Promise<ServerRights> {
    return readRights(this.#client, this.#client.manager, signal);
  }

  closedGroups(signal: AbortSignal): Promise<ClosedGroups> {
    return readGroups(this.#client, this.#connection.groups ?? [], signal);
  }

  async isGateway(): Promise<boolean> {
    return false;
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
      if (answer.retcode === RETCODE_NOT_FOUND) {
        return new PlatformFailure('group_not_found', { reason: `retcode_${retcode}`, proof: 'content' });
      }
    } catch {
      // The code alone shows that no account was opened.
    }
    return openingFailure(retcode);
  }
}

const number = v.pipe(v.union([v.string(), v.number()]), v.transform(Number));
const UserSchema = v.object({ Login: LoginSchema, Comment: v.optional(v.string(), '') });
export type PlatformUser = v.InferOutput<typeof UserSchema>;
const BalanceSchema = v.object({ Balance: v.pipe(number, v.finite()) });
const LoginsSchema = v.array(LoginSchema);

/** Room for more than a million logins. */
const MAX_LOGINS_BYTES = 16 * 1_024 * 1_024;

/** Parses an answer about one account. @returns undefined if there is no such account; @throws PlatformFailure */
export async function readUser(
  client: WebApiClient,
  login: number,
  signal: AbortSignal,
): Promise<PlatformUser | undefined> {
  const answer = await client.ask({ path: buildPath('/api/user/get', { login }) }, signal);
  if (answer.retcode === RETCODE_NOT_FOUND) return undefined;
  if (!isDoneAnswer(answer)) throw commandFailure(answer.retcode);
  const user = parseMember(UserSchema, answer.answer);
  if (user.Login !== login) throw new PlatformFailure('platform_unavailable', { reason: 'malformed_answer' });
  return user;
}

/** The account's balance, in units of its currency. @throws PlatformFailure */
export async function readBalance(client: WebApiClient, login: number, signal: AbortSignal): Promise<number> {
  const answer = await client.ask({ path: buildPath('/api/user/get', { login }) }, signal);
  if (!isDoneAnswer(answer)) throw commandFailure(answer.retcode);
  return parseMember(BalanceSchema, answer.answer).Balance;
}

/** The logins of all groups that the manager may see. @throws PlatformFailure */
export async function readLogins(client: WebApiClient, signal: AbortSignal): Promise<number[]> {
  const path = buildPath('/api/user/logins', { group: '*' });
  const answer = await client.ask({ path, maxBytes: MAX_LOGINS_BYTES }, signal);
  if (answer.retcode === RETCODE_NOT_FOUND) return [];
  if (!isDoneAnswer(answer)) throw commandFailure(answer.retcode);
  return parseMember(LoginsSchema, answer.answer);
}

/** ENABLED, PASSWORD, TRAILING, EXPERT, 0x80 and REPORTS. */
const RIGHTS = 0x1e3;
const TRADE_DISABLED = 0x4;
/** The longest name, in UTF-16 units. The server would cut a longer one inside a character. */
const NAME_UNITS = 127;

/**
 * The record of `user/add`, all in strings: as a body, and as the query for servers of the older family that read no body.
 * Servers log queries, so the body is sent first.
 */
export function userRecord(order: AccountOrder, connection: WebApiConnection): Pick<WebApiRequest, 'body' | 'query'> {
  const body = userBody(order, connection);
  const query = Object.entries(body).map(([name, value]) => [
    name.replace(/(?<=[a-z])(?=[A-Z])/, '_').toLowerCase(),
    value,
  ]);
  return { body, query: Object.fromEntries(query) as Record<string, string> };
}

function userBody(order: AccountOrder, connection: WebApiConnection): Record<string, string> {
  return {
    PassMain: order.masterPassword,
    PassInvestor: order.investorPassword,
    Group: order.group,
    // A letter with more marks than fit is one grapheme, so nothing is left of the name.
    Name: cutText(order.name.replace(/\p{Cc}+/gu, ' '), NAME_UNITS) || 'Client',
    Leverage: String(order.leverage),
    Rights: String(order.readonly ? RIGHTS | TRADE_DISABLED : RIGHTS),
    Email: order.email,
    Comment: order.operationId,
    ...(order.login === undefined ? {} : { Login: String(order.login) }),
    ...(order.phone === undefined ? {} : { Phone: order.phone }),
    ...(order.country === undefined ? {} : { Country: countryText(order.country, connection) }),
  };
}

const NewUserSchema = v.object({ Login: LoginSchema });

/**
 * The login of an account that was just opened. Newer servers name it at the root too.
 * @throws PlatformFailure `account_outcome_unknown` without a login
 */
export function parseNewLogin({ answer, login }: WebApiAnswer): number {
  const user = v.safeParse(NewUserSchema, answer);
  if (user.success) return user.output.Login;
  const root = v.safeParse(LoginSchema, login);
  if (root.success) return root.output;
  throw new PlatformFailure('account_outcome_unknown', { reason: 'login_missing' });
}
