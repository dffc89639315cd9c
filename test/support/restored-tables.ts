import { keyAttributes, RESTORABLE } from '../../infra/tables.ts';
import type { Item } from '../../lib/aws/dynamodb.ts';
import type { Operators } from './operators.ts';
import { forever } from './outcomes.ts';

/** The attributes of the key of each table that can be restored. */
export const KEYS: Readonly<Record<string, string[]>> = Object.fromEntries(
  RESTORABLE.map((name) => [name.toLowerCase(), keyAttributes(name)]),
);

export async function write(operators: Operators, table: string, items: readonly Item[]): Promise<void> {
  for (const item of items) await operators.tableOf(table).put(item, forever);
}

export async function remove(operators: Operators, table: string, items: readonly Item[]): Promise<void> {
  const keyOf = (item: Item) => Object.fromEntries((KEYS[table] ?? []).map((name) => [name, String(item[name])]));
  for (const item of items) await operators.tableOf(table).delete(keyOf(item), forever);
}

/** What AWS does for a restore to a point in time: another table with the items of that time. */
export async function restoredTable(operators: Operators, table: string, TableName: string): Promise<void> {
  const names = KEYS[table] ?? [];
  await operators.service.database.createTable({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: names.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
  });
  await write(operators, TableName, await operators.items(table));
}
