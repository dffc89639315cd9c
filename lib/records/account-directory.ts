import type { Item, Table } from '../aws/dynamodb.ts';
import type { Telemetry } from '../telemetry.ts';
import type { E164 } from '../validators/phone.ts';
import { AccountTypeSchema, type Client, ClientSchema, ConnectionSchema, crmKey, parseRecord } from './crm-records.ts';

/** A client for whom an account is opened, with the phone number in E.164. */
export interface AccountClient extends Omit<Client, 'phone'> {
  phone?: E164;
}

/** The records that an opening names. */
interface RecordIds {
  userId: string;
  connectionId: string;
  accountTypeId?: string | undefined;
  rebateUserId?: string | undefined;
}

export type AccountDirectory = ReturnType<typeof dynamoAccountDirectory>;

/** The CRM records of an opening. */
export function dynamoAccountDirectory(table: Table) {
  return {
    /** Reads the records in one round trip. A malformed one counts as absent. */
    async readAccountRecords(ids: RecordIds, telemetry: Telemetry, signal: AbortSignal) {
      const { userId, connectionId, accountTypeId, rebateUserId } = ids;
      const keys = {
        client: crmKey.client(userId),
        connection: crmKey.connection(connectionId),
        accountType: accountTypeId === undefined ? undefined : crmKey.accountType(accountTypeId),
        rebateUser: rebateUserId === undefined ? undefined : crmKey.client(rebateUserId),
      };
      const wanted = [...new Set(Object.values(keys).filter((key) => key !== undefined))];
      const found = await table.getMany(
        wanted.map((pk) => ({ pk })),
        signal,
      );
      const items = new Map(found.map((item) => [String(item.pk), item]));
      const item = (key: string | undefined) => items.get(key ?? '');
      return {
        client: accountClient(item(keys.client), telemetry),
        connection: parseRecord(ConnectionSchema, item(keys.connection), telemetry),
        accountType: parseRecord(AccountTypeSchema, item(keys.accountType), telemetry),
        rebateUser: accountClient(item(keys.rebateUser), telemetry),
      };
    },
  };
}

/** The item has the number in E.164, so that openings need no numbering plans. */
function accountClient(item: Item | undefined, telemetry: Telemetry): AccountClient | undefined {
  const client = parseRecord(ClientSchema, item, telemetry);
  if (client === undefined) return undefined;
  const { phone: _, ...rest } = client;
  return typeof item?.e164 === 'string' ? { ...rest, phone: item.e164 as E164 } : rest;
}
