import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { type Claim, dynamoOperations, LeaseLost, workable } from '../../../lib/records/operations.ts';
import { everyOrder, interleave } from '../../support/interleave.ts';
import { fresh, newScope, operationsWorlds, signal } from '../../support/operations-world.ts';

const DAY = 24 * 60 * 60 * 1_000;

const world = operationsWorlds();

describe('A request with an Idempotency-Key', () => {
  it('that is still running answers a second one with request_in_progress and when to come back', async () => {
    const { operations } = world();
    const scope = newScope();
    await fresh(operations, scope);
    const second = await operations.claim(scope, ['f'], 1_000, signal());
    expect(second).toMatchObject({ kind: 'in_progress', retryAfterSeconds: 1 });
    expect(() => workable(second)).toThrow('request_in_progress');
  });

  it('and another body is refused with idempotency_key_reused, running or finished', async () => {
    const { operations } = world();
    const scope = newScope();
    const operation = await fresh(operations, scope);
    expect(await operations.claim(scope, ['g'], 1_000, signal())).toEqual({ kind: 'reused' });
    await operations.finish(operation, signal());
    const claim = await operations.claim(scope, ['g'], 1_000, signal());
    expect(() => workable(claim)).toThrow('idempotency_key_reused');
  });

  it('that is finished gives its nonce again, and what was kept of it', async () => {
    const { operations } = world();
    const scope = newScope();
    const operation = await fresh(operations, scope);
    await operations.finish(operation, signal());
    expect(await operations.claim(scope, ['f'], 1_000, signal())).toMatchObject({
      kind: 'finished',
      operation: { operationId: operation.operationId, nonce: operation.nonce },
      item: { state: 'finished' },
    });
  });

  it('matches the fingerprint under any key of a rotation', async () => {
    const { operations } = world();
    const scope = newScope();
    await operations.finish(await fresh(operations, scope), signal());
    expect(await operations.claim(scope, ['new', 'f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
  });

  it('whose first worker failed before anything was sent is worked on anew', async () => {
    const { operations } = world();
    const scope = newScope();
    await operations.release(await fresh(operations, scope), signal());
    expect(await operations.claim(scope, ['g'], 1_000, signal())).toMatchObject({ kind: 'fresh' });
  });

  it('whose first worker died before anything was sent is taken over when its lease is over', async () => {
    const { operations, clock } = world();
    const scope = newScope();
    const first = await fresh(operations, scope);
    clock.now += 1_001;
    const second = await fresh(operations, scope);
    expect(second).toMatchObject({ operationId: first.operationId, nonce: first.nonce });
    await expect(operations.markSent(first, {}, signal())).rejects.toThrow(LeaseLost);
    await operations.markSent(second, {}, signal());
  });

  it('whose first worker died after it may have sent is handed over to be settled', async () => {
    const { operations, clock } = world();
    const scope = newScope();
    const first = await fresh(operations, scope);
    await operations.markSent(first, { group: 'real' }, signal());
    clock.now += 1_001;
    expect(await operations.claim(scope, ['f'], 1_000, signal())).toMatchObject({
      kind: 'undecided',
      item: { details: { group: 'real' } },
      operation: { operationId: first.operationId, nonce: first.nonce },
    });
    expect(await operations.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'in_progress' });
  });

  it('whose first worker was only frozen and sends after all is never worked on anew beside it, in any order', async () => {
    const { database, clock } = world();
    const orders = await everyOrder(async (choose) => {
      const scope = newScope();
      const first = await fresh(
        dynamoOperations(database.tables.operations, () => clock.now),
        scope,
      );
      const later = () => clock.now + 1_001;
      const [sent, retry] = await interleave<boolean | Claim>(
        database.tables.operations,
        [
          (table) =>
            dynamoOperations(table, later)
              .markSent(first, {}, signal())
              .then(
                () => true,
                () => false,
              ),
          (table) => dynamoOperations(table, later).claim(scope, ['f'], 1_000, signal()),
        ],
        choose,
      );
      expect(retry).toMatchObject({ kind: sent === true ? 'undecided' : 'fresh' });
    });
    expect(orders).toBeGreaterThan(2);
  });

  it('that is finished stays so when a write of an earlier step arrives late', async () => {
    const { operations } = world();
    const scope = newScope();
    const operation = await fresh(operations, scope);
    const late = { ...operation };
    await operations.markSent(operation, {}, signal());
    await operations.finish(operation, signal());
    await expect(operations.markSent(late, {}, signal())).rejects.toThrow(LeaseLost);
    expect(await operations.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
  });

  it('is kept for 24 hours, and forgotten then though the table still has it', async () => {
    const { operations, clock } = world();
    const scope = newScope();
    await operations.finish(await fresh(operations, scope), signal());
    clock.now += DAY - 1_000;
    expect(await operations.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
    clock.now += 1_000;
    expect(await operations.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'fresh' });
  });

  it('is kept for no part of a second less than 24 hours', async () => {
    const { operations, clock } = world();
    const scope = newScope();
    clock.now += 999 - (clock.now % 1_000);
    await operations.finish(await fresh(operations, scope), signal());
    clock.now += DAY - 1;
    expect(await operations.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
  });

  it('is kept for 24 hours from the last step on, so that one at the end of its time is not forgotten a moment later', async () => {
    const { operations, clock } = world();
    const scope = newScope();
    await operations.markSent(await fresh(operations, scope), {}, signal());
    clock.now += DAY - 2_000;
    const claim = await operations.claim(scope, ['f'], 1_000, signal());
    if (claim.kind !== 'undecided') throw new Error(claim.kind);
    clock.now += 3_000;
    await operations.finish(claim.operation, signal());
    clock.now += DAY - 2_000;
    expect(await operations.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
  });

  it('is not forgotten while one that took it over just before still works on it', async () => {
    const { operations, clock } = world();
    const scope = newScope();
    await fresh(operations, scope);
    clock.now += DAY - 1_000;
    expect(await operations.claim(scope, ['f'], 10_000, signal())).toMatchObject({ kind: 'fresh' });
    clock.now += 5_000;
    expect(await operations.claim(scope, ['f'], 10_000, signal())).toMatchObject({ kind: 'in_progress' });
  });

  it('is another operation for another caller, user, version or key', async () => {
    const { operations } = world();
    for (const scope of [
      ['a', 'b', 'c'],
      ['a', 'b', 'd'],
      ['a', 'bc'],
      ['ab', 'c'],
    ])
      await fresh(operations, scope);
  });
});

describe('A request without an Idempotency-Key', () => {
  it('is an operation of its own every time', async () => {
    const { operations } = world();
    const [first, second] = [await fresh(operations, undefined), await fresh(operations, undefined)];
    expect(first.operationId).not.toBe(second.operationId);
  });
});

describe('A claim', () => {
  /** Every write is done and its answer lost, so the client repeats it. */
  const repeating = (table: Table): Table => ({
    ...table,
    put: async (...args) => {
      await table.put(...args);
      await table.put(...args);
    },
    update: async (...args) => {
      await table.update(...args);
      return table.update(...args);
    },
  });

  it('that may be worked on takes one round trip, or two when it takes over, so that three are enough to send', async () => {
    const { database, operations, clock } = world();
    const { calls } = database;
    const scope = newScope();
    calls.length = 0;
    const first = await fresh(operations, scope);
    expect(calls.map(({ operation }) => operation)).toEqual(['PutItem']);

    clock.now += 1_001;
    calls.length = 0;
    const second = await fresh(operations, scope);
    await operations.markSent(second, {}, signal());
    expect(second.nonce).toBe(first.nonce);
    expect(calls.map(({ operation }) => operation)).toEqual(['PutItem', 'UpdateItem', 'UpdateItem']);

    clock.now += 1_001;
    calls.length = 0;
    expect(await operations.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'undecided' });
    expect(calls).toHaveLength(2);
  });

  it('whose write was repeated because its answer was lost is still its own', async () => {
    const { database, clock } = world();
    const operations = dynamoOperations(repeating(database.tables.operations), () => clock.now);
    const scope = newScope();
    const first = await fresh(operations, scope);
    clock.now += 1_001;
    const second = await fresh(operations, scope);
    expect(second.operationId).toBe(first.operationId);
    await operations.markSent(second, {}, signal());
    clock.now += 1_001;
    expect(await operations.claim(scope, ['f'], 1_000, signal())).toMatchObject({
      kind: 'undecided',
      operation: { nonce: first.nonce },
    });
  });

  it('never takes over what has another body, is finished, or is older than 24 hours', async () => {
    const { operations, clock } = world();
    const [other, done, old] = [newScope(), newScope(), newScope()];
    await fresh(operations, other);
    await operations.finish(await fresh(operations, done), signal());
    const forgotten = await fresh(operations, old);
    clock.now += 1_001;
    expect(await operations.claim(other, ['g'], 1_000, signal())).toEqual({ kind: 'reused' });
    expect(await operations.claim(done, ['f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
    clock.now += DAY;
    expect((await fresh(operations, old)).nonce).not.toBe(forgotten.nonce);
  });
});
