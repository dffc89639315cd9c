import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { CrmItem } from './crm-file.ts';

/** What changes in the table, in the order in which it is written. */
export interface CrmWrite {
  put?: CrmItem;
  /** The key of an item to delete. */
  delete?: string;
}

/** The table of CRM records, as its operators see it: whole. */
export interface CrmTable {
  readAll(): Promise<CrmItem[]>;
  /** Writes in batches, one after the other. @param progress told after each batch how many are written */
  write(writes: readonly CrmWrite[], progress?: (written: number) => void): Promise<void>;
  close(): void;
}

/** What DynamoDB takes in one batch, and how often it is asked again for what it left. */
const BATCH = 25;
const MOST_ROUNDS = 12;

export function crmTable(TableName: string, config: DynamoDBClientConfig = {}): CrmTable {
  const client = new DynamoDBClient({ maxAttempts: 5, ...config });
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });

  async function writeBatch(writes: readonly CrmWrite[]): Promise<void> {
    let waiting = writes.map(({ put, delete: pk }) =>
      put === undefined ? { DeleteRequest: { Key: { pk } } } : { PutRequest: { Item: put } },
    ) as Record<string, unknown>[];
    for (let round = 0; waiting.length > 0; round += 1) {
      if (round === MOST_ROUNDS) throw new Error('The database is too busy to take the records. Try again later.');
      if (round > 0) await sleep(Math.random() * Math.min(5_000, 100 * 2 ** round));
      const answer = await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: waiting } }));
      waiting = answer.UnprocessedItems?.[TableName] ?? [];
    }
  }

  return {
    async readAll() {
      const items: CrmItem[] = [];
      let from: Record<string, unknown> | undefined;
      do {
        const page = await documents.send(
          new ScanCommand({ TableName, ConsistentRead: true, ExclusiveStartKey: from }),
        );
        items.push(...((page.Items ?? []) as CrmItem[]));
        from = page.LastEvaluatedKey;
      } while (from !== undefined);
      return items;
    },
    async write(writes, progress) {
      for (let start = 0; start < writes.length; start += BATCH) {
        await writeBatch(writes.slice(start, start + BATCH));
        progress?.(Math.min(start + BATCH, writes.length));
      }
    },
    close: () => client.destroy(),
  };
}
