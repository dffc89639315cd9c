import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { databaseClient, Item } from '../../lib/aws/dynamodb.ts';

interface Page {
  Items: Record<string, AttributeValue>[];
  LastEvaluatedKey?: Record<string, AttributeValue>;
}

/** All items of a table, or all that one of its indexes has. */
export async function allItems(
  client: ReturnType<typeof databaseClient>,
  table: string,
  index?: string,
): Promise<Item[]> {
  const all: Item[] = [];
  let from: Page['LastEvaluatedKey'];
  do {
    const input = { TableName: table, IndexName: index, ExclusiveStartKey: from };
    const page = await client.call<Page>('Scan', input, AbortSignal.timeout(30_000));
    all.push(...page.Items.map((item) => unmarshall(item)));
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  return all;
}
