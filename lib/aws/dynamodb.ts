import { setTimeout as sleep } from 'node:timers/promises';
import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  type DynamoDBClientConfig,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { EarlyConnectionAgent, KEEP_ALIVE_OPTIONS } from './early-connection.ts';
import { AwsFailure } from './failure.ts';

export type Item = Record<string, unknown>;
type Key = Record<string, string>;

/** The condition of a write did not hold, or a transaction is writing its item: nothing was written. */
export class ConditionFailed extends Error {
  override readonly name = 'ConditionFailed';
  /** The index of the write whose condition failed, in a transaction. */
  readonly index: number;

  constructor(cause?: unknown, index = 0) {
    super('condition failed', { cause });
    this.index = index;
  }
}

/** @returns the result of a conditional write; undefined if its condition failed */
export async function tryWrite<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}

export interface WriteExpression {
  update?: string;
  condition?: string;
  names?: Record<string, string>;
  values?: Item;
}
export type UpdateExpression = WriteExpression & { update: string };

/** An index over two attributes: text, and a number that its items are sorted by. */
interface Index {
  readonly name: string;
  readonly shard: string;
  readonly at: string;
}

export type Table = ReturnType<typeof dynamoTable>;

/**
 * The client of all tables. It retries a failed call twice: every write is conditional or idempotent.
 * @param ahead the number of connections that are opened early, each together with the previous one
 */
export function databaseClient(config: DynamoDBClientConfig = {}, ahead = 0): DynamoDBDocumentClient {
  const httpsAgent = new EarlyConnectionAgent(KEEP_ALIVE_OPTIONS, ahead);
  const client = new DynamoDBClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true, httpsAgent },
    ...config,
  });
  return DynamoDBDocumentClient.from(client, {
    marshallOptions: { removeUndefinedValues: true },
    // A number that JavaScript cannot represent must not make the page of its item unreadable.
    unmarshallOptions: { wrapNumbers: Number },
  });
}

/** The maximum number of items of one `BatchGetItem`. */
const MAX_BATCH = 100;

/**
 * One table. Every call is one round trip unless its comment says more, and is aborted by its signal.
 * @throws AwsFailure, and ConditionFailed if a condition was given
 */
export function dynamoTable(client: DynamoDBDocumentClient, name: string) {
  return { name, ...tableReads(client, name), ...tableWrites(client, name), transact: transactionWriter(client) };
}

function tableReads(client: DynamoDBDocumentClient, TableName: string) {
  return {
    async get(Key: Key, abortSignal: AbortSignal): Promise<Item | undefined> {
      const command = new GetCommand({ TableName, Key, ConsistentRead: true });
      return (await call(() => client.send(command, { abortSignal }))).Item;
    },

    /** Items by key, in any order, without the missing ones. One round trip for each hundred. */
    async getMany(keys: Key[], abortSignal: AbortSignal): Promise<Item[]> {
      const found: Item[] = [];
      const wanted = [...keys];
      const maxCalls = 3 * Math.ceil(keys.length / MAX_BATCH);
      for (let calls = 0; wanted.length > 0; calls += 1) {
        if (calls === maxCalls) throw new AwsFailure('UnprocessedKeys');
        const Keys = wanted.splice(0, MAX_BATCH);
        const command = new BatchGetCommand({ RequestItems: { [TableName]: { Keys, ConsistentRead: true } } });
        const answer = await call(() => client.send(command, { abortSignal }));
        found.push(...(answer.Responses?.[TableName] ?? []));
        wanted.push(...((answer.UnprocessedKeys?.[TableName]?.Keys ?? []) as Key[]));
      }
      return found;
    },

    /** The items of one partition whose sort key (`sk`) has this prefix. One round trip for each megabyte. */
    async query(pk: string, begins: string, abortSignal: AbortSignal): Promise<Item[]> {
      const found: Item[] = [];
      let from: Item | undefined;
      do {
        const command = new QueryCommand({
          TableName,
          ConsistentRead: true,
          KeyConditionExpression: 'pk = :pk AND begins_with(sk, :begins)',
          ExpressionAttributeValues: { ':pk': pk, ':begins': begins },
          ExclusiveStartKey: from,
        });
        const answer = await call(() => client.send(command, { abortSignal }));
        found.push(...(answer.Items ?? []));
        from = answer.LastEvaluatedKey;
      } while (from !== undefined);
      return found;
    },

    /**
     * The keys of one partition of an index with a sort key up to `upTo`, in ascending order. An index is eventually
     * consistent.
     * @param most the maximum number of keys
     */
    async queryIndex(
      index: Index,
      partition: string,
      upTo: number,
      most: number,
      abortSignal: AbortSignal,
    ): Promise<Item[]> {
      const command = new QueryCommand({ TableName, ...dueQuery(index, partition, upTo), Limit: most });
      return (await call(() => client.send(command, { abortSignal }))).Items ?? [];
    },

    /**
     * The keys of the items that have this value of an attribute with an index of its own name, in ascending order. An
     * index is eventually consistent.
     * @param most the maximum number of keys
     */
    async findKeys(attribute: string, value: string, most: number, abortSignal: AbortSignal): Promise<string[]> {
      const command = new QueryCommand({ TableName, ...attributeQuery(attribute, value), Limit: most });
      const { Items = [] } = await call(() => client.send(command, { abortSignal }));
      return Items.map(({ pk }) => String(pk));
    },
  };
}

function tableWrites(client: DynamoDBDocumentClient, TableName: string) {
  return {
    async put(Item: Item, abortSignal: AbortSignal, expression?: WriteExpression): Promise<void> {
      const command = new PutCommand({ TableName, Item, ...expressionInput(expression) });
      await call(() => client.send(command, { abortSignal }));
    },

    /** @param reads whether the updated item is returned. By default: an empty one */
    async update(Key: Key, expression: UpdateExpression, abortSignal: AbortSignal, reads = false): Promise<Item> {
      const command = new UpdateCommand({
        TableName,
        Key,
        UpdateExpression: expression.update,
        ReturnValues: reads ? 'ALL_NEW' : 'NONE',
        ...expressionInput(expression),
      });
      return (await call(() => client.send(command, { abortSignal }))).Attributes ?? {};
    },

    async delete(Key: Key, abortSignal: AbortSignal, expression?: WriteExpression): Promise<void> {
      const command = new DeleteCommand({ TableName, Key, ...expressionInput(expression) });
      await call(() => client.send(command, { abortSignal }));
    },
  };
}

/** The items of a partition of an index with a sort key up to `upTo`, in ascending order. */
export function dueQuery({ name, shard, at }: Index, partition: string, upTo: number) {
  return {
    IndexName: name,
    KeyConditionExpression: '#shard = :shard AND #at <= :upTo',
    ExpressionAttributeNames: { '#shard': shard, '#at': at },
    ExpressionAttributeValues: { ':shard': partition, ':upTo': upTo },
  };
}

/** The items with this value of an attribute, by the index of its name. */
export function attributeQuery(attribute: string, value: string) {
  return {
    IndexName: attribute,
    KeyConditionExpression: '#attribute = :value',
    ExpressionAttributeNames: { '#attribute': attribute },
    ExpressionAttributeValues: { ':value': value },
  };
}

function expressionInput(expression: WriteExpression = {}) {
  return {
    ConditionExpression: expression.condition,
    ExpressionAttributeNames: expression.names,
    ExpressionAttributeValues: expression.values,
  };
}

async function call<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    const isRefused = error instanceof ConditionalCheckFailedException || error instanceof TransactionConflictException;
    if (isRefused) throw new ConditionFailed(error);
    throw AwsFailure.from(error);
  }
}

/** One write of a transaction, on any table. */
export type TransactionWrite = { table: string; expression?: WriteExpression } & (
  | { put: Item }
  | { update: Key; expression: UpdateExpression }
  | { delete: Key }
);
/** Does all writes or none. @throws ConditionFailed with the index of the write, AwsFailure */
type Transact = (writes: readonly TransactionWrite[], signal: AbortSignal) => Promise<void>;

/** The longest pause before a transaction is repeated, in milliseconds. The pause is random. */
const MAX_PAUSE_MS = 200;
/**
 * The errors after which nothing was written: a concurrent transaction writes the same items, or the table is
 * throttled.
 */
const TRANSIENT: ReadonlySet<string | undefined> = new Set([
  ...['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'],
  ...['ThrottlingException', 'ProvisionedThroughputExceededException', 'RequestLimitExceeded'],
]);

/**
 * Transactions across tables. A throttled or conflicting transaction is repeated until the signal aborts.
 */
function transactionWriter(client: DynamoDBDocumentClient): Transact {
  return async (writes, abortSignal) => {
    const TransactItems = writes.map(transactItem);
    for (;;) {
      try {
        await client.send(new TransactWriteCommand({ TransactItems }), { abortSignal });
        return;
      } catch (error) {
        const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
        const codes = reasons.map(({ Code }) => Code);
        const failed = codes.indexOf('ConditionalCheckFailed');
        if (failed !== -1) throw new ConditionFailed(error, failed);
        const isTransient = [...codes, (error as Error).name].some((code) => TRANSIENT.has(code));
        if (!isTransient) throw AwsFailure.from(error);
        await sleep(Math.random() * MAX_PAUSE_MS, undefined, { signal: abortSignal }).catch(() => {
          throw AwsFailure.from(error);
        });
      }
    }
  };
}

function transactItem(write: TransactionWrite) {
  const { table: TableName, expression } = write;
  const conditions = { TableName, ...expressionInput(expression) };
  if ('put' in write) return { Put: { ...conditions, Item: write.put } };
  if ('delete' in write) return { Delete: { ...conditions, Key: write.delete } };
  return { Update: { ...conditions, Key: write.update, UpdateExpression: write.expression.update } };
}

/** `SET` of at least one attribute, and `REMOVE`. An undefined attribute is not changed. */
export function updateAttributes(
  set: Item,
  remove: readonly string[] = [],
): Required<Omit<WriteExpression, 'condition'>> {
  const names: Record<string, string> = {};
  const values: Item = {};
  for (const [name, value] of Object.entries(set)) {
    if (value === undefined) continue;
    names[`#${name}`] = name;
    values[`:${name}`] = value;
  }
  const assigned = Object.entries(names).map(([short, name]) => `${short} = :${name}`);
  for (const name of remove) names[`#${name}`] = name;
  const removal = remove.length === 0 ? '' : ` REMOVE #${remove.join(', #')}`;
  return { update: `SET ${assigned.join(', ')}${removal}`, names, values };
}
