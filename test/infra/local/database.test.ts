import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Database, startDatabase } from '../../../infra/local/database.ts';
import { clientSettings } from '../../support/database.ts';

const TABLES = {
  crm: 'crm',
  operations: 'operations',
  registrations: 'registrations',
  limits: 'limits',
  accounts: 'accounts',
};
let database: Database;
let client: DynamoDBDocumentClient;
beforeAll(async () => {
  database = await startDatabase();
  await database.createTables(TABLES);
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

it('does a write whose answer is lost, and nobody hears of it', async () => {
  database.faults.set({ kind: 'reply_lost', times: 1 });
  await expect(client.send(new PutCommand({ TableName: 'operations', Item: { pk: 'lost', at: 1 } }))).rejects.toThrow();
  expect(await value('lost')).toEqual({ pk: 'lost', at: 1 });
});

it('does a write once more, later, that was answered long ago', async () => {
  database.faults.set({ kind: 'repeated', times: 1, ms: 50 });
  await client.send(add('late'));
  expect(await value('late')).toEqual({ pk: 'late', amount: 1 });
  await vi.waitFor(async () => expect(await value('late')).toEqual({ pk: 'late', amount: 2 }), { timeout: 10_000 });
});

describe('An expression that was parsed before', () => {
  const write = (pk: string, value: unknown, more: object = {}) =>
    client.send(
      new UpdateCommand({
        TableName: 'operations',
        Key: { pk },
        UpdateExpression: 'SET #name = if_not_exists(#name, :value), note = :note',
        ConditionExpression: 'attribute_not_exists(note) OR note < :note',
        ExpressionAttributeNames: { '#name': 'first' },
        ExpressionAttributeValues: { ':value': value, ':note': 1 },
        ...more,
      }),
    );

  it('has the values and names of its call', async () => {
    for (const text of ['one', 'two']) await write(text, text);
    await write('three', 3);
    await write('four', 4, { ExpressionAttributeNames: { '#name': 'other' } });
    expect(await Promise.all(['one', 'two', 'three', 'four'].map(value))).toEqual([
      { pk: 'one', first: 'one', note: 1 },
      { pk: 'two', first: 'two', note: 1 },
      { pk: 'three', first: 3, note: 1 },
      { pk: 'four', other: 4, note: 1 },
    ]);
    await expect(write('one', 'again')).rejects.toThrow('The conditional request failed');
  });

  it('is refused for what is wrong with its call', async () => {
    await write('five', 5);
    const unused = { ':value': 5, ':note': 1, ':more': 1 };
    await expect(write('five', 5, { ExpressionAttributeValues: unused })).rejects.toThrow('unused');
    await expect(write('five', 5, { ExpressionAttributeValues: { ':note': 2 } })).rejects.toThrow('not defined');
    await expect(write('five', 5, { ExpressionAttributeNames: undefined })).rejects.toThrow('not defined');
  });
});
