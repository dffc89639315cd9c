import { beforeEach, describe, expect, it } from 'vitest';
import { within } from '../../lib/deadline.ts';
import { DEMO, FakeAccounts, FUNDED, opened } from '../support/account-fakes.ts';
import { KEY, lost, unavailable } from '../support/account-tests.ts';
import { testDatabase } from '../support/database.ts';

let world: FakeAccounts;
beforeEach(async () => {
  // A database for each: a run takes up all that is due in it.
  world = new FakeAccounts(await testDatabase());
  world.settleMs = 60_000;
});

const NOTICES = { send_email: true, send_pop_up: true, language: 'fr' };
const open = () => world.services.due.open(within(60_000));
const told = (name: string) => world.events.filter((event) => event.name === name);

describe('An account that is open, and something of it is missing', () => {
  it('gets its record', async () => {
    world.accounts.failing = { at: 1 };
    const { login } = opened(await world.run({}, KEY));
    expect(await world.record(login)).toBeUndefined();
    await world.settle();
    expect(await world.record(login)).toBeDefined();
    expect(world.told).toHaveLength(1);
    expect(await open()).toEqual([]);
  });

  it('is told to others, without a question to its server', async () => {
    world.eventsFail = new Error('ThrottlingException');
    const { login } = opened(await world.run({}, KEY));
    expect(world.told).toEqual([]);
    world.eventsFail = undefined;
    const calls = world.platform.calls.length;
    await world.settle();
    expect(world.told).toEqual([expect.objectContaining({ login })]);
    expect(world.platform.calls).toHaveLength(calls);
    expect(await open()).toEqual([]);
  });

  it('whose deposit left and did not arrive is told once, and stays on the operators’ list', async () => {
    world.records = { ...world.records, connection: DEMO, accountType: FUNDED };
    world.platform.depositsFail = [{ failure: lost(), left: true }];
    await world.run({ account_type_id: 'ATDEMO01' }, KEY);
    await world.settle();
    expect(told('DepositFailed')).toEqual([]);
    world.skip(61_000);
    await world.settle();
    await world.settle();
    expect(told('DepositFailed')).toHaveLength(1);
    expect(world.platform.deposits).toHaveLength(1);
    expect(await open()).toMatchObject([{ account: { deposit: 'failed' } }]);
  });

  it('whose connection is gone keeps no deposit waiting for ever', async () => {
    world.records = { ...world.records, connection: DEMO, accountType: FUNDED };
    world.platform.depositsFail = [{ failure: unavailable(), left: false }];
    const { body } = await world.run({ account_type_id: 'ATDEMO01' }, KEY);
    world.records = { ...world.records, connection: undefined };
    await world.settle();
    expect(told('DepositFailed')).toMatchObject([{ fields: { reason: 'connection_gone', login: body?.login } }]);
    expect(await open()).toMatchObject([{ account: { deposit: 'failed' } }]);
  });
});

describe('A run', () => {
  it('takes up nothing where nothing is open, in one question for each shard', async () => {
    await world.run({}, KEY);
    world.operations.calls.length = 0;
    await world.settle();
    expect(world.operations.calls).toEqual(Array(4).fill('queryIndex'));
  });

  it('begins nothing that it may not end', async () => {
    await world.leaveUnanswered(true);
    world.skip(61_000);
    await world.settle(9_000);
    expect(await world.record(5_001)).toBeUndefined();
  });

  it('and another, and a retry, never work on the same operation at once', async () => {
    await world.leaveUnanswered(true, NOTICES);
    world.skip(61_000);
    const asked = world.platform.calls.length;
    const retry = world.run(NOTICES, KEY).catch(({ type }: { type: string }) => type);
    await Promise.all([world.settle(), world.settle(), retry]);
    expect(world.platform.calls.length - asked).toBe(1);
    expect(world.told).toHaveLength(1);
    expect(world.notices).toHaveLength(2);
    const answer = await retry;
    if (typeof answer === 'string') expect(answer).toBe('request_in_progress');
    else expect(opened(answer).login).toBe(5_001);
  });
});
