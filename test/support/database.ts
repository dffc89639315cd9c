import { paginateScan } from '@aws-sdk/lib-dynamodb';
import { onTestFinished } from 'vitest';
import {
  createTables,
  type DatabaseTables,
  type EmbeddedDatabase,
  emptyDynamo,
  startDatabase,
  TABLES,
} from '../../infra/local/database.ts';
import type { TableName } from '../../infra/tables.ts';
import { databaseClient, dynamoTable, type Item, type Table } from '../../lib/aws/dynamodb.ts';
import { directClient } from './direct-client.ts';
import { clientSettings } from './servers.ts';

export interface TestDatabase extends EmbeddedDatabase {
  readonly client: ReturnType<typeof databaseClient>;
  readonly tables: Record<keyof DatabaseTables, Table>;
}

/** All items of a table, or of one of its indexes, by key. */
export async function scanItems(client: TestDatabase['client'], TableName: string, IndexName?: string) {
  const items: Item[] = [];
  for await (const page of paginateScan({ client }, { TableName, ...(IndexName && { IndexName }) }))
    items.push(...(page.Items ?? []));
  return items.sort((a, b) => (String(a.pk) < String(b.pk) ? -1 : 1));
}

/** The timeouts of clients in tests that are not about time: a busy machine may take long. */
export const LONG_TIMEOUTS = { requestHandler: { connectionTimeout: 30_000, requestTimeout: 30_000 } };

/**
 * A separate database with empty tables; it ends with its test.
 * @param more settings of the SDK's client; absent: the client calls the database without HTTP
 */
export async function testDatabase(
  ends: (close: () => Promise<void>) => void = onTestFinished,
  more?: Parameters<typeof databaseClient>[0],
): Promise<TestDatabase> {
  const database = await startDatabase();
  await database.createTables();
  const client =
    more === undefined ? directClient(database) : databaseClient({ ...clientSettings(database.url), ...more });
  ends(async () => {
    client.destroy();
    await database.close();
  });
  return { ...database, client, tables: tablesOf(client) };
}

function tablesOf(client: TestDatabase['client']): TestDatabase['tables'] {
  const tables = Object.entries(TABLES).map(([kind, name]) => [kind, dynamoTable(client, name)]);
  return Object.fromEntries(tables) as TestDatabase['tables'];
}

/** Some separate, empty tables in this process, which nothing has to close. A table takes a millisecond. */
export async function testTables(...names: TableName[]) {
  const dynamo = emptyDynamo();
  await createTables(dynamo, names);
  const client = directClient(dynamo);
  return { client, tables: tablesOf(client) };
}
