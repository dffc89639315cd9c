import { TransactionCanceledException, TransactionConflictException } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ConditionFailed, dynamoTable, type Table } from '../../../lib/aws/dynamodb.ts';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';

let database: TestDatabase;
let table: Table;

beforeAll(async () => {
  database = await testDatabase(afterAll, {});
  table = database.tables.registrations;
});
beforeEach(() => {
  database.faults.clear();
  database.calls.length = 0;
});

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('A table', () => {
  it('returns an item unchanged, without undefined members', async () => {
    await table.put({ pk: 'a', list: [1, { deep: true }], absent: undefined, empty: '' }, NEVER_ABORTED);
    expect(await table.get({ pk: 'a' }, NEVER_ABORTED)).toEqual({ pk: 'a', list: [1, { deep: true }], empty: '' });
    expect(await table.get({ pk: 'nobody' }, NEVER_ABORTED)).toBeUndefined();
  });

  it('returns many items in one call, without missing ones', async () => {
    await Promise.all(['m1', 'm2', 'm3'].map((pk) => table.put({ pk }, NEVER_ABORTED)));
    database.calls.length = 0;
    const items = await table.getMany([{ pk: 'm1' }, { pk: 'missing' }, { pk: 'm3' }], NEVER_ABORTED);
    expect(items.map(({ pk }) => pk).toSorted()).toEqual(['m1', 'm3']);
    expect(database.calls).toEqual([{ operation: 'BatchGetItem', table: 'registrations', keys: 3 }]);
    expect(await table.getMany([], NEVER_ABORTED)).toEqual([]);
    expect(database.calls).toHaveLength(1);
  });

  it('returns all items of a partition from all its pages', async () => {
    const { accounts } = database.tables;
    const text = 'a'.repeat(390_000);
    for (const sk of ['k1', 'k2', 'k3', 'other']) await accounts.put({ pk: 'q', sk, text }, NEVER_ABORTED);
    database.calls.length = 0;
    const items = await accounts.query('q', 'k', NEVER_ABORTED);
    expect(items.map(({ sk }) => sk)).toEqual(['k1', 'k2', 'k3']);
    expect(database.calls.length).toBeGreaterThan(1);
  });

  it('updates the attributes of an expression, and returns the updated item if it is wanted', async () => {
    const names = { '#count': 'count' };
    await table.put({ pk: 'u', count: 1, other: 'stays' }, NEVER_ABORTED);
    const update = { update: 'SET #count = #count + :one', names, values: { ':one': 1 } };
    expect(await table.update({ pk: 'u' }, update, NEVER_ABORTED)).toEqual({});
    expect(await table.update({ pk: 'u' }, update, NEVER_ABORTED, true)).toEqual({ pk: 'u', count: 3, other: 'stays' });
  });

  it('writes nothing if a condition fails', async () => {
    await table.put({ pk: 'c', value: 1 }, NEVER_ABORTED);
    const condition = { condition: 'attribute_not_exists(pk)' };
    expect(await failure(table.put({ pk: 'c', value: 2 }, NEVER_ABORTED, condition))).toBeInstanceOf(ConditionFailed);
    expect(await failure(table.delete({ pk: 'c' }, NEVER_ABORTED, condition))).toBeInstanceOf(ConditionFailed);
    const update = { update: 'SET #v = :two', names: { '#v': 'value' }, values: { ':two': 2 }, ...condition };
    expect(await failure(table.update({ pk: 'c' }, update, NEVER_ABORTED))).toBeInstanceOf(ConditionFailed);
    expect(await table.get({ pk: 'c' }, NEVER_ABORTED)).toEqual({ pk: 'c', value: 1 });
  });

  it('deletes items, also missing ones', async () => {
    await table.put({ pk: 'd' }, NEVER_ABORTED);
    await table.delete({ pk: 'd' }, NEVER_ABORTED);
    await table.delete({ pk: 'd' }, NEVER_ABORTED);
    expect(await table.get({ pk: 'd' }, NEVER_ABORTED)).toBeUndefined();
  });
});

it('A failing database causes an error whose message quotes no data of the item', async () => {
  const error = await failure(table.put({ pk: 'x'.repeat(3_000), secret: 'hidden' }, NEVER_ABORTED));
  expect(error).toMatchObject({ name: 'AwsFailure', message: 'ValidationException' });
});

// Side by side with the pauses of the transactions.
it.concurrent('A database that takes more than three seconds is called again', async ({ onTestFinished }) => {
  const { faults, tables } = await testDatabase(onTestFinished, {});
  await tables.registrations.put({ pk: 's' }, NEVER_ABORTED);
  faults.set({ kind: 'slow', times: 1, ms: 20_000 });
  const start = performance.now();
  expect(await tables.registrations.get({ pk: 's' }, NEVER_ABORTED)).toEqual({ pk: 's' });
  expect(performance.now() - start).toBeLessThan(15_000);
});

describe.concurrent('A transaction', () => {
  const canceled = (...codes: string[]) =>
    new TransactionCanceledException({
      message: '',
      $metadata: {},
      CancellationReasons: [{ Code: 'None' }, ...codes.map((Code) => ({ Code }))],
    });
  /** A client whose first calls fail. */
  const clientOf = (...errors: Error[]) => {
    const send = async () => {
      const error = errors.shift();
      if (error !== undefined) throw error;
    };
    return { errors, client: { send } as unknown as DynamoDBDocumentClient };
  };
  const throttled = Object.assign(new Error(), { name: 'ThrottlingException' });

  it.each([
    ['is in conflict with another', canceled('TransactionConflict')],
    ['is throttled', canceled('ThrottlingError')],
    ['meets a table at its limit', canceled('ProvisionedThroughputExceeded')],
    ['finds the database throttled', throttled],
  ])('that %s is repeated until it is done', async (_, error) => {
    const { client, errors } = clientOf(error, error, error, error);
    await dynamoTable(client, 'operations').transact([], NEVER_ABORTED);
    expect(errors).toEqual([]);
  });

  it('that is throttled until the signal aborts is a failure, never done', async () => {
    const { client } = clientOf(...Array.from({ length: 10_000 }, () => canceled('ThrottlingError')));
    expect(await failure(dynamoTable(client, 'operations').transact([], AbortSignal.timeout(300)))).toBeInstanceOf(
      AwsFailure,
    );
  });

  it('whose condition fails names the failed write, even if other writes have other errors', async () => {
    const { client } = clientOf(canceled('ThrottlingError', 'ConditionalCheckFailed'));
    expect(await failure(dynamoTable(client, 'operations').transact([], NEVER_ABORTED))).toMatchObject({
      name: 'ConditionFailed',
      index: 2,
    });
  });

  it('that is canceled for another reason is a failure of AWS', async () => {
    const { client } = clientOf(canceled('ValidationError'));
    expect(await failure(dynamoTable(client, 'operations').transact([], NEVER_ABORTED))).toBeInstanceOf(AwsFailure);
  });
});

it('A write of an item that a transaction is writing fails like a write whose condition failed', async () => {
  const conflict = new TransactionConflictException({ message: '', $metadata: {} });
  const client = { send: () => Promise.reject(conflict) } as unknown as DynamoDBDocumentClient;
  expect(await failure(dynamoTable(client, 'operations').put({ pk: 'a' }, NEVER_ABORTED))).toBeInstanceOf(
    ConditionFailed,
  );
});
