import { describe, expect, it } from 'vitest';
import { DatabaseFailure } from '../../../lib/aws/dynamodb.ts';
import { type FakeAccounts, opened } from '../../support/account-fakes.ts';
import { beforeEachOpening, KEY, lost, unavailable } from '../../support/account-tests.ts';

let world: FakeAccounts;
beforeEachOpening((fresh) => {
  world = fresh;
});

describe('A database that fails', () => {
  it.each([
    ['claim', 1, false],
    ['claim, whose answer alone is lost', 1, true],
    ['mark before the sending', 2, false],
    ['mark before the sending, whose answer alone is lost', 2, true],
  ])('at the %s lets nothing be sent', async (_, at, late) => {
    world.operations.failing = { at, late };
    await expect(world.run({}, KEY)).rejects.toThrow(DatabaseFailure);
    expect(world.platform.calls).not.toContain('sent');
    // At once, or, where the claim may stand, when its lease is over.
    world.skip(late && at === 1 ? 31_000 : 0);
    expect(opened(await world.run({}, KEY)).login).toBe(5_001);
    expect(world.platform.accounts).toHaveLength(1);
  });

  it('at the reading of the records is an error of ours, and the key is free', async () => {
    world.directoryFails = new DatabaseFailure('ServiceUnavailable');
    await expect(world.run({}, KEY)).rejects.toThrow(DatabaseFailure);
    world.directoryFails = undefined;
    expect((await world.run({}, KEY)).replayed).toBe(false);
  });

  it.each([
    ['fails', false],
    ['loses its answer', true],
  ])(
    'at the account’s record, which %s, changes nothing in the answer; the replay writes the record',
    async (_, late) => {
      world.accounts.failing = { at: 1, late };
      const first = await world.run({ send_email: true }, KEY);
      expect(world.events).toContainEqual({
        name: 'AccountNotRecorded',
        fields: expect.objectContaining({ login: 5_001, reason: 'ServiceUnavailable' }),
      });
      expect(world.notices).toHaveLength(1);
      expect((await world.record(5_001)) === undefined).toBe(!late);

      expect((await world.run({ send_email: true }, KEY)).body).toEqual(first.body);
      expect(await world.record(5_001)).toMatchObject({ login: 5_001, user_id: world.userId });
      expect(world.notices).toHaveLength(1);
      // And then no more.
      const written = world.accounts.calls.length;
      await world.run({ send_email: true }, KEY);
      expect(world.accounts.calls).toHaveLength(written);
    },
  );

  it('at the account’s record loses nothing of when the account was opened', async () => {
    world.accounts.failing = { at: 1 };
    const before = world.now();
    await world.run({}, KEY);
    const after = world.now();
    world.skip(3 * 60 * 60 * 1_000);
    await world.run({}, KEY);
    const at = Date.parse(String((await world.record(5_001))?.opened_at));
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(after);
  });

  it('at the account’s record again in the replay is made up for by the next one', async () => {
    world.accounts.failing = { at: 1 };
    await world.run({}, KEY);
    world.accounts.failing = { at: 2 };
    await world.run({}, KEY);
    expect(await world.record(5_001)).toBeUndefined();
    await world.run({}, KEY);
    expect(await world.record(5_001)).toBeDefined();
  });

  it.each([
    ['fails', false],
    ['loses its answer', true],
  ])('at the operation’s end, which %s, changes nothing in the answer; a retry gives it again', async (_, late) => {
    world.operations.failing = { at: 3, late };
    const first = await world.run({}, KEY);
    expect(world.names()).toContain('OperationNotSettled');
    world.skip(31_000);
    const again = await world.run({}, KEY);
    expect(again).toEqual({ body: first.body, replayed: true });
    expect(world.platform.accounts).toHaveLength(1);
  });

  it.each([
    ['fails', false],
    ['loses its answer', true],
  ])(
    'at the release of a failed request, which %s, holds its key up for the time of a lease and no longer',
    async (_, late) => {
      world.platform.opening = { kind: 'fails', sent: true, failure: unavailable() };
      world.operations.failing = { at: 3, late };
      expect(await world.refused({}, KEY)).toMatchObject({ type: 'platform_unavailable' });
      world.platform.opening = { kind: 'opens' };
      world.skip(31_000);
      expect(opened(await world.run({}, KEY)).login).toBe(5_001);
      expect(world.platform.accounts).toHaveLength(1);
    },
  );

  it('at the giving up of an unknown outcome answers the same, and a retry settles it after the lease', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    world.operations.failing = { at: 3 };
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'account_outcome_unknown', status: 504 });
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'request_in_progress' });
    world.skip(31_000);
    world.platform.finding = undefined;
    expect(opened(await world.run({}, KEY)).login).toBe(5_001);
  });
});
