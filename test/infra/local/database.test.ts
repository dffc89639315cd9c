import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { type EmbeddedDatabase, startDatabase } from '../../../infra/local/database.ts';
import { holdSlowCalls } from '../../support/held.ts';
import { clientSettings } from '../../support/servers.ts';

let database: EmbeddedDatabase;
let client: DynamoDBDocumentClient;
beforeAll(async () => {
  database = await startDatabase();
  await database.createTables();
  client = DynamoDBDocumentClient.from(new DynamoDBClient({ ...clientSettings(database.url), maxAttempts: 1 }));
});
afterAll(async () => {
  client.destroy();
  await database.close();
});
beforeEach(() => database.faults.clear());

const value = async (pk: string) => (await client.send(new GetCommand({ TableName: 'operations', Key: { pk } }))).Item;
const add = (pk: string) =>
  new UpdateCommand({
    TableName: 'operations',
    Key: { pk },
    UpdateExpression: 'ADD amount :one',
    ExpressionAttributeValues: { ':one': 1 },
  });

it('The local database executes a write whose answer is lost', async () => {
  database.faults.set({ kind: 'reply_lost', times: 1 });
  await expect(client.send(new PutCommand({ TableName: 'operations', Item: { pk: 'lost', at: 1 } }))).rejects.toThrow();
  expect(await value('lost')).toEqual({ pk: 'lost', at: 1 });
});

it('The local database executes a write again after its answer, if the fault says so', async () => {
  const late = holdSlowCalls(database.faults);
  database.faults.set({ kind: 'repeated', times: 1 });
  await client.send(add('late'));
  expect(await value('late')).toEqual({ pk: 'late', amount: 1 });
  late.letGo();
  await vi.waitFor(async () => expect(await value('late')).toEqual({ pk: 'late', amount: 2 }), { timeout: 10_000 });
});

it('The local database executes all writes of a transaction or none, and a repeated transaction once', async () => {
  const put = (pk: string, condition?: string) => ({
    Put: { TableName: 'operations', Item: { pk, at: 1 }, ...(condition ? { ConditionExpression: condition } : {}) },
  });
  const both = (token: string, ...items: ReturnType<typeof put>[]) =>
    client.send(new TransactWriteCommand({ TransactItems: items, ClientRequestToken: token }));
  await both('token-1', put('one'), put('two', 'attribute_not_exists(pk)'));
  await both('token-1', put('one'), put('two', 'attribute_not_exists(pk)'));
  const refused = both('token-2', put('three'), put('two', 'attribute_not_exists(pk)'));
  await expect(refused).rejects.toMatchObject({
    name: 'TransactionCanceledException',
    CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }],
  });
  expect(await value('two')).toBeDefined();
  expect(await value('three')).toBeUndefined();
});

it('The local database reports each write with the item before and after, also of a table with a sort key', async () => {
  const seen: unknown[] = [];
  database.onWritten((changes) => seen.push(...changes));
  const put = (login: number) =>
    client.send(new PutCommand({ TableName: 'accounts', Item: { pk: 'CLIENT01', sk: 'tp5#1', login } }));
  await put(1);
  await put(2);
  const item = (login: string) => ({ pk: { S: 'CLIENT01' }, sk: { S: 'tp5#1' }, login: { N: login } });
  expect(seen).toEqual([
    { table: 'accounts', before: undefined, after: item('1') },
    { table: 'accounts', before: item('1'), after: item('2') },
  ]);
});
