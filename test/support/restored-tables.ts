import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { tableItems } from '../../infra/crm/crm-table.ts';
import { keyAttributes, RESTORABLE } from '../../infra/tables.ts';
import type { Item } from '../../lib/aws/dynamodb.ts';
import type { Operators } from './operators.ts';

/** The attributes of the key of each table that can be restored. */
export const KEYS: Readonly<Record<string, string[]>> = Object.fromEntries(
  RESTORABLE.map((name) => [name.toLowerCase(), keyAttributes(name)]),
);

export const itemsOf = (table: string, name = table) => tableItems(name, KEYS[table] ?? [], {});

export async function write(table: string, items: readonly Item[], name = table): Promise<void> {
  for (const item of items) await itemsOf(table, name).add(item);
}

/** What AWS does for a restore to a point in time: another table with the items of that time. */
export async function restoredTable(operators: Operators, table: string, TableName: string): Promise<void> {
  const client = new DynamoDBClient({});
  const names = KEYS[table] ?? [];
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: names.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
    }),
  );
  client.destroy();
  await write(table, await operators.items(table), TableName);
}
