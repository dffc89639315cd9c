import type { Item, Table } from '../../../lib/aws/dynamodb.ts';

/** A table that answers at once and accepts every write; it reads its initial items. */
export function instantTable(items: readonly Item[] = []): Table {
  const byKey = new Map(items.map((item) => [item.pk, item]));
  return {
    get: async ({ pk }) => byKey.get(pk),
    getMany: async (keys) => keys.map(({ pk }) => byKey.get(pk)).filter((item) => item !== undefined),
    query: async () => [],
    queryIndex: async () => [],
    findKeys: async () => [],
    put: async () => undefined,
    update: async () => ({}),
    delete: async () => {},
  };
}

/** The record of the CRM under this key, as the table has it. */
export function crmItem(pk: string, record: { id: string } | undefined): Item {
  return { pk, record: JSON.parse(JSON.stringify(record)) };
}
