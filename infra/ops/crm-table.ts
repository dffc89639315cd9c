import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import {
  BatchWriteCommand,
  DynamoDBDocumentClient,
  NumberValue,
  paginateQuery,
  paginateScan,
  type QueryCommandInput,
  type ScanCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { attributeQuery, dynamoTable, type Item, tryWrite, updateAttributes } from '../../lib/aws/dynamodb.ts';
import type { CrmIndex } from '../../lib/config/deployment.ts';
import { CommandError, explainFailure } from './command.ts';
import type { CrmItem } from './crm-items.ts';

/** A change of one item: the new item, or the key of a deleted one. */
export type CrmWrite = { put: CrmItem } | { delete: string };

/** The attributes that follow from a record or its key. */
export const DERIVED_ATTRIBUTES = ['kind', 'e164', 'proven_email', 'proven_phone', 'referral_code'] as const;

/** Parses a number so that it can be written back unchanged: as an object, if JavaScript cannot represent it. */
export function exactNumber(text: string): number | NumberValue {
  return Math.abs(Number(text)) > Number.MAX_SAFE_INTEGER ? NumberValue.from(text) : Number(text);
}

export type CrmTable = ReturnType<typeof crmTable>;
export type TableItems = ReturnType<typeof tableItems>;

/** The maximum number of writes in one batch of DynamoDB. */
const MAX_WRITES = 25;
/** The number of parallel batches, and the retries of unprocessed items. */
export const PARALLEL_BATCHES = 4;
const MAX_ROUNDS = 12;
/** The timeout of one call, in milliseconds, also for hundreds of items. */
const CALL_MS = 60_000;
const callSignal = () => AbortSignal.timeout(CALL_MS);

/** The client of all tables for an operator's command. */
export function operatorsDatabase(config: DynamoDBClientConfig = {}): DynamoDBDocumentClient {
  // A batch may be large, and an operator's connection slow.
  const requestHandler = { connectionTimeout: 5_000, requestTimeout: CALL_MS };
  return DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 5, requestHandler, ...config }), {
    marshallOptions: { removeUndefinedValues: true },
    unmarshallOptions: { wrapNumbers: exactNumber },
  });
}

/** The table of CRM records, as operators see it. No method reads the whole table into memory. */
export function crmTable(TableName: string, database: DynamoDBDocumentClient) {
  const { pages, get, update } = tableItems(TableName, ['pk'], database);

  async function sendBatch(requests: readonly Item[]): Promise<void> {
    let waiting = [...requests];
    for (let round = 0; waiting.length > 0; round += 1) {
      if (round === MAX_ROUNDS) throw new Error('The database is too busy. Try again later.');
      if (round > 0) await sleep(Math.random() * Math.min(5_000, 100 * 2 ** round));
      const answer = await database.send(new BatchWriteCommand({ RequestItems: { [TableName]: waiting } }));
      waiting = answer.UnprocessedItems?.[TableName] ?? [];
    }
  }

  return {
    /** All items, or those that the filter of a scan selects, a page at a time. */
    pages: (filter: ScanFilter = {}) => pages(filter) as AsyncGenerator<CrmItem[]>,
    /** The keys and values of an index, a page at a time. Equal values follow each other. */
    indexPages: (index: CrmIndex) =>
      pages({ IndexName: index, ConsistentRead: false }) as unknown as AsyncGenerator<CrmItem[]>,
    /** The keys of the items with this value in an index, in ascending order. */
    async find(index: CrmIndex, value: string): Promise<string[]> {
      const query = paginateQuery({ client: database }, { TableName, ...attributeQuery(index, value) });
      const found: string[] = [];
      for await (const { Items = [] } of query) found.push(...Items.map(({ pk }) => String(pk)));
      return found;
    },
    read: async (pk: string) => ((await get([{ pk }])) as unknown as CrmItem[])[0],
    /** The items of these keys that exist, in any order: a call for each 100. */
    readMany: async (keys: readonly string[]) =>
      (await get([...new Set(keys)].map((pk) => ({ pk })))) as unknown as CrmItem[],
    /**
     * Writes the attributes that follow from a record, and nothing else.
     * @returns false if the record has changed since it was read, or is gone
     */
    derive(read: CrmItem, { pk, record: _, ...derived }: CrmItem): Promise<boolean> {
      // The attributes of a client follow from its record, that of all others from the key.
      const basis = derived.kind === undefined ? { record: read.record } : {};
      const absent = DERIVED_ATTRIBUTES.filter((name) => derived[name] === undefined);
      return update({ pk, ...basis }, updateAttributes({ ...derived, ...basis }, absent));
    },
    /**
     * Writes in batches, in any order; an item may have only one write.
     * @throws CommandError after the first failure, with the number of writes that were made
     */
    async write(writes: readonly CrmWrite[]) {
      const requests = writes.map((write) =>
        'put' in write ? { PutRequest: { Item: write.put } } : { DeleteRequest: { Key: { pk: write.delete } } },
      );
      let written = 0;
      for (const batches of chunksOf(chunksOf(requests, MAX_WRITES), PARALLEL_BATCHES)) {
        const sent = batches.map((batch) => sendBatch(batch).then(() => (written += batch.length)));
        const failed = (await Promise.allSettled(sent)).find((one) => one.status === 'rejected');
        if (failed === undefined) continue;
        const { lines } = explainFailure(failed.reason);
        throw new CommandError([...lines, `At least ${written} of ${requests.length} changes are written.`]);
      }
    },
  };
}

/**
 * The condition that attributes are as they were read, member by member: the local service's database compares no maps.
 * @param expression of the write, with the names and values that it has
 */
function unchangedSince<T extends { names: Record<string, string>; values: Item }>(read: Item, expression: T) {
  const leaves = Object.entries(read).flatMap(([name, value]) => leavesOf(`#${name}`, value));
  const condition = leaves.map(([path], index) => `${path} = :v${index}`).join(' AND ');
  const names = { ...expression.names, ...Object.fromEntries(condition.matchAll(/#(\w+)/g)) };
  const values = Object.fromEntries(leaves.map(([, value], index) => [`:v${index}`, value]));
  return { ...expression, condition, names, values: { ...expression.values, ...values } };
}

/** The paths and values of all that is in a value, and the sizes of its maps and lists. */
function leavesOf(path: string, value: unknown): [path: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  const member = (key: string) => (Array.isArray(value) ? `${path}[${key}]` : `${path}.#${key}`);
  const leaves = Object.entries(value).flatMap(([key, one]) => leavesOf(member(key), one));
  return [[`size(${path})`, Object.keys(value).length], ...leaves];
}

/** Splits a list into parts of at most this many elements. */
export function chunksOf<T>(list: readonly T[], most: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / most) }, (_, part) => list.slice(part * most, (part + 1) * most));
}

type ScanFilter = Pick<
  ScanCommandInput,
  'FilterExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues' | 'IndexName' | 'ConsistentRead'
>;

/** The items of one table, for commands on whole tables. @param keys the attributes of the table's key */
export function tableItems(TableName: string, keys: readonly string[], database: DynamoDBDocumentClient) {
  const table = dynamoTable(database, TableName);
  /** The attributes of an item's key. */
  const itemKey = (item: Item) => Object.fromEntries(keys.map((name) => [name, String(item[name])]));
  const isAbsent = { condition: `attribute_not_exists(${keys[0]})` };
  /** Whether a conditional write was made. */
  const written = async (write: Promise<unknown>) => (await tryWrite(write.then(() => true))) ?? false;
  return {
    itemKey,
    /** All items, or those that a filter selects, a page at a time. */
    async *pages(filter: ScanFilter = {}): AsyncGenerator<Item[]> {
      const input = { TableName, ConsistentRead: true, ...filter };
      for await (const page of paginateScan({ client: database }, input)) yield page.Items ?? [];
    },
    /** The items that a query finds, in its order, a page at a time. */
    async *query(query: Omit<QueryCommandInput, 'TableName'>): AsyncGenerator<Item[]> {
      for await (const page of paginateQuery({ client: database }, { TableName, ...query })) yield page.Items ?? [];
    },
    /** The items of the keys that exist, in any order. There is a call for each 100. */
    get: async (items: readonly Item[]) =>
      items.length === 0 ? [] : await table.getMany(items.map(itemKey), callSignal()),
    /** @returns false if an item with this key exists */
    add: (item: Item) => written(table.put(item, callSignal(), isAbsent)),
    /** Writes an item. @param read as it was read before; absent: there was none. @throws CommandError if it has changed */
    async put(item: Item, read?: Item): Promise<void> {
      const condition = read === undefined ? isAbsent : unchangedSince(read, { names: {}, values: {} });
      if (await written(table.put(item, callSignal(), condition))) return;
      throw new CommandError(`The item ${item.pk} has changed meanwhile. Call the command again.`);
    },
    /** @param read the attributes that were read. @returns false if they have changed since */
    update: (read: Item, expression: ReturnType<typeof updateAttributes>) =>
      written(table.update(itemKey(read), unchangedSince(read, expression), callSignal())),
    delete: (item: Item) => table.delete(itemKey(item), callSignal()),
  };
}
