import { hash } from 'node:crypto';
import type { AccountOrder, TradingPlatform } from '../platform/platform.ts';
import { Problem } from '../problem.ts';
import type { AccountClient, AccountDirectory } from '../records/account-directory.ts';
import type { AccountDetails } from '../records/accounts.ts';
import { type AccountType, type Connection, isGroupOfManagers, type LoginRange } from '../records/crm-records.ts';
import type { Operation } from '../records/operations.ts';
import type { PlatformVersion, TradingAccountRequest } from '../validators/trading-account.ts';

/** What an order names, as it was found. */
export type FoundRecords = Awaited<ReturnType<AccountDirectory['forAccount']>>;

/** The records of the CRM that an order is made of. */
export interface NamedRecords {
  client: AccountClient;
  connection: Connection;
  accountType: AccountType | undefined;
}

/** The records that the request names, in the contract's order; @throws Problem for the first that is missing or of the other version */
export function findRecords(
  version: PlatformVersion,
  body: TradingAccountRequest,
  records: FoundRecords,
): NamedRecords {
  const { client, connection } = findServer(version, records);
  const { accountType, rebateUser } = records;
  if (body.account_type_id === undefined) {
    if (connection.demo) throw new Problem('account_type_required');
  } else if (accountType === undefined || accountType.platform !== version) {
    throw new Problem('account_type_not_found');
  }
  if (body.rebate_user_id !== undefined && rebateUser === undefined) throw new Problem('rebate_user_not_found');
  return { client, connection, accountType };
}

/** What a request that may have been carried out needs to be settled: whatever else it named may be gone by now. */
export function findServer(version: PlatformVersion, { client, connection, accountType }: FoundRecords): NamedRecords {
  if (client === undefined) throw new Problem('user_not_found');
  if (connection === undefined || connection.platform !== version) throw new Problem(`${version}_connection_not_found`);
  return { client, connection, accountType };
}

/**
 * Whether the connection takes this order. Asked of an order that has not been sent: what may have been carried out is
 * settled, whatever the connection has come to offer since.
 * @throws Problem when it does not
 */
export function judgeOrder(
  order: AccountOrder,
  connection: Connection,
  platform: Pick<TradingPlatform, 'unsupported'>,
) {
  if (!offers(connection, order.group)) throw new Problem('group_not_found');
  const errors = platform.unsupported(order);
  if (errors.length > 0) throw new Problem('not_supported_by_connection', { errors });
}

function offers({ groups }: Connection, group: string): boolean {
  if (isGroupOfManagers(group)) return false;
  if (groups === undefined) return true;
  return Array.isArray(groups) ? groups.includes(group) : Object.hasOwn(groups, group);
}

/** Of so many logins each is asked for, before the range counts as used up. */
const MAX_CANDIDATES = 16;

/**
 * The logins of a range that an operation asks for, one after the other: always the same ones for the same operation,
 * and uniform over the range, so that operations seldom meet.
 */
export function* loginCandidates({ nonce }: Pick<Operation, 'nonce'>, { from, to }: LoginRange): Generator<number> {
  const size = BigInt(to - from + 1);
  const given = new Set<number>();
  for (let index = 0; index < MAX_CANDIDATES; index += 1) {
    const digest = hash('sha256', `account-login\n${index}\n${nonce}`);
    // Of 256 bits the remainder favours no login that anyone could notice.
    const login = from + Number(BigInt(`0x${digest}`) % size);
    if (!given.has(login)) yield login;
    given.add(login);
  }
}

/** What a new account is funded with; on a demo connection only. */
export function depositOf({ connection, accountType }: NamedRecords): number | undefined {
  const deposit = accountType?.deposit ?? 0;
  return connection.demo && deposit > 0 ? deposit : undefined;
}

/** What the platform is asked for. */
export function toOrder(
  body: TradingAccountRequest,
  client: AccountClient,
  operation: Operation,
  passwords: { master_password: string; investor_password: string },
  deposit: number | undefined,
): AccountOrder {
  return {
    operationId: operation.operationId,
    group: body.group,
    leverage: body.leverage,
    ...(body.login === undefined ? {} : { login: body.login }),
    masterPassword: passwords.master_password,
    investorPassword: passwords.investor_password,
    name: client.name,
    email: client.email,
    ...(client.phone === undefined ? {} : { phone: client.phone }),
    ...(client.country === undefined ? {} : { country: client.country }),
    readonly: body.enable_readonly ?? false,
    ...(deposit === undefined ? {} : { deposit }),
  };
}

/** The account's record, as far as it is known before the account is. */
export function accountDetails(
  version: PlatformVersion,
  userId: string,
  body: TradingAccountRequest,
  operation: Operation,
): AccountDetails {
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
    operation_id: operation.operationId,
  };
}
