import * as v from 'valibot';
import { dynamoTable, type Item } from '../../lib/aws/dynamodb.ts';
import { type AccountRecord, openedAccounts } from '../../lib/records/accounts.ts';
import { EVENT_SCHEMAS } from '../../lib/records/event-schemas.ts';
import type { Target } from './target.ts';

/** The records of accounts, and the keys of items that cannot be read. */
export interface ReadAccounts {
  records: AccountRecord[];
  unreadable: string[];
}

/** Parses the items of accounts. An unreadable item hides no other. */
export function readAccountRecords(items: readonly Item[]): ReadAccounts {
  const read: ReadAccounts = { records: [], unreadable: [] };
  for (const item of items) {
    const parsed = v.safeParse(EVENT_SCHEMAS.AccountOpened, { ...item, id: item.operation_id });
    if (parsed.success) {
      const { id: operation_id, ...record } = parsed.output;
      read.records.push({ ...record, operation_id });
    } else read.unreadable.push(`${String(item.pk)} ${String(item.sk)}`);
  }
  return read;
}

const CALL_MS = 10_000;

/** The accounts of a client. */
export async function readAccounts({ database, resource }: Target, userId: string): Promise<ReadAccounts> {
  const table = dynamoTable(database, await resource('AccountsTable'));
  const { records, unreadable } = readAccountRecords(await openedAccounts(table, userId, AbortSignal.timeout(CALL_MS)));
  return { records: records.toSorted((a, b) => a.opened_at.localeCompare(b.opened_at)), unreadable };
}
