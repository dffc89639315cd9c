import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, paginateScan } from '@aws-sdk/lib-dynamodb';
import pLimit from 'p-limit';
import { databaseClient, dynamoTable, type Item, tryWrite } from '../../lib/aws/dynamodb.ts';
import type { CrmItem } from './crm-items.ts';

/** A change of one item: the new item, or the key of a deleted one. */
export type CrmWrite = { put: CrmItem } | { delete: string };

export type CrmTable = ReturnType<typeof crmTable>;
export type TableItems = ReturnType<typeof tableItems>;

/** The maximum of one batch, by DynamoDB. */
const MAX_WRITES = 25;
/** The number of parallel batches, and the retries of unprocessed items. */
const AT_ONCE = 4;
const MAX_ROUNDS = 12;
/** The time for one question, also for hundreds of items. */
const CALL_MS = 60_000;
const callSignal = () => AbortSignal.timeout(CALL_MS);

/** The table of CRM records, as its operators see it. */
export function crmTable(TableName: string, config: DynamoDBClientConfig = {}) {
  const { documents, pages, get } = tableItems(TableName, ['pk'], config);

  async function sendBatch(requests: readonly Item[]): Promise<void> {
    let waiting = [...requests];
    for (let round = 0; waiting.length > 0; round += 1) {
      if (round === MAX_ROUNDS) throw new Error('The database is too busy. Try again later.');
      if (round > 0) await sleep(Math.random() * Math.min(5_000, 100 * 2 ** round));
      const answer = await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: waiting } }));
      waiting = answer.UnprocessedItems?.[TableName] ?? [];
    }
  }

  return {
    /** Reads the whole table: a call for each megabyte. */
    async readAll() {
      const items: CrmItem[] = [];
      for await (const page of pages()) items.push(...(page as unknown as CrmItem[]));
      return items;
    },
    read: async (pk: string) => ((await get([{ pk }])) as unknown as CrmItem[])[0],
    /** The items of these keys that exist, in any order: a call for each 100. */
    readMany: async (keys: readonly string[]) =>
      (await get([...new Set(keys)].map((pk) => ({ pk })))) as unknown as CrmItem[],
    /** Writes in batches, in any order; an item may have only one write. */
    async write(writes: readonly CrmWrite[]) {
      const requests = writes.map((write) =>
        'put' in write ? { PutRequest: { Item: write.put } } : { DeleteRequest: { Key: { pk: write.delete } } },
      );
      const batches = Array.from({ length: Math.ceil(requests.length / MAX_WRITES) }, (_, place) =>
        requests.slice(place * MAX_WRITES, (place + 1) * MAX_WRITES),
      );
      await pLimit(AT_ONCE).map(batches, sendBatch);
    },
    close: () => documents.destroy(),
  };
}

/** One table, item by item, as the commands on whole tables need it. @param keys the attributes of its key */
export function tableItems(TableName: string, keys: readonly string[], config: DynamoDBClientConfig) {
  // A batch may be large, and an operator's line slow.
  const requestHandler = { connectionTimeout: 5_000, requestTimeout: CALL_MS };
  const documents = databaseClient({ maxAttempts: 5, requestHandler, ...config });
  const table = dynamoTable(documents, TableName);
  /** The attributes of an item's key. */
  const itemKey = (item: Item) => Object.fromEntries(keys.map((name) => [name, String(item[name])]));
  return {
    documents,
    itemKey,
    /** All items, a page at a time. */
    async *pages(): AsyncGenerator<Item[]> {
      for await (const page of paginateScan({ client: documents }, { TableName, ConsistentRead: true }))
        yield page.Items ?? [];
    },
    /** Those of the keys that exist, in any order: a call for each 100. */
    get: async (items: readonly Item[]) =>
      items.length === 0 ? [] : await table.getMany(items.map(itemKey), callSignal()),
    /** @returns false if an item with this key exists */
    async add(item: Item) {
      const condition = `attribute_not_exists(${keys[0]})`;
      const added = table.put(item, callSignal(), { condition }).then(() => true);
      return (await tryWrite(added)) ?? false;
    },
    delete: (item: Item) => table.delete(itemKey(item), callSignal()),
  };
}
