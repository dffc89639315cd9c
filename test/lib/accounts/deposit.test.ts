import { beforeEach, describe, expect, it } from 'vitest';
import { DatabaseFailure } from '../../../lib/aws/dynamodb.ts';
import { PlatformFailure } from '../../../lib/platform/platform.ts';
import { DEMO, FakeAccounts, FUNDED, LIVE, opened } from '../../support/account-fakes.ts';
import { beforeEachOpening, KEY, lost, unavailable } from '../../support/account-tests.ts';
import type { TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let world: FakeAccounts;
beforeEachOpening((fresh, its) => {
  world = fresh;
  database = its;
});

describe('The deposit of a demo account', () => {
  beforeEach(() => {
    world.records = { ...world.records, connection: DEMO, accountType: FUNDED };
  });
  const demo = { account_type_id: 'ATDEMO01' };

  const reasons = () => world.events.filter(({ name }) => name === 'DepositFailed').map(({ fields }) => fields.reason);

  it('is paid once, whatever comes later', async () => {
    const { login } = opened(await world.run(demo, KEY));
    await world.run(demo, KEY);
    expect(world.platform.accounts[0]?.order.deposit).toBe(10_000);
    expect(world.platform.paid).toEqual([login]);
    expect(world.platform.deposits).toEqual([login]);
  });

  it('is paid on an account that had to be looked up, too', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    await world.run(demo);
    expect(world.platform.paid).toEqual([5_001]);
  });

  it('is paid by the retry that finds the account, with what it was first asked for', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    await world.refused(demo, KEY);
    world.platform.finding = undefined;
    world.records = { ...world.records, accountType: { ...FUNDED, deposit: 7 } };
    const { fund } = world.platform;
    const asked: unknown[] = [];
    world.platform.fund = (order, ...more) => {
      asked.push(order.deposit);
      return fund.call(world.platform, order, ...more);
    };
    await world.run(demo, KEY);
    expect(asked).toEqual([10_000]);
    expect(world.platform.paid).toEqual([5_001]);
  });

  it('whose answer is lost is looked at: it is there, and nobody notices', async () => {
    world.platform.depositsFail = [{ failure: lost(), left: true, arrives: true }];
    const { login } = opened(await world.run(demo, KEY));
    expect(world.platform.calls.slice(-2)).toEqual(['fund', 'balance']);
    expect(world.platform.paid).toEqual([login]);
    expect(reasons()).toEqual([]);
    // And that was all.
    const calls = world.platform.calls.length;
    await world.run(demo, KEY);
    expect(world.platform.calls).toHaveLength(calls);
  });

  it('that stays away is told once, and never paid again', async () => {
    world.platform.depositsFail = [{ failure: lost(), left: true }];
    const first = await world.run(demo, KEY);
    expect(await world.record(opened(first).login)).toBeDefined();
    expect(reasons()).toEqual(['EmptyAccount']);
    for (let replay = 0; replay < 3; replay += 1) {
      world.skip(60_000);
      expect(await world.run(demo, KEY)).toEqual({ body: first.body, replayed: true });
    }
    expect(world.platform.deposits).toHaveLength(1);
    expect(reasons()).toEqual(['EmptyAccount']);
  });

  it('that may yet arrive is looked for by the next request once it is settled, and told by it', async () => {
    world.settleMs = 60_000;
    world.platform.depositsFail = [{ failure: lost(), left: true }];
    const began = Date.now();
    const first = await world.run(demo, KEY);
    // It does not wait for what cannot become certain in time.
    expect(Date.now() - began).toBeLessThan(15_000);
    expect(reasons()).toEqual([]);
    world.skip(61_000);
    expect((await world.run(demo, KEY)).body).toEqual(first.body);
    expect(reasons()).toEqual(['EmptyAccount']);
    expect(world.platform.paid).toEqual([]);
  });

  it('that arrives late is found by the next request, and nothing is told', async () => {
    world.settleMs = 60_000;
    world.platform.depositsFail = [{ failure: lost(), left: true }];
    const { login } = opened(await world.run(demo, KEY));
    world.platform.paid.push(login);
    await world.run(demo, KEY);
    expect(world.platform.deposits).toEqual([login]);
    expect(reasons()).toEqual([]);
  });

  it('that the server refuses is told at once', async () => {
    world.platform.depositsFail = [
      { failure: new PlatformFailure('platform_refused', { reason: 'retcode_8' }), left: true },
    ];
    await world.run(demo, KEY);
    await world.run(demo, KEY);
    expect(world.platform.deposits).toHaveLength(1);
    expect(reasons()).toEqual(['retcode_8']);
  });

  it('that never left is paid by the next request', async () => {
    world.platform.depositsFail = [{ failure: unavailable(), left: false }];
    const first = await world.run(demo, KEY);
    expect(world.platform.paid).toEqual([]);
    expect(world.names()).toContain('OperationNotSettled');
    expect(await world.run(demo, KEY)).toEqual({ body: first.body, replayed: true });
    expect(world.platform.paid).toEqual([opened(first).login]);
    expect(reasons()).toEqual([]);
  });

  it('is paid once by many retries that come at once', async () => {
    world.platform.depositsFail = [{ failure: unavailable(), left: false }];
    const first = await world.run(demo, KEY);
    const retries = await Promise.all(Array.from({ length: 8 }, () => world.run(demo, KEY)));
    for (const { body } of retries) expect(body).toEqual(first.body);
    expect(world.platform.paid).toHaveLength(1);
  });

  it('is paid by nobody after one that died when it may have paid it', async () => {
    world.settleMs = 20_000;
    const victim = new FakeAccounts(database);
    Object.assign(victim, { userId: world.userId, settleMs: world.settleMs, records: world.records });
    await new Promise<void>((resolve) => {
      victim.platform.fund = async (_order, _login, departure) => {
        await departure.note();
        resolve();
        return new Promise<never>(() => {});
      };
      victim.run(demo, KEY).catch(() => {});
    });
    world.platform.accounts.push(...victim.platform.accounts);
    world.skip(31_000);
    expect(opened(await world.run(demo, KEY)).login).toBe(5_001);
    expect(reasons()).toEqual([]);
    // Twenty seconds for its calls, and twice the quiet time, because its system may go on sending what it left behind.
    world.skip(30_000);
    await world.run(demo, KEY);
    expect(world.platform.deposits).toEqual([]);
    expect(reasons()).toEqual(['EmptyAccount']);
  });

  it.each([
    ['fails', false],
    ['loses its answer', true],
  ])('is not sent when the note before it %s, and is not given up for that', async (_, late) => {
    world.operations.failing = { at: 3, late };
    const { login } = opened(await world.run(demo, KEY));
    expect(world.platform.paid).toEqual([]);
    world.skip(60_000);
    await world.run(demo, KEY);
    // What may have left is not sent again: it is told.
    expect(world.platform.paid).toEqual(late ? [] : [login]);
    expect(reasons()).toEqual(late ? ['EmptyAccount'] : []);
  });

  it('waits for a later request while the records of the CRM cannot be read', async () => {
    world.platform.depositsFail = [{ failure: unavailable(), left: false }];
    const first = await world.run(demo, KEY);
    world.directoryFails = new DatabaseFailure('ServiceUnavailable');
    expect((await world.run(demo, KEY)).body).toEqual(first.body);
    expect(world.platform.deposits).toHaveLength(1);
    world.directoryFails = undefined;
    await world.run(demo, KEY);
    expect(world.platform.paid).toHaveLength(1);
  });

  it('and the record, when neither could be made, are both made up for', async () => {
    world.platform.depositsFail = [{ failure: unavailable(), left: false }];
    world.accounts.failing = { at: 1 };
    const { login } = opened(await world.run(demo, KEY));
    await world.run(demo, KEY);
    expect(world.platform.paid).toEqual([login]);
    expect(await world.record(login)).toBeDefined();
    const calls = [world.accounts.calls.length, world.platform.calls.length];
    await world.run(demo, KEY);
    expect([world.accounts.calls.length, world.platform.calls.length]).toEqual(calls);
  });

  it('that this protocol cannot look at is told when its answer is lost', async () => {
    world.settleMs = 60_000;
    world.platform.depositsFail = [{ failure: lost(), left: true }];
    world.platform.holdsFunds = async () => undefined;
    await world.run(demo, KEY);
    expect(reasons()).toEqual(['EmptyAccount']);
  });

  it.each([
    ['a live connection', LIVE, FUNDED],
    ['a type without a deposit', DEMO, { id: 'ATDEMO01', platform: 'tp5' as const }],
    ['a deposit of nothing', DEMO, { ...FUNDED, deposit: 0 }],
  ])('is not made with %s', async (_, connection, accountType) => {
    world.records = { ...world.records, connection, accountType };
    await world.run(demo);
    expect(world.platform.deposits).toEqual([]);
    expect(world.platform.accounts[0]?.order.deposit).toBeUndefined();
  });
});
