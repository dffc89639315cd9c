import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { failureReason } from './failure-reason.ts';
import { type JsonService, jsonService, ServiceError } from './json-service.ts';
import type { ServiceSettings } from './signed-service.ts';

export type Item = Record<string, unknown>;
type Key = Record<string, string>;

/** The database did not do what it was asked; `reason` is the service's error name. */
export class DatabaseFailure extends Error {
  override readonly name = 'DatabaseFailure';
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }
}

/** The condition of a write did not hold: nothing was written. */
export class ConditionFailed extends Error {
  override readonly name = 'ConditionFailed';
}

export interface Expression {
  update?: string;
  condition?: string;
  names?: Record<string, string>;
  values?: Item;
}

/** An index over two attributes: text, and a number that its items are sorted by. */
interface Index {
  readonly name: string;
  readonly shard: string;
  readonly at: string;
}

/** One table, read and written item by item; every call is one round trip, where nothing else is said, and ends with its signal. */
export interface Table {
  get(key: Key, signal: AbortSignal): Promise<Item | undefined>;
  /** Up to 100 items by key, in any order; missing ones are left out. */
  getMany(keys: Key[], signal: AbortSignal): Promise<Item[]>;
  /** The items of one partition whose sort key (`sk`) begins so; a round trip for each megabyte. */
  query(pk: string, begins: string, signal: AbortSignal): Promise<Item[]>;
  /**
   * The keys of one partition of an index, up to a number of its sort key, the smallest first. An index lags behind its
   * table by a moment.
   * @param most so many at most
   */
  queryIndex(index: Index, partition: string, upTo: number, most: number, signal: AbortSignal): Promise<Item[]>;
  /** @returns the item that it replaced */
  put(item: Item, signal: AbortSignal, expression?: Expression): Promise<Item | undefined>;
  /** @returns the item as it stands after the update */
  update(key: Key, expression: Expression & { update: string }, signal: AbortSignal): Promise<Item>;
  delete(key: Key, signal: AbortSignal, expression?: Expression): Promise<void>;
}

const DYNAMODB = {
  host: 'dynamodb',
  signingName: 'dynamodb',
  variable: 'DYNAMODB',
  version: '1.0',
  target: 'DynamoDB_20120810',
} as const;

/** What all tables are called through. A failed call is repeated twice: every write here is conditional or may be written again. */
export function databaseClient(settings: ServiceSettings = {}): JsonService {
  return jsonService(DYNAMODB, settings);
}

/** An item as it goes over the wire, with the type of each value. */
type TypedItem = Record<string, AttributeValue>;

/** Of every answer, what is read. */
interface Answer {
  Item?: TypedItem;
  Items?: TypedItem[];
  Attributes?: TypedItem;
  LastEvaluatedKey?: TypedItem;
  Responses?: Record<string, TypedItem[]>;
  UnprocessedKeys?: Record<string, { Keys: TypedItem[] }>;
}

/** @throws DatabaseFailure, and ConditionFailed where a condition was given */
export function table(client: JsonService, TableName: string): Table {
  const call = (operation: string, input: object, signal: AbortSignal) =>
    client.call<Answer>(operation, input, signal).catch(translate);

  return {
    async get(key, signal) {
      const { Item } = await call('GetItem', { TableName, Key: typed(key), ConsistentRead: true }, signal);
      return Item && unmarshall(Item);
    },

    async getMany(keys, signal) {
      const found: TypedItem[] = [];
      let wanted = keys.map(typed);
      for (let attempt = 0; wanted.length > 0; attempt += 1) {
        if (attempt === 3) throw new DatabaseFailure('UnprocessedKeys');
        const RequestItems = { [TableName]: { Keys: wanted, ConsistentRead: true } };
        const answer = await call('BatchGetItem', { RequestItems }, signal);
        found.push(...(answer.Responses?.[TableName] ?? []));
        wanted = answer.UnprocessedKeys?.[TableName]?.Keys ?? [];
      }
      return found.map((item) => unmarshall(item));
    },

    async query(pk, begins, signal) {
      const found: TypedItem[] = [];
      let from: TypedItem | undefined;
      do {
        const input = {
          TableName,
          ConsistentRead: true,
          KeyConditionExpression: 'pk = :pk AND begins_with(sk, :begins)',
          ExpressionAttributeValues: typed({ ':pk': pk, ':begins': begins }),
          ExclusiveStartKey: from,
        };
        const answer = await call('Query', input, signal);
        found.push(...(answer.Items ?? []));
        from = answer.LastEvaluatedKey;
      } while (from !== undefined);
      return found.map((item) => unmarshall(item));
    },

    async queryIndex(index, partition, upTo, most, signal) {
      const input = {
        TableName,
        IndexName: index.name,
        KeyConditionExpression: '#shard = :shard AND #at <= :upTo',
        ExpressionAttributeNames: { '#shard': index.shard, '#at': index.at },
        ExpressionAttributeValues: typed({ ':shard': partition, ':upTo': upTo }),
        Limit: most,
      };
      const { Items = [] } = await call('Query', input, signal);
      return Items.map((item) => unmarshall(item));
    },

    async put(item, signal, expression) {
      const input = { TableName, Item: typed(item), ReturnValues: 'ALL_OLD', ...toInput(expression) };
      const { Attributes } = await call('PutItem', input, signal);
      return Attributes && unmarshall(Attributes);
    },

    async update(key, expression, signal) {
      const input = { TableName, Key: typed(key), ReturnValues: 'ALL_NEW', ...toInput(expression) };
      const { Attributes = {} } = await call('UpdateItem', input, signal);
      return unmarshall(Attributes);
    },

    async delete(key, signal, expression) {
      await call('DeleteItem', { TableName, Key: typed(key), ...toInput(expression) }, signal);
    },
  };
}

function typed(item: Item): TypedItem {
  return marshall(item, { removeUndefinedValues: true });
}

function toInput({ update, condition, names, values }: Expression = {}) {
  return {
    UpdateExpression: update,
    ConditionExpression: condition,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values && typed(values),
  };
}

function translate(error: unknown): never {
  if (error instanceof ServiceError && error.name === 'ConditionalCheckFailedException') {
    throw new ConditionFailed('condition failed', { cause: error });
  }
  throw new DatabaseFailure(failureReason(error), error);
}
