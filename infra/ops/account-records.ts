import * as v from 'valibot';
import { dynamoTable, type Item } from '../../lib/aws/dynamodb.ts';
import { type AccountRecord, openedAccounts } from '../../lib/records/accounts.ts';
import { EVENT_SCHEMAS } from '../../lib/records/event-schemas.ts';
import type { Target } from './target.ts';

const text = v.string();
const flag = v.boolean();

/** What a record says of its operation, next to the members of the event. */
const OfOperationSchema = v.object({
  word: v.optional(flag),
  origin: v.optional(
    v.object({
      pk: text,
      fingerprint: text,
      secret: text,
      derivation: v.number(),
      keyed: flag,
      server: v.optional(text),
      exclusive: flag,
      login_given: flag,
      closed: v.optional(v.array(v.number())),
      event: v.number(),
    }),
  ),
});

/** Reads the record of an account. @returns undefined if the item cannot be read */
export function readAccountRecord(item: Item): AccountRecord | undefined {
  const opened = v.safeParse(EVENT_SCHEMAS.AccountOpened, { ...item, id: item.operation_id });
  const ofOperation = v.safeParse(OfOperationSchema, item);
  if (!opened.success || !ofOperation.success) return undefined;
  const { id: operation_id, corrects: _, ...record } = opened.output;
  return { ...record, operation_id, ...ofOperation.output };
}

const CALL_MS = 10_000;

/** The accounts of a client, the oldest first, and the keys of items that cannot be read. */
export async function readAccounts({ database, resource }: Target, userId: string) {
  const table = dynamoTable(database, await resource('AccountsTable'));
  const items = await openedAccounts(table, userId, AbortSignal.timeout(CALL_MS));
  const read = items.map((item) => ({ item, record: readAccountRecord(item) }));
  const records = read.flatMap(({ record }) => record ?? []);
  return {
    records: records.toSorted((a, b) => a.opened_at.localeCompare(b.opened_at)),
    unreadable: read.flatMap(({ item, record }) => (record === undefined ? [`${item.pk} ${item.sk}`] : [])),
  };
}
