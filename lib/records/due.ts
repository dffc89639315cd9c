import { hash } from 'node:crypto';
import type { Item, Table } from '../aws/dynamodb.ts';
import { DUE_INDEX } from '../config/deployment.ts';

/**
 * Only unfinished items have the attributes `due_shard` and `due_at` (epoch ms). A sparse index over both lists them,
 * oldest first, and costs nothing when it is empty. Even shards avoid a hot partition. Version 1.0.0 reads these four.
 */
export const DUE_SHARDS = [0, 1, 2, 3].map((number) => `due#${number}`);

/** The due time of an item that is never due, and is on the list of open items: only an operator can end it. */
export const OPERATOR_ONLY = Number.MAX_SAFE_INTEGER;
/** The due time of an item that is never due: it waits for a retry with the same idempotency key. */
export const RETRY_ONLY = OPERATOR_ONLY - 1;

/** The attributes that list an item as due. @param at epoch ms */
export function dueAttributes(id: string, at: number) {
  const shard = DUE_SHARDS[hash('sha256', id, 'buffer').readUInt8() % DUE_SHARDS.length];
  return { [DUE_INDEX.shard]: shard, [DUE_INDEX.at]: at };
}

/** The attributes of unfinished items, to be removed at the end. */
export const DUE_ATTRIBUTES = [DUE_INDEX.shard, DUE_INDEX.at];

/**
 * Reads the items that are due at `until` (epoch ms), oldest first, at most `most` of each shard. The index is
 * eventually consistent: the items are read again, and ended ones are left out.
 */
export async function readDue(table: Table, until: number, most: number, signal: AbortSignal): Promise<Item[]> {
  const keys = await Promise.all(DUE_SHARDS.map((shard) => table.queryIndex(DUE_INDEX, shard, until, most, signal)));
  const at = (item: Item) => Number(item[DUE_INDEX.at]);
  const pks = keys
    .flat()
    .toSorted((a, b) => at(a) - at(b))
    .map(({ pk }) => String(pk));
  const items = await table.getMany(
    pks.map((pk) => ({ pk })),
    signal,
  );
  const found = new Map(items.map((item) => [item.pk, item]));
  return pks.map((pk) => found.get(pk)).filter((item) => item?.[DUE_INDEX.shard] !== undefined) as Item[];
}
