import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { keyExpiry, keyItem } from '../../../lib/records/idempotency-keys.ts';
import {
  dynamoRegistrationKeys,
  type HeldKey,
  type KeyClaim,
  keyNames,
  LeaseLost,
} from '../../../lib/records/registration-keys.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { everyOrder, interleave } from '../../support/interleave.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { PEPPER, TWO_KEYS } from '../../support/registration-scene.ts';
import { propertyRuns } from '../../support/runs.ts';
import { type Step, tableOfSteps } from '../../support/step-faults.ts';

/** Until a key has expired. */
const KEPT_MS = keyExpiry(0) * 1_000;
const ID = 'r-1';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase(afterAll);
});
let scopes = 0;
function newScope(): string[] {
  scopes += 1;
  return ['registration', 'caller', `key-${scopes}`];
}

/** A new key, under a clock of its own. */
function world(table: Table = database.tables.registrations) {
  const clock = { now: 1_800_000_000_000 };
  const keys = dynamoRegistrationKeys(table, database.tables.operations, () => clock.now);
  const own = newScope();
  const claim = (fingerprint = 'f', ms = 1_000, scope: readonly string[] = own) =>
    keys.claim(keyNames(scope, PEPPER), [fingerprint], ms, NEVER_ABORTED);
  return {
    keys,
    clock,
    scope: own,
    claim,
    /** Claims it again. */
    async fresh(scope: readonly string[] = own): Promise<HeldKey> {
      const claimed = await claim('f', 1_000, scope);
      if (claimed.kind !== 'fresh') throw new Error(`not fresh but ${claimed.kind}`);
      return claimed.held;
    },
    send: (held: HeldKey) => keys.markSent(held, ID, NEVER_ABORTED),
    finish: (held: HeldKey) => keys.finish(held, NEVER_ABORTED),
  };
}

describe('A request with an Idempotency-Key', () => {
  it('that is still running answers a second request with request_in_progress and the time of a retry', async () => {
    const { claim, fresh, send } = world();
    const held = await fresh();
    const second = await claim();
    expect(second).toMatchObject({ kind: 'in_progress', retryAfterSeconds: 1 });
    await send(held);
    expect(await claim()).toMatchObject({ kind: 'in_progress', registrationId: ID });
  });

  it('and another body is refused with idempotency_key_reused, running or finished', async () => {
    const { claim, fresh, finish } = world();
    const held = await fresh();
    expect(await claim('g')).toEqual({ kind: 'reused' });
    await finish(held);
    expect(await claim('g')).toEqual({ kind: 'reused' });
  });

  it('that is finished returns the id of its registration', async () => {
    const { claim, fresh, send, finish } = world();
    const held = await fresh();
    await send(held);
    await finish(held);
    expect(await claim()).toMatchObject({ kind: 'finished', registrationId: ID });
  });

  it('matches the fingerprint under any key of a rotation', async () => {
    const { keys, scope, fresh, finish } = world();
    await finish(await fresh());
    expect(await keys.claim(keyNames(scope, PEPPER), ['new', 'f'], 1_000, NEVER_ABORTED)).toMatchObject({
      kind: 'finished',
    });
  });

  it('whose first worker died before anything was sent is acquired after its lease', async () => {
    const { clock, fresh, send } = world();
    const first = await fresh();
    clock.now += 1_001;
    const second = await fresh();
    await expect(send(first)).rejects.toThrow(LeaseLost);
    await send(second);
  });

  it('whose first worker was only frozen and still sends is never started again, in any order', async () => {
    const orders = await everyOrder(async (choose) => {
      const { clock, scope, fresh } = world();
      const first = await fresh();
      const keys = (step: Step) =>
        dynamoRegistrationKeys(
          tableOfSteps('keys', database.tables.registrations, step),
          database.tables.operations,
          () => clock.now + 1_001,
        );
      const isSent = (write: Promise<unknown>) =>
        write.then(
          () => true,
          () => false,
        );
      const [sent, retry] = await interleave<boolean | KeyClaim>(
        [
          (step) => isSent(keys(step).markSent(first, ID, NEVER_ABORTED)),
          (step) => keys(step).claim(keyNames(scope, PEPPER), ['f'], 1_000, NEVER_ABORTED),
        ],
        choose,
      );
      expect(retry).toMatchObject({ kind: sent === true ? 'undecided' : 'fresh' });
    });
    expect(orders).toBeGreaterThan(2);
  });

  it('that is finished stays so when a write of an earlier step arrives late', async () => {
    const { claim, fresh, send, finish } = world();
    const held = await fresh();
    const late = { ...held };
    await send(held);
    await finish(held);
    await expect(send(late)).rejects.toThrow(LeaseLost);
    expect(await claim()).toMatchObject({ kind: 'finished' });
  });

  it('is kept for 24 hours, and then ignored even if the table still has it', async () => {
    const { clock, claim, fresh, finish } = world();
    await finish(await fresh());
    clock.now += KEPT_MS - 1_000;
    expect(await claim()).toMatchObject({ kind: 'finished' });
    clock.now += 1_000;
    expect(await claim()).toMatchObject({ kind: 'fresh' });
  });

  it('is kept for 24 hours from its last step, so that a key in use at the end does not expire a moment later', async () => {
    const { clock, claim, fresh, send, finish } = world();
    await send(await fresh());
    clock.now += KEPT_MS - 2_000;
    const claimed = await claim();
    if (claimed.kind !== 'undecided') throw new Error(claimed.kind);
    clock.now += 3_000;
    await finish(claimed.held);
    clock.now += KEPT_MS - 2_000;
    expect(await claim()).toMatchObject({ kind: 'finished' });
  });

  it('does not expire while a worker that acquired it just before still works on it', async () => {
    const { clock, claim, fresh } = world();
    await fresh();
    clock.now += KEPT_MS - 1_000;
    expect(await claim('f', 10_000)).toMatchObject({ kind: 'fresh' });
    clock.now += 5_000;
    expect(await claim('f', 10_000)).toMatchObject({ kind: 'in_progress' });
  });

  it('is separate for another caller, route or key', async () => {
    const { fresh } = world();
    for (const scope of ['a b c', 'a b d', 'a bc', 'ab c']) await fresh(scope.split(' '));
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
    const { clock, claim, fresh, send } = world();
    const { calls } = database;
    calls.length = 0;
    await fresh();
    // Next to it the name of version 1.0.0 is read.
    expect(calls.map(({ operation }) => operation)).toEqual(['PutItem', 'GetItem']);

    clock.now += 1_001;
    calls.length = 0;
    const second = await fresh();
    await send(second);
    expect(calls.map(({ operation }) => operation)).toEqual(['PutItem', 'GetItem', 'UpdateItem', 'UpdateItem']);

    clock.now += 1_001;
    calls.length = 0;
    expect(await claim()).toMatchObject({ kind: 'undecided' });
    expect(calls.map(({ operation }) => operation)).toEqual(['PutItem', 'GetItem', 'UpdateItem']);
  });

  it('whose write the SDK repeated after a lost answer still belongs to its worker', async () => {
    const { clock, claim, fresh, send } = world(repeating(database.tables.registrations));
    await fresh();
    clock.now += 1_001;
    const second = await fresh();
    await send(second);
    clock.now += 1_001;
    expect(await claim()).toMatchObject({ kind: 'undecided' });
  });

  it('never acquires a key with another body, a finished key, or a key older than 24 hours', async () => {
    const { clock, claim, fresh, finish } = world();
    const [other, done, old] = [newScope(), newScope(), newScope()];
    await fresh(other);
    await finish(await fresh(done));
    const forgotten = await fresh(old);
    clock.now += 1_001;
    expect(await claim('g', 1_000, other)).toEqual({ kind: 'reused' });
    expect(await claim('f', 1_000, done)).toMatchObject({ kind: 'finished' });
    clock.now += KEPT_MS;
    expect((await fresh(old)).lease).not.toBe(forgotten.lease);
  });
});

describe('However many workers race for one key', () => {
  it('exactly one of them works on it', async () => {
    const { claim } = world();
    const claims = await Promise.all(Array.from({ length: 20 }, () => claim()));
    expect(claims.filter(({ kind }) => kind === 'fresh')).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === 'in_progress')).toHaveLength(19);
  });

  it('exactly one of them finishes the key of a lost worker', async () => {
    const { clock, claim, fresh, send } = world();
    await send(await fresh());
    clock.now += 1_001;
    const claims = await Promise.all(Array.from({ length: 20 }, () => claim()));
    expect(claims.filter(({ kind }) => kind === 'undecided')).toHaveLength(1);
  });

  it('never two of them may send between two certain failures, with kills at any time', async () => {
    const step = fc.record({
      worker: fc.nat(2),
      does: fc.constantFrom('claim', 'send', 'finish', 'release', 'time passes'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { keys, clock, claim, send, finish } = world();
        const held = new Map<number, { key: HeldKey; maySend: boolean }>();
        // How many messages may have left.
        let sent = 0;
        for (const { worker, does } of steps) {
          const mine = held.get(worker);
          if (does === 'time passes') clock.now += 1_001;
          if (does === 'claim' && mine === undefined) {
            const claimed = await claim();
            if (claimed.kind === 'fresh') expect(sent).toBe(0);
            // A worker that finishes another's key must not send.
            const maySend = claimed.kind === 'fresh';
            if (maySend || claimed.kind === 'undecided') held.set(worker, { key: claimed.held, maySend });
            if (claimed.kind === 'finished') expect(sent).toBe(1);
          }
          if (mine === undefined || does === 'claim' || does === 'time passes') continue;
          held.delete(worker);
          try {
            if (does === 'send' && mine.maySend) {
              await send(mine.key);
              sent += 1;
              held.set(worker, { ...mine, maySend: false });
            }
            if (does === 'finish' && sent === 1) await finish(mine.key);
            if (does === 'release' && mine.maySend) await keys.release(mine.key, NEVER_ABORTED);
          } catch {
            // The lease was lost: nothing was sent.
          }
          expect(sent).toBeLessThanOrEqual(1);
        }
      }),
      propertyRuns(15),
    );
  });
});

describe('The name of a key', () => {
  const scope = ['registration', '203.0.113.7', 'key-1'];

  it('is a keyed hash: without the pepper no address can be tried', () => {
    const { pk } = keyNames(scope, PEPPER);
    expect(pk).toMatch(/^key#[\w-]{43}$/);
    expect(pk).not.toBe(keyItem(scope));
    expect(keyNames(scope, TWO_KEYS)).toEqual({
      pk: expect.not.stringMatching(pk),
      rotated: [pk],
      former: keyItem(scope),
    });
  });
});

/** Each place of a record that an earlier pepper or version 1.0.0 named: it is read, and not written. */
describe.each([
  ['under the pepper before', 'registrations', TWO_KEYS, ({ rotated: [pk = ''] }: ReturnType<typeof keyNames>) => pk],
  ['among the operations, of version 1.0.0', 'operations', PEPPER, ({ former }: ReturnType<typeof keyNames>) => former],
] as const)('A key that has a record %s', (_, table, pepper, nameOf) => {
  /** A record of a worker whose lease is over, or not. */
  async function claimAfter(record: object, times = 1) {
    const { keys, clock, scope } = world();
    const names = keyNames(scope, pepper);
    const at = clock.now;
    const stored = { fingerprint: 'f', lease: 'its own', lease_until: at - 1, revision: 3, expires_at: keyExpiry(at) };
    const item = { pk: nameOf(names), ...stored, registration_id: ID, ...record };
    await database.tables[table].put(item, NEVER_ABORTED);
    const claims: KeyClaim[] = [];
    for (let time = 0; time < times; time += 1) {
      const claimed = await keys.claim(names, ['f'], 1_000, NEVER_ABORTED);
      claims.push(claimed);
      if (claimed.kind === 'undecided') await keys.finish(claimed.held, NEVER_ABORTED);
    }
    expect(await database.tables[table].get({ pk: item.pk }, NEVER_ABORTED)).toEqual(item);
    const own = await database.tables.registrations.get({ pk: names.pk }, NEVER_ABORTED);
    return { claims, own };
  }

  it.each([
    ['finished', { state: 'finished' }, { kind: 'finished', registrationId: ID }],
    ['running', { state: 'running', lease_until: 1_800_000_060_000 }, { kind: 'in_progress' }],
    ['sent, by a worker that still runs', { state: 'sent', lease_until: 1_800_000_060_000 }, { kind: 'in_progress' }],
    ['of another body', { state: 'finished', fingerprint: 'g' }, { kind: 'reused' }],
  ])('that is %s is answered by that record, and gets no second one', async (__, record, expected) => {
    const { claims, own } = await claimAfter(record, 2);
    expect(claims).toEqual([expect.objectContaining(expected), expect.objectContaining(expected)]);
    expect(own).toBeUndefined();
  });

  it('and may have sent is finished under the key’s new name, with its registration', async () => {
    const { claims } = await claimAfter({ state: 'sent' }, 2);
    expect(claims).toMatchObject([
      { kind: 'undecided', registrationId: ID },
      { kind: 'finished', registrationId: ID },
    ]);
  });

  it.each([
    ['has certainly sent nothing', { state: 'running' }],
    ['is 24 hours old', { state: 'finished', expires_at: 1_800_000_000 }],
  ])('that %s counts as a new key', async (__, record) => {
    expect((await claimAfter(record)).claims).toMatchObject([{ kind: 'fresh' }]);
  });
});
