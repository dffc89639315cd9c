import { describe, expect, it } from 'vitest';
import { DatabaseFailure } from '../../../lib/aws/dynamodb.ts';
import { FakeAccounts, LIVE, opened } from '../../support/account-fakes.ts';
import { beforeEachOpening, KEY, lost, unavailable } from '../../support/account-tests.ts';
import type { TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let world: FakeAccounts;
beforeEachOpening((fresh, its) => {
  world = fresh;
  database = its;
});

describe('A retry of a request whose outcome is not known', () => {
  /** The answer is lost, and the first request ends without having found the account. */
  async function leaveUndecided(exists: boolean): Promise<void> {
    world.settleMs = 60_000;
    world.platform.opening = exists
      ? { kind: 'reply_lost', failure: lost() }
      : { kind: 'fails', sent: true, failure: lost() };
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    expect(await world.refused({}, KEY)).toMatchObject({ status: 504 });
    world.platform.opening = { kind: 'opens' };
    world.platform.finding = undefined;
  }

  it('finds the account at once, records and announces it, and answers as the first would have', async () => {
    await leaveUndecided(true);
    const answer = await world.run({}, KEY);
    expect(answer.replayed).toBe(true);
    const { order } = world.platform.accounts[0] ?? {};
    expect(answer.body).toEqual({
      login: 5_001,
      master_password: order?.masterPassword,
      investor_password: order?.investorPassword,
    });
    expect(await world.record(5_001)).toMatchObject({ operation_id: order?.operationId });
    expect((await world.run({}, KEY)).body).toEqual(answer.body);
    expect(world.platform.calls.filter((call) => call === 'sent')).toHaveLength(1);
  });

  it('opens nothing while the first call may yet open the account', async () => {
    await leaveUndecided(false);
    world.skip(30_000);
    expect(await world.refused({}, { ...KEY, ms: 1_500 })).toMatchObject({ status: 504 });
    expect(world.platform.accounts).toHaveLength(0);
  });

  it('opens the account when it is certainly absent', async () => {
    await leaveUndecided(false);
    world.skip(61_000);
    const answer = await world.run({}, KEY);
    expect(answer.replayed).toBe(false);
    expect(world.platform.accounts).toHaveLength(1);
    expect(world.platform.calls.at(-1)).toBe('sent');
    expect((await world.run({}, KEY)).body).toEqual(answer.body);
  });

  it('answers 409 while the records of the CRM are missing, 504 while they cannot be read, and leaves it undecided', async () => {
    await leaveUndecided(true);
    const { records } = world;
    world.records = { ...records, client: undefined };
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'account_outcome_unknown', status: 409 });
    world.records = records;
    world.directoryFails = new DatabaseFailure('ServiceUnavailable');
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
    world.directoryFails = undefined;
    expect(opened(await world.run({}, KEY)).login).toBe(5_001);
  });

  it('answers 504 and leaves it undecided while the platform’s secret cannot be read', async () => {
    await leaveUndecided(true);
    world.platformFails = unavailable();
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
    world.platformFails = undefined;
    expect(opened(await world.run({}, KEY)).login).toBe(5_001);
  });

  it('is not judged by what the connection offers and can do by now, nor by records that it does not need', async () => {
    await leaveUndecided(true);
    world.platform.faults = [{ pointer: '#/login', rule: 'not_supported', detail: 'cannot be chosen' }];
    world.records = { ...world.records, connection: { ...LIVE, groups: [], demo: true } };
    expect(opened(await world.run({}, KEY)).login).toBe(5_001);
  });

  it('is judged like a new one when the account is certainly absent', async () => {
    await leaveUndecided(false);
    world.skip(61_000);
    world.records = { ...world.records, connection: { ...LIVE, groups: [] } };
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'group_not_found' });
    expect(world.platform.accounts).toHaveLength(0);
  });

  it('is answered from our own table where the record was written, also by a server that cannot be asked', async () => {
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    world.operations.failing = { at: 3 };
    const first = await world.run({}, KEY);
    world.skip(31_000);
    expect(await world.run({}, KEY)).toEqual({ body: first.body, replayed: true });
    expect(world.platform.calls).not.toContain('find');
  });

  it('is not given up for good while our own table cannot be read', async () => {
    await leaveUndecided(true);
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    world.accounts.failing = { at: world.accounts.calls.length + 1 };
    expect(await world.refused({}, KEY)).toMatchObject({ status: 504 });
    expect(await world.refused({}, KEY)).toMatchObject({ status: 409 });
  });
});

describe('A request whose process died', () => {
  /** Like a process that was killed: whatever it still wanted to do never happens. */
  async function die(at: 'before sending' | 'after sending', exists: boolean): Promise<void> {
    const victim = new FakeAccounts(database);
    Object.assign(victim, { userId: world.userId, settleMs: world.settleMs });
    const never = new Promise<never>(() => {});
    await new Promise<void>((resolve) => {
      const dead = () => {
        resolve();
        return never;
      };
      if (at === 'before sending') victim.platform.beforeMarking = dead;
      const { platform } = victim;
      const { open } = platform;
      platform.open = async (order, departure) => {
        if (at === 'before sending') return open.call(platform, order, { ...departure, note: dead });
        await departure.note();
        if (exists) world.platform.accounts.push({ login: 5_001, order });
        return dead();
      };
      victim.run({}, KEY).catch(() => {});
    });
  }

  it('before anything was sent is worked on anew once its lease is over, with the same passwords', async () => {
    await die('before sending', false);
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'request_in_progress' });
    world.skip(30_500);
    expect((await world.run({}, KEY)).replayed).toBe(false);
    expect(world.platform.calls).toEqual(['open', 'sent']);
  });

  it('after the bytes left is settled by the retry: the account is found', async () => {
    await die('after sending', true);
    world.skip(30_500);
    expect((await world.run({}, KEY)).replayed).toBe(true);
    expect(world.platform.calls).toEqual(['find']);
    expect(world.platform.accounts).toHaveLength(1);
  });

  it('settles from the last moment at which its bytes can have left, not from the first, and for twice as long', async () => {
    world.settleMs = 20_000;
    await die('after sending', false);
    // The opening may have gone on for 17 seconds; after that the system may still send what the process left behind.
    world.skip(54_000);
    const problem = await world.refused({}, { ...KEY, ms: 1_500 });
    expect(problem).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
    expect(problem.options.retryAfterSeconds).toBeLessThanOrEqual(3);
    world.skip(3_000);
    expect((await world.run({}, KEY)).replayed).toBe(false);
    expect(world.platform.accounts).toHaveLength(1);
  });
});

it('Of two retries that come at once, one settles the operation and the other waits or is answered from it', async () => {
  world.settleMs = 60_000;
  world.platform.opening = { kind: 'reply_lost', failure: lost() };
  world.platform.finding = () => ({ kind: 'cannot_tell' });
  await world.refused({}, KEY);
  world.platform.finding = undefined;
  const outcomes = await Promise.allSettled([world.run({}, KEY), world.run({}, KEY)]);
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') expect(opened(outcome.value).login).toBe(5_001);
    else expect(outcome.reason).toMatchObject({ type: 'request_in_progress' });
  }
  expect(outcomes.map(({ status }) => status)).toContain('fulfilled');
  expect(world.platform.accounts).toHaveLength(1);
});
