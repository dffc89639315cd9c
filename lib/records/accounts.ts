import * as v from 'valibot';
import { DatabaseFailure, type Table } from '../aws/dynamodb.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';

/** What is kept of an opened trading account. No password, in no form. */
export interface AccountRecord {
  user_id: string;
  version: PlatformVersion;
  connection_id: string;
  login: number;
  group: string;
  leverage: number;
  account_type_id?: string | undefined;
  enable_readonly: boolean;
  enable_rebate: boolean;
  rebate_user_id?: string | undefined;
  operation_id: string;
  /** ISO 8601, UTC. */
  opened_at: string;
}

/** A record that waits for its login. */
export type AccountDetails = Omit<AccountRecord, 'login' | 'opened_at'>;

export interface Accounts {
  /** Writes the record; the same account written again is the same record. */
  put(record: AccountRecord, signal: AbortSignal): Promise<void>;
  /** The account that an operation has opened for a client, where its record is written: what it did is known then without the platform. */
  find(
    opened: Pick<AccountRecord, 'user_id' | 'version' | 'connection_id' | 'operation_id'>,
    signal: AbortSignal,
  ): Promise<Pick<AccountRecord, 'login' | 'opened_at'> | undefined>;
}

const FoundAccount = v.object({ login: v.number(), opened_at: v.string() });

/** Accounts in DynamoDB: by client (`pk`), then version, connection and login (`sk`). */
export function accountsIn(table: Table): Accounts {
  return {
    async put(record, signal) {
      await table.put({ pk: record.user_id, sk: `${server(record)}${record.login}`, ...record }, signal);
    },

    async find(opened, signal) {
      const items = await table.query(opened.user_id, server(opened), signal);
      const item = items.find(({ operation_id }) => operation_id === opened.operation_id);
      if (item === undefined) return undefined;
      const result = v.safeParse(FoundAccount, item);
      if (!result.success) throw new DatabaseFailure('AccountMalformed');
      return result.output;
    },
  };
}

function server({ version, connection_id }: Pick<AccountRecord, 'version' | 'connection_id'>): string {
  return `${version}#${connection_id}#`;
}
