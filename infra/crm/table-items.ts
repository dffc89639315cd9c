import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { BatchGetCommand, DeleteCommand, DynamoDBDocumentClient, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';

export type Item = Record<string, unknown>;

/** One table, item by item, as the commands on whole tables need it. */
export interface TableItems {
  /** All items, a page at a time. */
  pages(): AsyncGenerator<Item[]>;
  /** Those of up to 100 keys that exist. */
  get(keys: Item[]): Promise<Item[]>;
  /** @returns false if an item with this key exists */
  add(item: Item): Promise<boolean>;
  delete(key: Item): Promise<void>;
  /** The attributes of its key. */
  itemKey(item: Item): Item;
}

/** @param keys the attributes of its key */
export function tableItems(TableName: string, keys: readonly string[], config: DynamoDBClientConfig): TableItems {
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 5, ...config }));
  const itemKey = (item: Item) => Object.fromEntries(keys.map((name) => [name, item[name]]));

  return {
    itemKey,
    pages: () => scanPages(documents, TableName),
    async get(wanted) {
      const found: Item[] = [];
      let left = wanted;
      while (left.length > 0) {
        const request = { [TableName]: { Keys: left, ConsistentRead: true } };
        const answer = await documents.send(new BatchGetCommand({ RequestItems: request }));
        found.push(...(answer.Responses?.[TableName] ?? []));
        left = answer.UnprocessedKeys?.[TableName]?.Keys ?? [];
      }
      return found;
    },
    async add(item) {
      try {
        const condition = `attribute_not_exists(${keys[0]})`;
        await documents.send(new PutCommand({ TableName, Item: item, ConditionExpression: condition }));
        return true;
      } catch (error) {
        if (error instanceof Error && error.name === 'ConditionalCheckFailedException') return false;
        throw error;
      }
    },
    async delete(key) {
      await documents.send(new DeleteCommand({ TableName, Key: key }));
    },
  };
}

/** Reads a whole table. */
export async function* scanPages(documents: DynamoDBDocumentClient, TableName: string): AsyncGenerator<Item[]> {
  let from: Item | undefined;
  do {
    const page = await documents.send(new ScanCommand({ TableName, ConsistentRead: true, ExclusiveStartKey: from }));
    yield page.Items ?? [];
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
}
