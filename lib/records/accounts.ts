import type { Item, Table } from '../aws/dynamodb.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';
import type { EventDetail } from './event-schemas.ts';

/** The record of an opened trading account, without passwords. */
export type AccountRecord = Omit<EventDetail<'AccountOpened'>, 'id' | 'corrects'> & {
  operation_id: string;
  /** True: an operator said that the account is the request's, and no answer of the server proves it. */
  word?: boolean | undefined;
  /** Absent in records of 1.x. */
  origin?: AccountOrigin | undefined;
};

/** What a lost operation is made again from. */
export interface AccountOrigin {
  /** The key of the operation's item, and what its id follows from. */
  pk: string;
  fingerprint: string;
  secret: string;
  derivation: number;
  /** What the operation's plan says about its server. */
  keyed: boolean;
  server?: string | undefined;
  exclusive: boolean;
  login_given: boolean;
  /** The logins of which an operator has said that no account is the request's. */
  closed?: readonly number[] | undefined;
  /** The number of the last event about the operation's account, from 1. */
  event: number;
}

/** A record before the opening. */
export type AccountDetails = Omit<AccountRecord, 'login' | 'opened_at' | 'word' | 'origin'>;

export type Accounts = ReturnType<typeof dynamoAccounts>;

/** Accounts in DynamoDB: by client (`pk`), then version, connection and login (`sk`). */
export function dynamoAccounts(table: Table) {
  return {
    /** Writes the record; the same account written again is the same record. */
    async put(record: AccountRecord, signal: AbortSignal): Promise<void> {
      await table.put(accountItem(record), signal);
    },
  };
}

/** The item of an account's record. */
export function accountItem(record: AccountRecord): Item {
  return { ...accountKey(record), ...record };
}

/** Where an account is. */
type AccountPlace = Pick<AccountRecord, 'user_id' | 'version' | 'connection_id' | 'login'>;

export function accountKey({ user_id, version, connection_id, login }: AccountPlace) {
  return { pk: user_id, sk: `${version}#${connection_id}#${login}` };
}

/** The items of the accounts of a client that were opened here. */
export async function openedAccounts(table: Table, userId: string, signal: AbortSignal): Promise<Item[]> {
  const versions: PlatformVersion[] = ['tp5', 'tp4'];
  return (await Promise.all(versions.map((version) => table.query(userId, `${version}#`, signal)))).flat();
}
