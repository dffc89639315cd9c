import type { Item, Table } from '../aws/dynamodb.ts';
import { DUE_INDEX } from '../validators/deployment.ts';

/**
 * What is not at its end has the attributes `due_shard` and `due_at` (epoch ms), and nothing else has them: an index over
 * the two names what is to be taken up when nobody retries, oldest first, and costs nothing where nothing is open. Of a
 * few shards, lest many meet in one place of the index.
 */
const SHARDS = [0, 1, 2, 3].map((number) => `due#${number}`);

/** Never due by itself, but on the list of what is open. */
export const OPERATOR_ONLY = Number.MAX_SAFE_INTEGER;

/** @param id a UUID; @param at epoch ms */
export function due(id: string, at: number) {
  const shard = SHARDS[id.charCodeAt(0) % SHARDS.length];
  return { [DUE_INDEX.shard]: shard, [DUE_INDEX.at]: at };
}

/** The attributes of what is due; to be removed from what is at its end. */
export const DUE_ATTRIBUTES = [DUE_INDEX.shard, DUE_INDEX.at];

/** The keys of what is due until then (epoch ms), oldest first, so many of each shard. What was written a moment ago may be missing. */
export async function readDueKeys(table: Table, until: number, most: number, signal: AbortSignal): Promise<string[]> {
  const found = await Promise.all(SHARDS.map((shard) => table.queryIndex(DUE_INDEX, shard, until, most, signal)));
  const at = (item: Item) => Number(item[DUE_INDEX.at]);
  const sorted = found.flat().toSorted((a, b) => at(a) - at(b));
  return sorted.map(({ pk }) => String(pk));
}

/** So many are read at once: a database takes no more. */
const BATCH = 100;

/** What is due until then as it stands in the table, in the same order; without what has come to its end meanwhile. */
export async function readDue(table: Table, until: number, most: number, signal: AbortSignal): Promise<Item[]> {
  const pks = await readDueKeys(table, until, most, signal);
  const found = new Map<unknown, Item>();
  for (let at = 0; at < pks.length; at += BATCH) {
    const keys = pks.slice(at, at + BATCH).map((pk) => ({ pk }));
    for (const item of await table.getMany(keys, signal)) found.set(item.pk, item);
  }
  return pks.map((pk) => found.get(pk)).filter((item) => item?.[DUE_INDEX.shard] !== undefined) as Item[];
}
