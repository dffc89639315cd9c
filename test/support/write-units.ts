import type { DynamoAttributes, ItemChange } from '../../infra/local/dynamo.ts';

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
