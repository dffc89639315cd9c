import { beforeEach, describe, expect, it } from 'vitest';
import { within } from '../../lib/deadline.ts';
import { PlatformFailure } from '../../lib/platform/platform.ts';
import { DEMO, FakeAccounts, FUNDED, GATEWAY, OWN_LOGINS, opened } from '../support/account-fakes.ts';
import { KEY } from '../support/account-tests.ts';
import { testDatabase } from '../support/database.ts';

let world: FakeAccounts;
beforeEach(async () => {
  // A database for each: a run takes up all that is due in it.
  world = new FakeAccounts(await testDatabase());
  world.settleMs = 60_000;
});

const NOTICES = { send_email: true, send_pop_up: true, language: 'fr' };
const DAY = 24 * 60 * 60_000;
const refusal = () => new PlatformFailure('platform_refused', { reason: 'retcode_8' });
const open = () => world.services.due.open(within(60_000));
const told = (name: string) => world.events.filter((event) => event.name === name);

describe('An account that the server opened, whose caller got no answer and never came back', () => {
  it('is found, recorded and told, and its client gets the notices that were asked for, once', async () => {
    await world.leaveUnanswered(true, NOTICES);
    world.skip(61_000);
    await world.settle();
    await world.settle();
    const [account] = world.platform.accounts;
    expect(await world.record(5_001)).toEqual({
      pk: world.userId,
      sk: 'tp5#tp5-live-1#5001',
      user_id: world.userId,
      version: 'tp5',
      connection_id: 'tp5-live-1',
      login: 5_001,
      group: 'real\\standard',
      leverage: 100,
      enable_readonly: false,
      enable_rebate: false,
      operation_id: account?.order.operationId,
      opened_at: expect.stringMatching(/^20.*Z$/),
    });
    expect(world.told).toEqual([expect.objectContaining({ id: account?.order.operationId, login: 5_001 })]);
    expect(world.notices.map(({ kind, language }) => [kind, language])).toEqual([
      ['email', 'fr'],
      ['popup', 'fr'],
    ]);
    expect(await open()).toEqual([]);
  });

  it('is answered to a caller who does come back, with the passwords that it has', async () => {
    await world.leaveUnanswered(true);
    world.skip(61_000);
    await world.settle();
    const { order } = world.platform.accounts[0] ?? {};
    expect(await world.run({}, KEY)).toEqual({
      body: { login: 5_001, master_password: order?.masterPassword, investor_password: order?.investorPassword },
      replayed: true,
    });
    expect(world.platform.accounts).toHaveLength(1);
    expect(world.notices).toEqual([]);
  });

  it('is found by its login where it has one of the range', async () => {
    world.records = { ...world.records, connection: OWN_LOGINS };
    await world.leaveUnanswered(true);
    world.skip(61_000);
    await world.settle();
    const { login = 0 } = world.platform.accounts[0] ?? {};
    expect(await world.record(login)).toMatchObject({ login });
    expect(await open()).toEqual([]);
  });

  it('is found on a server that shows no comment, by the login that was reserved', async () => {
    world.platform.tells = false;
    world.records = { ...world.records, connection: { ...GATEWAY, id: 'tp5-live-1', platform: 'tp5' } as never };
    await world.leaveUnanswered(true);
    world.skip(61_000);
    await world.settle();
    expect(world.platform.traces.at(-1)).toMatchObject({ reserved: true, masterPassword: expect.any(String) });
    expect(await world.record(world.platform.accounts[0]?.login ?? 0)).toBeDefined();
  });

  it('is asked for without a password where the master password was the caller’s own', async () => {
    await world.leaveUnanswered(true, { master_password: 'Ma5ter#word' });
    world.skip(61_000);
    await world.settle();
    expect(world.platform.traces.at(-1)).not.toHaveProperty('masterPassword');
    expect(await open()).toEqual([]);
  });

  it('gets its deposit, where the command that pays never left', async () => {
    world.records = { ...world.records, connection: DEMO, accountType: FUNDED };
    await world.leaveUnanswered(true, { account_type_id: 'ATDEMO01' });
    world.skip(61_000);
    await world.settle();
    await world.settle();
    expect(world.platform.paid).toEqual([5_001]);
    expect(await open()).toEqual([]);
  });
});

describe('An account that the server has not opened', () => {
  it('is waited for as long as it may yet be opened, and then released: a retry opens one', async () => {
    await world.leaveUnanswered(false);
    world.skip(30_000);
    await world.settle();
    expect(await open()).toHaveLength(1);
    world.skip(31_000);
    await world.settle();
    expect(await open()).toEqual([]);
    expect(opened(await world.run({}, KEY)).login).toBe(5_001);
    expect(world.platform.accounts).toHaveLength(1);
  });

  it('and may have a login of its own is not released for a day, for a late command may open it: a retry asks for the same', async () => {
    world.records = { ...world.records, connection: OWN_LOGINS };
    await world.leaveUnanswered(false);
    const [{ login } = expect.fail()] = world.platform.sent;
    for (let look = 0; look < 5; look += 1) {
      world.skip(61 * 60_000);
      await world.settle();
    }
    expect(await open()).toMatchObject([{ isAbsent: true, account: undefined }]);
    expect(opened(await world.run({}, KEY)).login).toBe(login);
    expect(await open()).toEqual([]);
  });

  it('is looked for again at growing intervals, found when it is opened late, and forgotten after a day', async () => {
    world.records = { ...world.records, connection: OWN_LOGINS };
    await world.leaveUnanswered(false);
    const looks = () => world.platform.calls.filter((call) => call === 'find').length;
    const before = looks();
    for (let minute = 0; minute < 60; minute += 1) {
      world.skip(60_000);
      await world.settle();
    }
    expect(looks() - before).toBeLessThan(12);
    const [order = expect.fail()] = world.platform.sent;
    world.platform.accounts.push({ login: order.login ?? 0, order });
    world.skip(61 * 60_000);
    await world.settle();
    expect(await world.record(order.login ?? 0)).toBeDefined();
    expect(await open()).toEqual([]);
  });

  it('is released after a day', async () => {
    world.records = { ...world.records, connection: OWN_LOGINS };
    await world.leaveUnanswered(false);
    world.skip(DAY + 62_000);
    await world.settle();
    expect(await open()).toEqual([]);
  });

  it('is released where another has the login that it was asked for with', async () => {
    await world.leaveUnanswered(false, { login: 77 });
    world.platform.strangers.add(77);
    const asked = world.platform.calls.length;
    await world.settle();
    expect(world.platform.calls).toHaveLength(asked);
    world.skip(61_000);
    await world.settle();
    expect(await open()).toEqual([]);
    expect(await world.refused({ login: 77 }, { key: 'another' })).toMatchObject({ type: 'login_taken' });
  });
});

describe('What cannot be told', () => {
  it('is told to the operators once, and stays on their list', async () => {
    await world.leaveUnanswered(true);
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    world.skip(61_000);
    for (let run = 0; run < 3; run += 1) {
      await world.settle();
      world.skip(DAY);
    }
    const [one = expect.fail()] = await open();
    expect(told('AccountOutcomeUnknown').map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ operation_id: one.details.operation_id, connection_id: 'tp5-live-1' }),
    ]);
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'account_outcome_unknown', status: 409 });
    // A caller who comes back changes nothing in that.
    world.events.length = 0;
    world.skip(61_000);
    await world.settle();
    expect(world.events).toEqual([]);
    expect(await open()).toHaveLength(1);
  });

  it('is also what the CRM does not know any more', async () => {
    await world.leaveUnanswered(true);
    world.records = { ...world.records, connection: undefined };
    world.skip(61_000);
    await world.settle();
    expect(told('AccountOutcomeUnknown')).toHaveLength(1);
  });

  it('is also what could not be asked for a day, from minute to minute and then from hour to hour', async () => {
    await world.leaveUnanswered(true);
    world.platform.finding = () => refusal();
    world.skip(61_000);
    await world.settle();
    expect(told('AccountOutcomeUnknown')).toEqual([]);
    expect(told('PlatformRefused')).toHaveLength(1);
    world.skip(DAY);
    await world.settle();
    expect(told('AccountOutcomeUnknown')).toHaveLength(1);
    expect(await open()).toHaveLength(1);
  });

  it('is on their list also where the account was absent before the server went away', async () => {
    world.records = { ...world.records, connection: OWN_LOGINS };
    await world.leaveUnanswered(false);
    world.skip(61_000);
    await world.settle();
    expect(await open()).toMatchObject([{ isAbsent: true }]);
    world.platform.finding = () => refusal();
    world.skip(DAY);
    await world.settle();
    expect(told('AccountOutcomeUnknown')).toHaveLength(1);
    expect(await open()).toMatchObject([{ isAbsent: false }]);
  });

  it('is answered from our own table where the record was written', async () => {
    world.operations.failing = { at: 3 };
    await world.run({}, KEY);
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    world.skip(200_000);
    await world.settle();
    expect(world.platform.calls).not.toContain('find');
    expect(await open()).toEqual([]);
  });
});

describe('A server that does not answer', () => {
  it('is asked no more in a run than by those who work side by side, however many wait for it', async () => {
    for (let number = 0; number < 12; number += 1) await world.leaveUnanswered(true, {}, `key-${number}`);
    world.platform.finding = () => new PlatformFailure('platform_unavailable', { reason: 'connect_timeout' });
    world.skip(61_000);
    const asked = world.platform.calls.length;
    await world.settle();
    expect(world.platform.calls.length - asked).toBeLessThanOrEqual(8);
    expect(await open()).toHaveLength(12);
    world.platform.finding = undefined;
    world.skip(600_000);
    await world.settle();
    expect(await open()).toEqual([]);
  });
});
