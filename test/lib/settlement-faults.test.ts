import { describe, expect, it } from 'vitest';
import { within } from '../../lib/deadline.ts';
import { PlatformFailure } from '../../lib/platform/platform.ts';
import { DEMO, FakeAccounts, FUNDED, opened } from '../support/account-fakes.ts';
import { testDatabase } from '../support/database.ts';

const ORDER = { account_type_id: 'ATDEMO01', send_email: true, send_pop_up: true };
const KEY = { key: 'key-1' };
const LOGIN = 5_001;

/** What a caller leaves behind who never comes back. */
const LEFT = {
  'an account that nobody has heard of': (world: FakeAccounts) => world.leaveUnanswered(true, ORDER),
  'an account without record, deposit and event': async (world: FakeAccounts) => {
    world.accounts.failing = { at: 1 };
    world.eventsFail = new Error('ThrottlingException');
    world.platform.depositsFail = [
      { failure: new PlatformFailure('platform_unavailable', { reason: 'connect_timeout' }), left: false },
    ];
    opened(await world.run(ORDER, KEY));
    world.accounts.failing = undefined;
    world.eventsFail = undefined;
  },
} as const;
type Left = keyof typeof LEFT;

async function leave(left: Left): Promise<FakeAccounts> {
  const world = new FakeAccounts(await testDatabase());
  world.settleMs = 60_000;
  world.records = { ...world.records, connection: DEMO, accountType: FUNDED };
  await LEFT[left](world);
  world.skip(61_000);
  world.operations.calls.length = 0;
  world.accounts.calls.length = 0;
  return world;
}

const TABLES = ['operations', 'accounts'] as const;
const HOW = ['is refused', 'is done without an answer', 'is the last thing that the process does'] as const;

/** How often each table is called where nothing fails. */
async function callsOf(left: Left): Promise<Record<(typeof TABLES)[number], number>> {
  const world = await leave(left);
  await world.settle();
  return { operations: world.operations.calls.length, accounts: world.accounts.calls.length };
}

/** One run in which one call to the database fails so. */
async function settleFailing(
  world: FakeAccounts,
  where: (typeof TABLES)[number],
  at: number,
  how: (typeof HOW)[number],
): Promise<void> {
  const died = Promise.withResolvers<void>();
  world[where].failing = {
    at,
    late: how === 'is done without an answer',
    ...(how === 'is the last thing that the process does' ? { dies: died.resolve } : {}),
  };
  // A run that cannot even read what is due fails.
  await Promise.race([world.settle().catch(() => {}), died.promise]);
  world[where].failing = undefined;
}

/** Nothing is missing, nothing was done twice. */
async function expectEnded(world: FakeAccounts): Promise<void> {
  expect(await world.record(LOGIN)).toMatchObject({ login: LOGIN, user_id: world.userId });
  expect(world.platform.accounts).toHaveLength(1);
  // The command that pays leaves once. Where its note had no answer, it has not left, and operators are told.
  const failed = world.events.some(({ name }) => name === 'DepositFailed');
  expect(world.platform.paid).toEqual(failed ? [] : [LOGIN]);
  expect(world.told.length).toBeGreaterThan(0);
  expect(new Set(world.told.map((event) => JSON.stringify(event))).size).toBe(1);
  const kinds = world.notices.map(({ kind }) => kind);
  expect(new Set(kinds).size).toBe(kinds.length);
  const open = await world.services.due.open(within(60_000));
  expect(open.map(({ account }) => account?.deposit)).toEqual(failed ? ['failed'] : []);
  expect(opened(await world.run(ORDER, KEY)).login).toBe(LOGIN);
}

describe.each(Object.keys(LEFT) as Left[])('Settling %s', (left) => {
  it.each(TABLES.flatMap((where) => HOW.map((how) => [where, how] as const)))(
    'ends well whichever of its calls to the %s %s',
    async (where, how) => {
      const calls = await callsOf(left);
      expect(calls[where]).toBeGreaterThan(0);
      for (let at = 1; at <= calls[where]; at += 1) {
        const world = await leave(left);
        await settleFailing(world, where, at, how);
        for (let run = 0; run < 4; run += 1) {
          world.skip(61_000);
          await world.settle();
        }
        await expectEnded(world);
      }
    },
  );

  const others = ['eventsFail', 'noticesFail', 'platformFails', 'directoryFails'] as const;
  it.each(others)('ends well when something else fails once: %s', async (switched) => {
    const world = await leave(left);
    world[switched] = new Error('refused');
    await world.settle();
    world[switched] = undefined;
    for (let run = 0; run < 3; run += 1) {
      world.skip(130_000);
      await world.settle();
    }
    await expectEnded(world);
  });
});
