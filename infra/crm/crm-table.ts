import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { BatchGetCommand, BatchWriteCommand, DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import type { CrmItem } from './crm-items.ts';
import { scanPages } from './table-items.ts';

/** A change of one item: the new item, or the key of a deleted one. */
export type CrmWrite = { put: CrmItem } | { delete: string };

/** The table of CRM records, as its operators see it. */
export interface CrmTable {
  /** Reads the whole table: a call for each megabyte. */
  readAll(): Promise<CrmItem[]>;
  read(key: string): Promise<CrmItem | undefined>;
  /** The items of these keys that exist, in any order: a call for each 100. */
  readMany(keys: readonly string[]): Promise<CrmItem[]>;
  /**
   * Writes in batches, in any order; an item may have only one write. @param progress gets the number of items of each
   * batch
   */
  write(writes: readonly CrmWrite[], progress?: (count: number) => void): Promise<void>;
  close(): void;
}

/** The maximum of one batch, by DynamoDB. */
const MAX_WRITES = 25;
const MAX_READS = 100;
/** The number of parallel batches, and the retries of unprocessed items. */
const AT_ONCE = 4;
const MAX_ROUNDS = 12;

export function crmTable(TableName: string, config: DynamoDBClientConfig = {}): CrmTable {
  const client = new DynamoDBClient({ maxAttempts: 5, ...config });
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });

  return {
    async readAll() {
      const items: CrmItem[] = [];
      for await (const page of scanPages(documents, TableName)) items.push(...(page as unknown as CrmItem[]));
      return items;
    },
    async read(pk) {
      const answer = await documents.send(new GetCommand({ TableName, Key: { pk }, ConsistentRead: true }));
      return answer.Item as CrmItem | undefined;
    },
    async readMany(keys) {
      const items: CrmItem[] = [];
      const wanted = [...new Set(keys)].map((pk) => ({ pk }));
      await splitBatches(wanted, MAX_READS, async (Keys) => {
        const RequestItems = { [TableName]: { Keys, ConsistentRead: true } };
        const answer = await documents.send(new BatchGetCommand({ RequestItems }));
        items.push(...((answer.Responses?.[TableName] ?? []) as CrmItem[]));
        return (answer.UnprocessedKeys?.[TableName]?.Keys ?? []) as { pk: string }[];
      });
      return items;
    },
    async write(writes, progress) {
      const requests: Record<string, unknown>[] = writes.map((write) =>
        'put' in write ? { PutRequest: { Item: write.put } } : { DeleteRequest: { Key: { pk: write.delete } } },
      );
      const send = async (batch: Record<string, unknown>[]) => {
        const answer = await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: batch } }));
        return answer.UnprocessedItems?.[TableName] ?? [];
      };
      await splitBatches(requests, MAX_WRITES, send, progress);
    },
    close: () => client.destroy(),
  };
}

/** @param send sends a batch, and returns what DynamoDB has left of it, which is sent again */
async function splitBatches<T>(
  all: readonly T[],
  size: number,
  send: (batch: T[]) => Promise<T[]>,
  progress?: (count: number) => void,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < all.length) {
      const batch = all.slice(next, next + size);
      next += batch.length;
      let waiting = batch;
      for (let round = 0; waiting.length > 0; round += 1) {
        if (round === MAX_ROUNDS) throw new Error('The database is too busy. Try again later.');
        if (round > 0) await sleep(Math.random() * Math.min(5_000, 100 * 2 ** round));
        waiting = await send(waiting);
      }
      progress?.(batch.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
