import type { Item, Table } from '../aws/dynamodb.ts';
import type { E164 } from '../validators/phone.ts';
import {
  type AccountType,
  AccountTypeSchema,
  type Client,
  ClientSchema,
  type Connection,
  ConnectionSchema,
} from './crm-records.ts';
import { crmKey, parseRecord, readItems } from './crm-table.ts';

/** A client for whom an account is opened, with the phone number in E.164. */
export interface AccountClient extends Omit<Client, 'phone'> {
  phone?: E164;
}

/** The CRM records of an opening; one round trip. */
export interface AccountDirectory {
  /** Reads the records that an opening names. */
  readAccountRecords(
    ids: {
      userId: string;
      connectionId: string;
      accountTypeId?: string | undefined;
      rebateUserId?: string | undefined;
    },
    signal: AbortSignal,
  ): Promise<{
    client: AccountClient | undefined;
    connection: Connection | undefined;
    accountType: AccountType | undefined;
    rebateUser: AccountClient | undefined;
  }>;
}

/** @throws AwsFailure also if a record in the table is malformed */
export function dynamoAccountDirectory(table: Table): AccountDirectory {
  return {
    async readAccountRecords({ userId, connectionId, accountTypeId, rebateUserId }, signal) {
      const keys = {
        client: crmKey.client(userId),
        connection: crmKey.connection(connectionId),
        accountType: accountTypeId === undefined ? undefined : crmKey.accountType(accountTypeId),
        rebateUser: rebateUserId === undefined ? undefined : crmKey.client(rebateUserId),
      };
      const items = await readItems(table, Object.values(keys), signal);
      return {
        client: accountClient(items.get(keys.client)),
        connection: parseRecord(ConnectionSchema, items.get(keys.connection)),
        accountType: parseRecord(AccountTypeSchema, items.get(keys.accountType ?? '')),
        rebateUser: accountClient(items.get(keys.rebateUser ?? '')),
      };
    },
  };
}

/** The item has the number in E.164, so that openings need no numbering plans. */
function accountClient(item: Item | undefined): AccountClient | undefined {
  const client = parseRecord(ClientSchema, item);
  if (client === undefined) return undefined;
  const { phone: _, ...rest } = client;
  const e164 = item?.e164;
  return typeof e164 === 'string' ? { ...rest, phone: e164 as E164 } : rest;
}
