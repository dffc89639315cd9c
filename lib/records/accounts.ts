import type { Item, Table } from '../aws/dynamodb.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';
import type { EventDetail } from './event-schemas.ts';

/** The record of an opened trading account, without passwords. */
export type AccountRecord = Omit<EventDetail<'AccountOpened'>, 'id'> & { operation_id: string };

/** A record without its login. */
export type AccountDetails = Omit<AccountRecord, 'login' | 'opened_at'>;

export type Accounts = ReturnType<typeof dynamoAccounts>;

/** Accounts in DynamoDB: by client (`pk`), then version, connection and login (`sk`). */
export function dynamoAccounts(table: Table) {
  return {
    /** Writes the record; the same account written again is the same record. */
    async put(record: AccountRecord, signal: AbortSignal): Promise<void> {
      await table.put(accountItem(record), signal);
    },
    /** The record of an account; undefined if there is none. */
    async read(account: AccountPlace, signal: AbortSignal): Promise<AccountRecord | undefined> {
      // `put` wrote it, so its shape is known.
      return (await table.get(accountKey(account), signal)) as AccountRecord | undefined;
    },
    /** The record of the account that one of these operations has opened; undefined if there is none. */
    async find({ user_id, ...connection }: Client, operationIds: readonly string[], signal: AbortSignal) {
      const values = Object.fromEntries(operationIds.map((id, index) => [`:operation${index}`, id]));
      const ofOperation = { condition: `operation_id IN (${Object.keys(values).join(', ')})`, values };
      const [record] = await table.query(user_id, connectionPrefix(connection), signal, ofOperation);
      return record as AccountRecord | undefined;
    },
  };
}

/** The item of an account's record. */
export function accountItem(record: AccountRecord): Item {
  return { ...accountKey(record), ...record };
}

/** Where an account is. */
type AccountPlace = Pick<AccountRecord, 'user_id' | 'version' | 'connection_id' | 'login'>;
/** The accounts of a client on one connection. */
type Client = Omit<AccountPlace, 'login'>;

function accountKey({ user_id, login, ...connection }: AccountPlace) {
  return { pk: user_id, sk: `${connectionPrefix(connection)}${login}` };
}

function connectionPrefix({ version, connection_id }: Pick<AccountPlace, 'version' | 'connection_id'>): string {
  return `${version}#${connection_id}#`;
}

/** The items of the accounts of a client that were opened here. */
export async function openedAccounts(table: Table, userId: string, signal: AbortSignal): Promise<Item[]> {
  const versions: PlatformVersion[] = ['tp5', 'tp4'];
  return (await Promise.all(versions.map((version) => table.query(userId, `${version}#`, signal)))).flat();
}
