import { keyAttributes, RESTORABLE_TABLES } from '../../infra/tables.ts';
import type { Item } from '../../lib/aws/dynamodb.ts';
import type { Operators } from './operators.ts';
import { NEVER_ABORTED } from './outcomes.ts';

/** The attributes of the key of each table that can be restored. */
export const KEY_ATTRIBUTES: Readonly<Record<string, string[]>> = Object.fromEntries(
  RESTORABLE_TABLES.map((name) => [name.toLowerCase(), keyAttributes(name)]),
);

export async function writeItems(operators: Operators, table: string, items: readonly Item[]): Promise<void> {
  for (const item of items) await operators.tableOf(table).put(item, NEVER_ABORTED);
}

export async function removeItems(operators: Operators, table: string, items: readonly Item[]): Promise<void> {
  const keyOf = (item: Item) =>
    Object.fromEntries((KEY_ATTRIBUTES[table] ?? []).map((name) => [name, String(item[name])]));
  for (const item of items) await operators.tableOf(table).delete(keyOf(item), NEVER_ABORTED);
}

/** Restores a table as AWS does for a point in time: into another table with the items of that time. */
export async function restoredTable(operators: Operators, table: string, TableName: string): Promise<void> {
  const names = KEY_ATTRIBUTES[table] ?? [];
  await operators.service.database.createTable({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: names.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
  });
  await writeItems(operators, TableName, await operators.items(table));
}
