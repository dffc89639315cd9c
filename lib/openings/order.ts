import type { AccountOrder, TradingPlatform } from '../platform/platform.ts';
import { Problem, validationProblem } from '../problem.ts';
import type { AccountDetails, AccountRecord } from '../records/accounts.ts';
import { type AccountClient, type Connection, isManagerGroup } from '../records/crm-records.ts';
import type { PlatformVersion, TradingAccountRequest } from '../validators/trading-account.ts';
import { TEXT_READINGS } from '../validators/typed-text.ts';
import type { CallerRequest, FoundRecords, Server } from './job.ts';
import type { LifeAt } from './life.ts';
import { storedServer } from './reservation.ts';
import type { HeldOperation, OperationPlan } from './stored-operation.ts';

/** The order that a request becomes: the CRM records that it names, its judgement, and what finishes it. */

/**
 * Checks the records that the request names, in the contract's order.
 * @returns the client
 * @throws Problem for the first record that is missing or of the other version
 */
export function checkRecords(
  version: PlatformVersion,
  body: TradingAccountRequest,
  { client, connection, accountType, rebateUser }: FoundRecords,
): AccountClient {
  if (client === undefined) throw new Problem('user_not_found');
  if (connection === undefined || connection.platform !== version) throw new Problem(`${version}_connection_not_found`);
  if (body.account_type_id === undefined) {
    if (connection.demo) throw new Problem('account_type_required');
  } else if (accountType === undefined || accountType.platform !== version) {
    throw new Problem('account_type_not_found');
  }
  if (body.rebate_user_id !== undefined && rebateUser === undefined) throw new Problem('rebate_user_not_found');
  return client;
}

/** Judges whether the connection takes this order. @throws Problem */
export function judgeOrder(
  order: AccountOrder,
  connection: Connection,
  platform: Pick<TradingPlatform, 'unsupported'>,
) {
  if (!offers(connection, order.group)) throw new Problem('group_not_found');
  const { max_leverage: max } = connection;
  if (max !== undefined && order.leverage > max) {
    throw validationProblem([
      { pointer: '#/leverage', rule: 'maximum', detail: `must be at most ${max} on this connection` },
    ]);
  }
  const errors = platform.unsupported(order);
  if (errors.length > 0) throw new Problem('not_supported_by_connection', { errors });
}

function offers({ groups }: Connection, group: string): boolean {
  if (isManagerGroup(group)) return false;
  if (groups === undefined) return true;
  return Array.isArray(groups) ? groups.includes(group) : Object.hasOwn(groups, group);
}

/** The deposit of a new account, on demo connections only. */
export function demoDeposit({
  connection,
  accountType,
}: Pick<FoundRecords, 'connection' | 'accountType'>): number | undefined {
  const deposit = accountType?.deposit ?? 0;
  return connection?.demo === true && deposit > 0 ? deposit : undefined;
}

/**
 * The order for the platform. @param login the login of the new account; absent: the caller's own login, if there is
 * one
 */
export function buildOrder(
  body: TradingAccountRequest,
  client: AccountClient,
  operationId: string,
  passwords: CallerRequest['passwords'],
  deposit: number | undefined,
  login: number | undefined = body.login,
): AccountOrder {
  return {
    operationId,
    group: body.group,
    leverage: body.leverage,
    login,
    loginGiven: body.login !== undefined,
    masterPassword: passwords.master_password,
    investorPassword: passwords.investor_password,
    name: TEXT_READINGS.name(client.name),
    email: client.email ?? '',
    phone: client.phone,
    country: client.country,
    readonly: body.enable_readonly ?? false,
    deposit,
  };
}

/** The account's record before the opening. */
export function buildDetails(
  request: { version: PlatformVersion; userId: string; body: TradingAccountRequest; caller: string },
  operationId: string,
): AccountDetails {
  const { version, userId, body, caller } = request;
  return {
    user_id: userId,
    version,
    connection_id: body.connection_id,
    group: body.group,
    leverage: body.leverage,
    account_type_id: body.account_type_id,
    enable_readonly: body.enable_readonly ?? false,
    enable_rebate: body.enable_rebate ?? false,
    rebate_user_id: body.rebate_user_id,
    operation_id: operationId,
    caller,
  };
}

/** The plan to finish the operation of a request without its caller. */
export function buildPlan(
  request: CallerRequest,
  operationId: string,
  { platform, connection }: Server,
  records: FoundRecords,
): OperationPlan {
  const { body } = request;
  const givenLogin = platform.keyed ? body.login : undefined;
  return {
    ...buildDetails(request, operationId),
    send_email: body.send_email,
    send_pop_up: body.send_pop_up,
    language: body.language,
    keyed: platform.keyed,
    exclusive: 'logins' in connection && connection.strict !== true,
    login_given: givenLogin !== undefined,
    deposit: demoDeposit(records),
    deposit_with_opening: platform.fundsWithOpening,
    server: storedServer(connection),
  };
}

/**
 * The deposit that may be paid for an operation now. A stored amount is not trusted. Nothing is paid on a connection
 * that is no demo one, without an account type of the version, or beyond the amount of the type, and nothing is taken.
 */
export function payableDeposit(plan: OperationPlan | undefined, records: FoundRecords): number | undefined {
  if (plan?.deposit === undefined || plan.deposit <= 0 || records.accountType?.platform !== plan.version)
    return undefined;
  const most = demoDeposit(records);
  return most === undefined ? undefined : Math.min(plan.deposit, most);
}

/** The record of an open account. */
export function accountRecord(
  held: Pick<HeldOperation, 'pk' | 'fingerprint' | 'secret' | 'derivation' | 'plan' | 'closed' | 'event'>,
  { login, opened_at, word }: Pick<LifeAt<'open'>, 'login' | 'opened_at' | 'word'>,
): AccountRecord {
  const { pk, fingerprint, secret, derivation, plan, closed, event } = held;
  if (plan === undefined) throw new Error('An open account has a plan.');
  const { keyed, server, exclusive, login_given } = plan;
  return {
    user_id: plan.user_id,
    version: plan.version,
    connection_id: plan.connection_id,
    login,
    group: plan.group,
    leverage: plan.leverage,
    account_type_id: plan.account_type_id,
    enable_readonly: plan.enable_readonly,
    enable_rebate: plan.enable_rebate,
    rebate_user_id: plan.rebate_user_id,
    operation_id: plan.operation_id,
    caller: plan.caller,
    opened_at,
    ...(word === true && { word }),
    origin: { pk, fingerprint, secret, derivation, keyed, server, exclusive, login_given, closed, event },
  };
}
