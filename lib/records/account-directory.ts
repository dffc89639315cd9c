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

/** A client for whom an account is opened; the phone number as its item has it beside the record. */
export interface AccountClient extends Omit<Client, 'phone'> {
  phone?: E164;
}

/** What the opening of an account reads of the CRM; one round trip. */
export interface AccountDirectory {
  /** What the opening of an account names. */
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

/** @throws AwsFailure also when a record in the table breaks its own rules */
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

/** The number in E.164 stands in the item, so that no account waits for the numbering plans of the world. */
function accountClient(item: Item | undefined): AccountClient | undefined {
  const client = parseRecord(ClientSchema, item);
  if (client === undefined) return undefined;
  const { phone: _, ...rest } = client;
  const e164 = item?.e164;
  return typeof e164 === 'string' ? { ...rest, phone: e164 as E164 } : rest;
}
