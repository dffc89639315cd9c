import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import type { CrmItem } from './crm-items.ts';
import { scanPages } from './table-items.ts';

/** A change of one item: the new item, or the key of a deleted one. */
export type CrmWrite = { put: CrmItem } | { delete: string };

/** The table of CRM records, as its operators see it: whole. */
export interface CrmTable {
  readAll(): Promise<CrmItem[]>;
  read(key: string): Promise<CrmItem | undefined>;
  /**
   * Writes in batches, in any order; an item may have only one write. @param progress gets the number of items of each
   * batch
   */
  write(writes: readonly CrmWrite[], progress?: (count: number) => void): Promise<void>;
  close(): void;
}

/** The maximum of one batch, the number of parallel batches, and the retries of unprocessed items. */
const BATCH = 25;
const AT_ONCE = 4;
const MAX_ROUNDS = 12;

export function crmTable(TableName: string, config: DynamoDBClientConfig = {}): CrmTable {
  const client = new DynamoDBClient({ maxAttempts: 5, ...config });
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });

  async function writeBatch(writes: readonly CrmWrite[]): Promise<void> {
    let waiting: Record<string, unknown>[] = writes.map((write) =>
      'put' in write ? { PutRequest: { Item: write.put } } : { DeleteRequest: { Key: { pk: write.delete } } },
    );
    for (let round = 0; waiting.length > 0; round += 1) {
      if (round === MAX_ROUNDS) throw new Error('The database is too busy to take the records. Try again later.');
      if (round > 0) await sleep(Math.random() * Math.min(5_000, 100 * 2 ** round));
      const answer = await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: waiting } }));
      waiting = answer.UnprocessedItems?.[TableName] ?? [];
    }
  }

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
    async write(writes, progress) {
      let next = 0;
      const worker = async () => {
        while (next < writes.length) {
          const batch = writes.slice(next, next + BATCH);
          next += batch.length;
          await writeBatch(batch);
          progress?.(batch.length);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    },
    close: () => client.destroy(),
  };
}
