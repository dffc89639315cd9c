import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  paginateScan,
} from '@aws-sdk/lib-dynamodb';
import pLimit from 'p-limit';
import type { CrmItem } from './crm-items.ts';

export type Item = Record<string, unknown>;

/** A change of one item: the new item, or the key of a deleted one. */
export type CrmWrite = { put: CrmItem } | { delete: string };

export type CrmTable = ReturnType<typeof crmTable>;
export type TableItems = ReturnType<typeof tableItems>;

/** The maximum of one batch, by DynamoDB. */
const MAX_WRITES = 25;
const MAX_READS = 100;
/** The number of parallel batches, and the retries of unprocessed items. */
const AT_ONCE = 4;
const MAX_ROUNDS = 12;

/** The table of CRM records, as its operators see it. */
export function crmTable(TableName: string, config: DynamoDBClientConfig = {}) {
  const documents = openDocuments(config);
  const { pages, get } = tableItems(TableName, ['pk'], config, documents);
  return {
    /** Reads the whole table: a call for each megabyte. */
    async readAll() {
      const items: CrmItem[] = [];
      for await (const page of pages()) items.push(...(page as unknown as CrmItem[]));
      return items;
    },
    async read(pk: string) {
      const answer = await documents.send(new GetCommand({ TableName, Key: { pk }, ConsistentRead: true }));
      return answer.Item as CrmItem | undefined;
    },
    /** The items of these keys that exist, in any order: a call for each 100. */
    async readMany(keys: readonly string[]) {
      return (await get([...new Set(keys)].map((pk) => ({ pk })))) as unknown as CrmItem[];
    },
    /**
     * Writes in batches, in any order; an item may have only one write. @param progress gets the number of items of each
     * batch
     */
    async write(writes: readonly CrmWrite[], progress?: (count: number) => void) {
      const requests: Item[] = writes.map((write) =>
        'put' in write ? { PutRequest: { Item: write.put } } : { DeleteRequest: { Key: { pk: write.delete } } },
      );
      const send = async (batch: Item[]) => {
        const answer = await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: batch } }));
        return answer.UnprocessedItems?.[TableName] ?? [];
      };
      await splitBatches(requests, MAX_WRITES, send, progress);
    },
    close: () => documents.destroy(),
  };
}

/** One table, item by item, as the commands on whole tables need it. @param keys the attributes of its key */
export function tableItems(
  TableName: string,
  keys: readonly string[],
  config: DynamoDBClientConfig,
  documents: DynamoDBDocumentClient = openDocuments(config),
) {
  return {
    /** The attributes of an item's key. */
    itemKey: (item: Item): Item => Object.fromEntries(keys.map((name) => [name, item[name]])),
    /** All items, a page at a time. */
    async *pages(): AsyncGenerator<Item[]> {
      for await (const page of paginateScan({ client: documents }, { TableName, ConsistentRead: true }))
        yield page.Items ?? [];
    },
    /** Those of the keys that exist, in any order: a call for each 100. */
    async get(wanted: readonly Item[]) {
      const found: Item[] = [];
      await splitBatches(wanted, MAX_READS, async (Keys) => {
        const RequestItems = { [TableName]: { Keys, ConsistentRead: true } };
        const answer = await documents.send(new BatchGetCommand({ RequestItems }));
        found.push(...(answer.Responses?.[TableName] ?? []));
        return answer.UnprocessedKeys?.[TableName]?.Keys ?? [];
      });
      return found;
    },
    /** @returns false if an item with this key exists */
    async add(item: Item) {
      try {
        const condition = `attribute_not_exists(${keys[0]})`;
        await documents.send(new PutCommand({ TableName, Item: item, ConditionExpression: condition }));
        return true;
      } catch (error) {
        if (error instanceof Error && error.name === 'ConditionalCheckFailedException') return false;
        throw error;
      }
    },
    async delete(key: Item) {
      await documents.send(new DeleteCommand({ TableName, Key: key }));
    },
  };
}

function openDocuments(config: DynamoDBClientConfig): DynamoDBDocumentClient {
  const client = new DynamoDBClient({ maxAttempts: 5, ...config });
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
}

/** @param send sends a batch, and returns what DynamoDB has left of it, which is sent again */
async function splitBatches<T>(
  all: readonly T[],
  size: number,
  send: (batch: T[]) => Promise<T[]>,
  progress?: (count: number) => void,
): Promise<void> {
  const batches = Array.from({ length: Math.ceil(all.length / size) }, (_, place) =>
    all.slice(place * size, (place + 1) * size),
  );
  await pLimit(AT_ONCE).map(batches, async (batch) => {
    let waiting = batch;
    for (let round = 0; waiting.length > 0; round += 1) {
      if (round === MAX_ROUNDS) throw new Error('The database is too busy. Try again later.');
      if (round > 0) await sleep(Math.random() * Math.min(5_000, 100 * 2 ** round));
      waiting = await send(waiting);
    }
    progress?.(batch.length);
  });
}
