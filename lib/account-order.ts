import { Problem } from './http/problem.ts';
import type { AccountOrder } from './platform/platform.ts';
import type { AccountRecord } from './records/accounts.ts';
import { type AccountType, type Connection, isGroupOfManagers } from './records/crm-records.ts';
import type { AccountClient, Directory } from './records/directory.ts';
import type { Operation } from './records/operations.ts';
import type { PlatformVersion, TradingAccountRequest } from './validators/trading-account.ts';

/** The records of the CRM that a request names. */
export interface NamedRecords {
  client: AccountClient;
  connection: Connection;
  accountType: AccountType | undefined;
}

/** The records that the request names, in the contract's order; @throws Problem for the first that is missing or of the other version */
export function findRecords(
  version: PlatformVersion,
  body: TradingAccountRequest,
  records: Awaited<ReturnType<Directory['forAccount']>>,
): NamedRecords {
  const { client, connection, accountType, rebateUser } = records;
  if (client === undefined) throw new Problem('user_not_found');
  if (connection === undefined || connection.platform !== version) throw new Problem(`${version}_connection_not_found`);
  if (body.account_type_id === undefined) {
    if (connection.demo) throw new Problem('account_type_required');
  } else if (accountType === undefined || accountType.platform !== version) {
    throw new Problem('account_type_not_found');
  }
  if (body.rebate_user_id !== undefined && rebateUser === undefined) throw new Problem('rebate_user_not_found');
  if (!offers(connection, body.group)) throw new Problem('group_not_found');
  return { client, connection, accountType };
}

function offers({ groups }: Connection, group: string): boolean {
  if (isGroupOfManagers(group)) return false;
  if (groups === undefined) return true;
  return Array.isArray(groups) ? groups.includes(group) : Object.hasOwn(groups, group);
}

/** A record that waits for its login. */
export type AccountDetails = Omit<AccountRecord, 'login' | 'opened_at'>;

/** What the platform is asked for. */
export function toOrder(
  body: TradingAccountRequest,
  { client, connection, accountType }: NamedRecords,
  operation: Operation,
  passwords: { master_password: string; investor_password: string },
): AccountOrder {
  const deposit = connection.demo ? (accountType?.deposit ?? 0) : 0;
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
    ...(deposit > 0 ? { deposit } : {}),
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
