import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Item, Table } from '../../../lib/aws/dynamodb.ts';
import {
  type AccountClaim,
  type AccountOperations,
  accountOperationsIn,
} from '../../../lib/records/account-operations.ts';
import { LeaseLost, type Operation } from '../../../lib/records/operations.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const signal = () => AbortSignal.timeout(10_000);
const DAY = 24 * 60 * 60 * 1_000;
const LEASE = 1_000;
const OPENED = { login: 500_007, opened_at: '2026-01-02T03:04:05.678Z', recorded: true, told: true } as const;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase(afterAll);
});

/** Operations of one request under a clock of their own. */
function world(table: Table = database.tables.operations) {
  const clock = { now: 1_800_000_000_000 };
  const operations = accountOperationsIn(table, () => clock.now);
  const scope = ['tp5', 'caller', 'CLIENT01', String(Math.random())];
  const claim = () => operations.claim(scope, ['f'], LEASE, signal());
  const takeOver = async () => {
    clock.now += LEASE + 1;
    return claim();
  };
  return { clock, operations, claim, takeOver };
}

const itemOf = async ({ pk }: Operation): Promise<Item> =>
  (await database.tables.operations.get({ pk }, signal())) ?? {};

async function sent(operations: AccountOperations, claim: AccountClaim, changes: object = {}): Promise<Operation> {
  const details = {
    user_id: 'CLIENT01',
    version: 'tp5' as const,
    connection_id: 'tp5-demo-1',
    group: 'demo\\standard',
    leverage: 100,
    enable_readonly: false,
    enable_rebate: false,
    operation_id: claim.operation.operationId,
    deposit: 10_000,
    master_given: false,
  };
  const note = { settleAt: 1_800_000_100_000, details, ...changes };
  await operations.markSent(claim.operation, note, signal());
  return claim.operation;
}

describe('An operation that may have opened an account', () => {
  it('is handed over with what it asked for, so that it can be settled', async () => {
    const { operations, claim, takeOver } = world();
    await sent(operations, await claim(), { login: 500_007 });
    expect(await takeOver()).toMatchObject({
      kind: 'undecided',
      earlier: { settleAt: 1_800_000_100_000, login: 500_007, deposit: 10_000, depositSettleAt: undefined },
    });
  });

  it('asks for the last login that it was sent with, or for none', async () => {
    const { operations, claim, takeOver } = world();
    const operation = await sent(operations, await claim(), { login: 500_007 });
    await sent(operations, { kind: 'fresh', operation }, { login: 500_008 });
    const second = await takeOver();
    expect(second).toMatchObject({ earlier: { login: 500_008 } });
    await sent(operations, second);
    expect(await takeOver()).toMatchObject({ earlier: { login: undefined } });
  });

  it('may be settled at once when its worker has given up', async () => {
    const { clock, operations, claim } = world();
    const operation = await sent(operations, await claim());
    await operations.giveUp(operation, { settleAt: clock.now + 10_000, isDue: true }, signal());
    expect(await claim()).toMatchObject({ kind: 'undecided', earlier: { settleAt: clock.now + 10_000 } });
  });

  it('is not forgotten after 24 hours, as long as nobody knows what became of it', async () => {
    const { clock, operations, claim } = world();
    await sent(operations, await claim());
    clock.now += 300 * DAY;
    expect(await claim()).toMatchObject({ kind: 'undecided' });
  });
});

describe('An account that is open', () => {
  it('and complete is answered from for 24 hours', async () => {
    const { clock, operations, claim } = world();
    const operation = await sent(operations, await claim());
    await operations.finish(operation, { ...OPENED, deposit: 'made' }, signal());
    clock.now += DAY - 1_000;
    expect(await claim()).toMatchObject({ kind: 'finished', login: 500_007, operation: { nonce: operation.nonce } });
    clock.now += 1_000;
    expect(await claim()).toMatchObject({ kind: 'fresh' });
  });

  it.each([
    ['its record', { ...OPENED, recorded: false }],
    ['its deposit, which never left,', { ...OPENED, deposit: 'due' as const }],
    ['what became of its deposit', { ...OPENED, deposit: 'sent' as const, deposit_settle_at: 1_800_000_060_000 }],
  ])(
    'but lacks %s is completed by exactly one of those who come next; the others answer from it',
    async (_, account) => {
      const { operations, claim } = world();
      await operations.finish(await sent(operations, await claim()), account, signal());
      const claims = await Promise.all(Array.from({ length: 6 }, claim));
      expect(claims.filter(({ kind }) => kind === 'opened')).toHaveLength(1);
      expect(claims.find(({ kind }) => kind === 'opened')).toMatchObject({ account, earlier: { deposit: 10_000 } });
      for (const one of claims.filter(({ kind }) => kind !== 'opened'))
        expect(one).toMatchObject({ kind: 'finished', login: 500_007 });
    },
  );

  it('whose deposit failed is completed by nobody, and kept for an operator', async () => {
    const { clock, operations, claim } = world();
    await operations.finish(await sent(operations, await claim()), { ...OPENED, deposit: 'failed' }, signal());
    clock.now += 30 * DAY;
    expect(await claim()).toMatchObject({ kind: 'finished' });
  });
});

describe('The command that pays', () => {
  it('leaves for one worker only, who knows the repeat of its own mark', async () => {
    const { clock, operations, claim, takeOver } = world();
    const first = await sent(operations, await claim());
    await operations.markPaying(first, clock.now + 120_000, signal());
    await operations.markPaying(first, clock.now + 120_000, signal());
    const second = await takeOver();
    expect(second).toMatchObject({ earlier: { depositSettleAt: clock.now - LEASE - 1 + 120_000 } });
    await expect(operations.markPaying(second.operation, clock.now, signal())).rejects.toThrow(LeaseLost);
  });

  it('does not leave for one whose lease was lost', async () => {
    const { clock, operations, claim, takeOver } = world();
    const first = await sent(operations, await claim());
    await takeOver();
    await expect(operations.markPaying(first, clock.now, signal())).rejects.toThrow(LeaseLost);
  });
});

describe('What is due', () => {
  /** What an index over `due_shard` and `due_at` has of it. */
  const dueOf = async (operation: Operation) => {
    const { due_shard, due_at } = await itemOf(operation);
    return due_shard === undefined && due_at === undefined ? undefined : due_at;
  };

  it('is an operation from the moment on when it may have acted, and no more when it is finished', async () => {
    const { clock, operations, claim } = world();
    const claimed = await claim();
    expect(await dueOf(claimed.operation)).toBeUndefined();
    const operation = await sent(operations, claimed);
    expect(await dueOf(operation)).toBe(1_800_000_100_000);
    await operations.giveUp(operation, { settleAt: clock.now + 5_000, isDue: true }, signal());
    expect(await dueOf(operation)).toBe(clock.now + 5_000);
    await operations.finish(operation, { ...OPENED, deposit: 'due' }, signal());
    expect(await dueOf(operation)).toBe(clock.now);
    await operations.finish(operation, OPENED, signal());
    expect(await dueOf(operation)).toBeUndefined();
  });

  it('is an account that others have yet to be told of', async () => {
    const { clock, operations, claim } = world();
    const operation = await sent(operations, await claim());
    const { told, ...untold } = OPENED;
    await operations.finish(operation, untold, signal());
    expect(await dueOf(operation)).toBe(clock.now);
    expect(await claim()).toMatchObject({ kind: 'opened', account: untold });
    await expect(operations.finish(operation, { ...untold, told }, signal())).rejects.toThrow(LeaseLost);
  });

  it('is on the list, but never due by itself, when only an operator can bring it to its end', async () => {
    const { operations, claim } = world();
    const operation = await sent(operations, await claim());
    await operations.finish(operation, { ...OPENED, deposit: 'failed' }, signal());
    expect(await dueOf(operation)).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('stands in a few shards', async () => {
    const { operations } = world();
    const shards = new Set<unknown>();
    for (let tries = 0; tries < 40; tries += 1) {
      const claim = await operations.claim(undefined, ['f'], LEASE, signal());
      shards.add((await itemOf(await sent(operations, claim))).due_shard);
    }
    expect(shards).toEqual(new Set(['due#0', 'due#1', 'due#2', 'due#3']));
  });
});

describe('A write that was repeated and arrives late', () => {
  it('changes nothing of what came after it, whichever it is', async () => {
    const writes: (() => Promise<unknown>)[] = [];
    const { operations: table } = database.tables;
    const recording: Table = {
      ...table,
      update: (...args) => {
        writes.push(() => table.update(...args));
        return table.update(...args);
      },
    };
    const { clock, operations, claim, takeOver } = world(recording);
    const first = await sent(operations, await claim(), { login: 500_007 });
    await operations.giveUp(first, { settleAt: clock.now + 1_000, isDue: true }, signal());
    const second = await takeOver();
    await sent(operations, second, { login: 500_008 });
    await operations.markPaying(second.operation, clock.now + 1_000, signal());
    await operations.finish(second.operation, { ...OPENED, recorded: false, deposit: 'sent' }, signal());
    const third = await takeOver();
    await operations.finish(third.operation, { ...OPENED, deposit: 'made' }, signal());

    const before = await itemOf(first);
    expect(before).toMatchObject({ state: 'finished', account: { deposit: 'made' } });
    expect(writes.length).toBeGreaterThan(7);
    for (const write of writes.slice(0, -1)) {
      await expect(write()).rejects.toThrow('condition failed');
      expect(await itemOf(first)).toEqual(before);
    }
  });
});
