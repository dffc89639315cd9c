import type { Table } from '../aws/dynamodb.ts';
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

export interface Accounts {
  /** Writes the record; the same account written again is the same record. */
  put(record: AccountRecord, signal: AbortSignal): Promise<void>;
}

/** Accounts in DynamoDB: by client (`pk`), then version, connection and login (`sk`). */
export function accountsIn(table: Table): Accounts {
  return {
    async put(record, signal) {
      const sk = `${record.version}#${record.connection_id}#${record.login}`;
      await table.put({ pk: record.user_id, sk, ...record }, signal);
    },
  };
}
