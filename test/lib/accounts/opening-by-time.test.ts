import { describe, expect, it } from 'vitest';
import { PlatformFailure } from '../../../lib/platform/platform.ts';
import { type FakeAccounts, opened } from '../../support/account-fakes.ts';
import { beforeEachOpening, KEY, lost, unavailable } from '../../support/account-tests.ts';

let world: FakeAccounts;
beforeEachOpening((fresh) => {
  world = fresh;
});

describe('A lost answer', () => {
  it('is looked up: the account is found, and nobody notices', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    const answer = await world.run({}, KEY);
    expect(opened(answer).login).toBe(5_001);
    expect(await world.record(5_001)).toBeDefined();
    expect(world.platform.calls).toEqual(['open', 'sent', 'find']);
    const { operationId, masterPassword, group } = world.platform.accounts[0]?.order ?? {};
    expect(world.platform.traces[0]).toMatchObject({ operationId, masterPassword, group });
  });

  it('is looked up until the account is there', async () => {
    world.settleMs = 500;
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    let asked = 0;
    world.platform.finding = () => {
      asked += 1;
      return asked < 2 ? { kind: 'absent' } : { kind: 'found', login: 5_001 };
    };
    expect(opened(await world.run()).login).toBe(5_001);
    expect(asked).toBe(2);
  });

  it('is not believed absent on a look-up that began before its absence was certain, however late that ends', async () => {
    world.settleMs = 5_000;
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    let asked = 0;
    world.platform.finding = () => {
      asked += 1;
      if (asked > 1) return { kind: 'found', login: 5_001 };
      world.skip(6_000);
      return { kind: 'absent' };
    };
    expect(opened(await world.run()).login).toBe(5_001);
  });

  it('counts as none, safe to retry, once its absence is certain, and not before', async () => {
    world.platform.opening = { kind: 'fails', sent: true, failure: lost() };
    const began = Date.now();
    const problem = await world.refused({}, KEY);
    expect(problem).toMatchObject({ type: 'platform_unavailable', status: 503 });
    expect(problem.options.retryAfterSeconds).toBe(1);
    expect(Date.now() - began).toBeGreaterThanOrEqual(world.settleMs);
    world.platform.opening = { kind: 'opens' };
    expect((await world.run({}, KEY)).replayed).toBe(false);
    expect(world.platform.accounts).toHaveLength(1);
  });

  it('whose absence cannot become certain in time is account_outcome_unknown, with the operation and when to come back', async () => {
    world.settleMs = 60_000;
    world.platform.opening = { kind: 'fails', sent: true, failure: lost() };
    const began = Date.now();
    const problem = await world.refused({}, KEY);
    expect(problem).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
    expect(problem.options.members).toEqual({ operation_id: world.platform.traces[0]?.operationId });
    expect(problem.options.retryAfterSeconds).toBeGreaterThan(50);
    expect(problem.options.retryAfterSeconds).toBeLessThanOrEqual(60);
    // It was looked for a little while.
    expect(Date.now() - began).toBeLessThan(15_000);
    expect(world.names()).toContain('AccountOutcomeUnknown');
  });

  it('that cannot be looked up is account_outcome_unknown: 504 at first, 409 for every retry, never a second account', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    const first = await world.refused({}, KEY);
    expect(first).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
    // A retry would know no more.
    expect(first.options.retryAfterSeconds).toBeUndefined();
    world.platform.opening = { kind: 'opens' };
    for (let retry = 0; retry < 3; retry += 1) {
      const problem = await world.refused({}, KEY);
      expect(problem).toMatchObject({ type: 'account_outcome_unknown', status: 409 });
      expect(problem.options.members?.operation_id).toBe(world.platform.traces[0]?.operationId);
      expect(problem.options.retryAfterSeconds).toBeUndefined();
      world.skip(60_000);
    }
    expect(world.platform.accounts).toHaveLength(1);
  });

  it('counts as one that cannot be looked up where the platform refuses to be asked', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    world.platform.finding = () => new PlatformFailure('platform_refused', { reason: 'forbidden' });
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'account_outcome_unknown', status: 409 });
    // Until the operator has given the rights back.
    world.platform.finding = undefined;
    expect(opened(await world.run({}, KEY)).login).toBe(5_001);
  });

  it('is not given up while the platform cannot be reached and there is time', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    let asked = 0;
    world.platform.finding = () => {
      asked += 1;
      return asked < 2 ? unavailable() : { kind: 'found', login: 5_001 };
    };
    expect(opened(await world.run()).login).toBe(5_001);
  });

  it('is account_outcome_unknown when the platform stays away, though its settling time is over', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    world.platform.finding = () => unavailable();
    const problem = await world.refused({}, { ...KEY, ms: 1_500 });
    expect(problem).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
    expect(problem.options.retryAfterSeconds).toBe(1);
    world.platform.finding = undefined;
    expect(opened(await world.run({}, KEY)).login).toBe(5_001);
  });

  it('is looked for with an error that nobody foresaw, too', async () => {
    world.platform.opening = { kind: 'fails', sent: true, failure: new TypeError('a bug') };
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'platform_unavailable' });
    expect(world.platform.calls).toContain('find');
  });

  it.each(['cannot_tell', 'absent'] as const)(
    'without a key is settled in the same way; where that is %s, the caller is told not to repeat, and by no header to',
    async (kind) => {
      world.settleMs = 60_000;
      world.platform.opening = { kind: 'reply_lost', failure: lost() };
      world.platform.finding = () => ({ kind });
      const problem = await world.refused();
      expect(problem).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
      expect(problem.options.members?.operation_id).toMatch(/^[0-9a-f-]{36}$/);
      expect(problem.options.detail).toContain('Do not repeat this request');
      expect(problem.options.retryAfterSeconds).toBeUndefined();
    },
  );

  it('with a key holds nothing against repeating', async () => {
    world.settleMs = 60_000;
    world.platform.opening = { kind: 'fails', sent: true, failure: lost() };
    expect((await world.refused({}, KEY)).options.detail).toBeUndefined();
  });
});
