import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import {
  dynamoRegistrationKeys,
  type HeldKey,
  type KeyClaim,
  LeaseLost,
  type RegistrationKeys,
} from '../../../lib/records/registration-keys.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { everyOrder, interleave } from '../../support/interleave.ts';
import { runs } from '../../support/runs.ts';

const DAY = 24 * 60 * 60 * 1_000;
const ID = 'r-1';
const signal = () => AbortSignal.timeout(10_000);

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase(afterAll);
});
/** Keys under a clock of their own. */
function world() {
  const clock = { now: 1_800_000_000_000 };
  return { clock, keys: dynamoRegistrationKeys(database.tables.operations, () => clock.now) };
}

let scopes = 0;
function newScope(): string[] {
  scopes += 1;
  return ['registration', 'caller', `key-${scopes}`];
}

/** Claims a unique key. */
async function fresh(keys: RegistrationKeys, scope: readonly string[]): Promise<HeldKey> {
  const claim = await keys.claim(scope, ['f'], 1_000, signal());
  if (claim.kind !== 'fresh') throw new Error(`not fresh but ${claim.kind}`);
  return claim.held;
}

describe('A request with an Idempotency-Key', () => {
  it('that is still running answers a second one with request_in_progress and when to come back', async () => {
    const { keys } = world();
    const scope = newScope();
    const held = await fresh(keys, scope);
    const second = await keys.claim(scope, ['f'], 1_000, signal());
    expect(second).toMatchObject({ kind: 'in_progress', retryAfterSeconds: 1 });
    await keys.markSent(held, ID, signal());
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'in_progress', registrationId: ID });
  });

  it('and another body is refused with idempotency_key_reused, running or finished', async () => {
    const { keys } = world();
    const scope = newScope();
    const held = await fresh(keys, scope);
    expect(await keys.claim(scope, ['g'], 1_000, signal())).toEqual({ kind: 'reused' });
    await keys.finish(held, signal());
    expect(await keys.claim(scope, ['g'], 1_000, signal())).toEqual({ kind: 'reused' });
  });

  it('that is finished names its registration', async () => {
    const { keys } = world();
    const scope = newScope();
    const held = await fresh(keys, scope);
    await keys.markSent(held, ID, signal());
    await keys.finish(held, signal());
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({
      kind: 'finished',
      registrationId: ID,
    });
  });

  it('matches the fingerprint under any key of a rotation', async () => {
    const { keys } = world();
    const scope = newScope();
    await keys.finish(await fresh(keys, scope), signal());
    expect(await keys.claim(scope, ['new', 'f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
  });

  it('whose first worker failed before anything was sent starts again', async () => {
    const { keys } = world();
    const scope = newScope();
    await keys.release(await fresh(keys, scope), signal());
    expect(await keys.claim(scope, ['g'], 1_000, signal())).toMatchObject({ kind: 'fresh' });
  });

  it('whose first worker died before anything was sent is acquired after its lease', async () => {
    const { keys, clock } = world();
    const scope = newScope();
    const first = await fresh(keys, scope);
    clock.now += 1_001;
    const second = await fresh(keys, scope);
    await expect(keys.markSent(first, ID, signal())).rejects.toThrow(LeaseLost);
    await keys.markSent(second, ID, signal());
  });

  it('whose first worker died after it may have sent is only finished', async () => {
    const { keys, clock } = world();
    const scope = newScope();
    const first = await fresh(keys, scope);
    await keys.markSent(first, ID, signal());
    clock.now += 1_001;
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({
      kind: 'undecided',
      registrationId: ID,
    });
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'in_progress' });
  });

  it('whose first worker was only frozen and still sends is never started again, in any order', async () => {
    const { clock } = world();
    const orders = await everyOrder(async (choose) => {
      const scope = newScope();
      const first = await fresh(
        dynamoRegistrationKeys(database.tables.operations, () => clock.now),
        scope,
      );
      const later = () => clock.now + 1_001;
      const [sent, retry] = await interleave<boolean | KeyClaim>(
        database.tables.operations,
        [
          (table) =>
            dynamoRegistrationKeys(table, later)
              .markSent(first, ID, signal())
              .then(
                () => true,
                () => false,
              ),
          (table) => dynamoRegistrationKeys(table, later).claim(scope, ['f'], 1_000, signal()),
        ],
        choose,
      );
      expect(retry).toMatchObject({ kind: sent === true ? 'undecided' : 'fresh' });
    });
    expect(orders).toBeGreaterThan(2);
  });

  it('that is finished stays so when a write of an earlier step arrives late', async () => {
    const { keys } = world();
    const scope = newScope();
    const held = await fresh(keys, scope);
    const late = { ...held };
    await keys.markSent(held, ID, signal());
    await keys.finish(held, signal());
    await expect(keys.markSent(late, ID, signal())).rejects.toThrow(LeaseLost);
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
  });

  it('is kept for 24 hours, and forgotten then though the table still has it', async () => {
    const { keys, clock } = world();
    const scope = newScope();
    await keys.finish(await fresh(keys, scope), signal());
    clock.now += DAY - 1_000;
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
    clock.now += 1_000;
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'fresh' });
  });

  it('is kept for no part of a second less than 24 hours', async () => {
    const { keys, clock } = world();
    const scope = newScope();
    clock.now += 999 - (clock.now % 1_000);
    await keys.finish(await fresh(keys, scope), signal());
    clock.now += DAY - 1;
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
  });

  it('is kept for 24 hours from the last step on, so that one at the end of its time is not forgotten a moment later', async () => {
    const { keys, clock } = world();
    const scope = newScope();
    await keys.markSent(await fresh(keys, scope), ID, signal());
    clock.now += DAY - 2_000;
    const claim = await keys.claim(scope, ['f'], 1_000, signal());
    if (claim.kind !== 'undecided') throw new Error(claim.kind);
    clock.now += 3_000;
    await keys.finish(claim.held, signal());
    clock.now += DAY - 2_000;
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
  });

  it('is not forgotten while one that took it over just before still works on it', async () => {
    const { keys, clock } = world();
    const scope = newScope();
    await fresh(keys, scope);
    clock.now += DAY - 1_000;
    expect(await keys.claim(scope, ['f'], 10_000, signal())).toMatchObject({ kind: 'fresh' });
    clock.now += 5_000;
    expect(await keys.claim(scope, ['f'], 10_000, signal())).toMatchObject({ kind: 'in_progress' });
  });

  it('is another one for another caller, route or key', async () => {
    const { keys } = world();
    for (const scope of [
      ['a', 'b', 'c'],
      ['a', 'b', 'd'],
      ['a', 'bc'],
      ['ab', 'c'],
    ])
      await fresh(keys, scope);
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
    const { keys, clock } = world();
    const { calls } = database;
    const scope = newScope();
    calls.length = 0;
    await fresh(keys, scope);
    expect(calls.map(({ operation }) => operation)).toEqual(['PutItem']);

    clock.now += 1_001;
    calls.length = 0;
    const second = await fresh(keys, scope);
    await keys.markSent(second, ID, signal());
    expect(calls.map(({ operation }) => operation)).toEqual(['PutItem', 'UpdateItem', 'UpdateItem']);

    clock.now += 1_001;
    calls.length = 0;
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({ kind: 'undecided' });
    expect(calls).toHaveLength(2);
  });

  it('whose write was repeated because its answer was lost is still its own', async () => {
    const { clock } = world();
    const keys = dynamoRegistrationKeys(repeating(database.tables.operations), () => clock.now);
    const scope = newScope();
    await fresh(keys, scope);
    clock.now += 1_001;
    const second = await fresh(keys, scope);
    await keys.markSent(second, ID, signal());
    clock.now += 1_001;
    expect(await keys.claim(scope, ['f'], 1_000, signal())).toMatchObject({
      kind: 'undecided',
    });
  });

  it('never acquires a key with another body, a finished one, or one older than 24 hours', async () => {
    const { keys, clock } = world();
    const [other, done, old] = [newScope(), newScope(), newScope()];
    await fresh(keys, other);
    await keys.finish(await fresh(keys, done), signal());
    const forgotten = await fresh(keys, old);
    clock.now += 1_001;
    expect(await keys.claim(other, ['g'], 1_000, signal())).toEqual({ kind: 'reused' });
    expect(await keys.claim(done, ['f'], 1_000, signal())).toMatchObject({ kind: 'finished' });
    clock.now += DAY;
    expect((await fresh(keys, old)).lease).not.toBe(forgotten.lease);
  });
});

describe('However many workers race for one key', () => {
  it('exactly one of them works on it', async () => {
    const { keys } = world();
    const scope = newScope();
    const claims = await Promise.all(Array.from({ length: 20 }, () => keys.claim(scope, ['f'], 1_000, signal())));
    expect(claims.filter(({ kind }) => kind === 'fresh')).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === 'in_progress')).toHaveLength(19);
  });

  it('exactly one of them finishes the key of a lost worker', async () => {
    const { keys, clock } = world();
    const scope = newScope();
    await keys.markSent(await fresh(keys, scope), ID, signal());
    clock.now += 1_001;
    const claims = await Promise.all(Array.from({ length: 20 }, () => keys.claim(scope, ['f'], 1_000, signal())));
    expect(claims.filter(({ kind }) => kind === 'undecided')).toHaveLength(1);
  });

  it('never two of them may send between two certain failures, with kills at any time', async () => {
    const step = fc.record({
      worker: fc.nat(2),
      does: fc.constantFrom('claim', 'send', 'finish', 'release', 'time passes'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { keys, clock } = world();
        const scope = newScope();
        const held = new Map<number, { key: HeldKey; maySend: boolean }>();
        // How many messages may have left.
        let sent = 0;
        for (const { worker, does } of steps) {
          const mine = held.get(worker);
          if (does === 'time passes') clock.now += 1_001;
          if (does === 'claim' && mine === undefined) {
            const claim = await keys.claim(scope, ['f'], 1_000, signal());
            if (claim.kind === 'fresh') {
              expect(sent).toBe(0);
              held.set(worker, { key: claim.held, maySend: true });
            }
            // A worker that finishes another's key must not send.
            if (claim.kind === 'undecided') held.set(worker, { key: claim.held, maySend: false });
            if (claim.kind === 'finished') expect(sent).toBe(1);
          }
          if (mine === undefined || does === 'claim' || does === 'time passes') continue;
          held.delete(worker);
          try {
            if (does === 'send' && mine.maySend) {
              await keys.markSent(mine.key, ID, signal());
              sent += 1;
              held.set(worker, { ...mine, maySend: false });
            }
            if (does === 'finish' && sent === 1) await keys.finish(mine.key, signal());
            if (does === 'release' && mine.maySend) await keys.release(mine.key, signal());
          } catch {
            // The lease was lost: nothing was sent.
          }
          expect(sent).toBeLessThanOrEqual(1);
        }
      }),
      runs(15),
    );
  });
});
