import type { DynamoAttributes, ItemChange } from '../../infra/local/dynamo.ts';
import { stackTable, TABLE_NAMES } from '../../infra/tables.ts';
import { DUE_INDEX } from '../../lib/validators/deployment.ts';

/** The write units of a change: one for each kilobyte of the larger item, before or after, without indexes. */
export function writeUnits({ before = {}, after = {} }: ItemChange): number {
  return Math.max(1, ...[before, after].map((item) => Math.ceil(itemBytes(item) / 1_024)));
}

/** By DynamoDB's rules (Developer Guide, "Item sizes and formats"): names and values, and a little for maps and lists. */
function itemBytes(item: DynamoAttributes): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);
}

function valueBytes(value: unknown): number {
  const [[type, content] = []] = Object.entries(value as Record<string, unknown>);
  if (type === 'S') return Buffer.byteLength(String(content));
  if (type === 'N') return Math.ceil(String(content).length / 2) + 1;
  if (type === 'L') return (content as unknown[]).reduce<number>((sum, one) => sum + 1 + valueBytes(one), 3);
  if (type !== 'M') return 1;
  const members = Object.entries(content as DynamoAttributes);
  return members.reduce((sum, [name, one]) => sum + 1 + Buffer.byteLength(name) + valueBytes(one), 3);
}

/**
 * The write units of the indexes: one for each kilobyte of an entry that is deleted or put. An entry whose keys and
 * attributes stay costs none.
 */
export function indexUnits({ table, before, after }: ItemChange): number {
  const name = TABLE_NAMES.find((one) => one.toLowerCase() === table);
  if (name === undefined) throw new Error(`The stack has no table ${table}.`);
  const { due, indexes = [], copies } = stackTable(name);
  const keys = [...(due ? [[DUE_INDEX.at, DUE_INDEX.shard]] : []), ...indexes.map((one) => [one])];
  const entry = (item: DynamoAttributes | undefined, key: readonly string[]) =>
    item !== undefined && key.every((one) => one in item) ? JSON.stringify(key.map((one) => item[one])) : undefined;
  const changed = keys.map((key) => [entry(before, key), entry(after, key)]).filter(([old, now]) => old !== now);
  const units = changed.flat().filter((one) => one !== undefined).length;
  const isCopied = copies !== undefined && [before, after].some((item) => entry(item, [copies]) !== undefined);
  return units + (isCopied ? writeUnits({ table, before, after }) : 0);
}
