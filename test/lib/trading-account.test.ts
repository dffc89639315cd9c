import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DatabaseFailure } from '../../lib/aws/dynamodb.ts';
import { SecretFailure } from '../../lib/aws/secrets.ts';
import { within } from '../../lib/http/deadline.ts';
import { PROBLEMS, Problem, type ProblemType } from '../../lib/http/problem.ts';
import { DeliveryFailure } from '../../lib/messages/message.ts';
import { PlatformFailure, type PlatformFailureKind } from '../../lib/platform/platform.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import { ANN, BODY, DEMO, FakeAccounts, FUNDED, LIVE, opened } from '../support/account-fakes.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';

let database: TestDatabase;
let world: FakeAccounts;
beforeAll(async () => {
  database = await testDatabase(afterAll);
});
beforeEach(() => {
  world = new FakeAccounts(database);
});

const KEY = { key: 'key-1' };
const GIVEN = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };
const lost = () => new PlatformFailure('account_outcome_unknown', { reason: 'answer_timeout' });
const unavailable = () => new PlatformFailure('platform_unavailable', { reason: 'connect_timeout' });

describe('An account', () => {
  it('is opened with everything that was asked for, and what the client’s record says', async () => {
    world.records = { ...world.records, accountType: { id: 'ATLIVE01', platform: 'tp5' }, rebateUser: ANN };
    const answer = await world.run({ ...GIVEN, login: 700_123, enable_readonly: true, account_type_id: 'ATLIVE01' });
    expect(answer).toEqual({ body: { login: 700_123, ...GIVEN }, replayed: false });
    expect(world.platform.accounts[0]?.order).toEqual({
      operationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      group: 'real\\standard',
      leverage: 100,
      login: 700_123,
      masterPassword: GIVEN.master_password,
      investorPassword: GIVEN.investor_password,
      name: 'Ann Lee',
      email: 'ann@example.com',
      phone: '+447400123456',
      country: 'GB',
      readonly: true,
    });
  });

  it('is recorded with all that the contract names', async () => {
    world.records = { ...world.records, accountType: { id: 'ATLIVE01', platform: 'tp5' }, rebateUser: ANN };
    const { login } = opened(
      await world.run({ account_type_id: 'ATLIVE01', rebate_user_id: 'CLIENT02', enable_rebate: true }),
    );
    expect(await world.record(login)).toEqual({
      pk: world.userId,
      sk: `tp5#tp5-live-1#${login}`,
      user_id: world.userId,
      version: 'tp5',
      connection_id: 'tp5-live-1',
      login,
      group: 'real\\standard',
      leverage: 100,
      account_type_id: 'ATLIVE01',
      enable_readonly: false,
      enable_rebate: true,
      rebate_user_id: 'CLIENT02',
      operation_id: world.platform.accounts[0]?.order.operationId,
      opened_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
  });

  it('gets generated passwords where none are given, others for every account', async () => {
    const one = opened(await world.run({}, KEY));
    const other = opened(await world.run({}, { key: 'key-2' }));
    const passwords = [one, other].flatMap(({ master_password, investor_password }) => [
      master_password,
      investor_password,
    ]);
    expect(new Set(passwords).size).toBe(4);
    for (const password of passwords) expect(password).toMatch(/^[\x21-\x7e]{12}$/);
    expect(world.platform.accounts[0]?.order).toMatchObject({
      masterPassword: one.master_password,
      investorPassword: one.investor_password,
    });
  });

  it('may have one password given and the other generated', async () => {
    const { master_password, investor_password } = opened(await world.run({ master_password: 'Ma5ter#word' }));
    expect(master_password).toBe('Ma5ter#word');
    expect(investor_password).toMatch(/^[\x21-\x7e]{12}$/);
  });

  it('is announced in the log with its login and operation', async () => {
    const { login } = opened(await world.run());
    expect(world.events).toEqual([
      {
        name: 'AccountOpened',
        fields: expect.objectContaining({ login, version: 'tp5', user_id: world.userId, connection_id: 'tp5-live-1' }),
      },
    ]);
  });
});

describe('What a request names', () => {
  const nothing = { client: undefined, connection: undefined, accountType: undefined, rebateUser: undefined };
  const everything = { account_type_id: 'ATDEMO01', rebate_user_id: 'CLIENT02', group: 'other' };
  const tp4: Connection = {
    ...{ id: 'tp4-gw-1', host: 'mt4gw.example.com', port: 443, demo: false, secret: 'platform/tp4-gw-1' },
    ...{ platform: 'tp4', protocol: 'interface-gateway', code_page: 'windows-1252' },
  };

  it.each<[string, Partial<FakeAccounts['records']>, ProblemType, number]>([
    ['user', nothing, 'user_not_found', 404],
    ['connection', { ...nothing, client: ANN }, 'tp5_connection_not_found', 400],
    ['connection’s version', { ...nothing, client: ANN, connection: tp4 }, 'tp5_connection_not_found', 400],
    ['account type', { ...nothing, client: ANN, connection: LIVE }, 'account_type_not_found', 400],
    [
      'account type’s version',
      { ...nothing, client: ANN, connection: LIVE, accountType: { ...FUNDED, platform: 'tp4' as const } },
      'account_type_not_found',
      400,
    ],
    ['rebate user', { ...nothing, client: ANN, connection: LIVE, accountType: FUNDED }, 'rebate_user_not_found', 400],
    ['group', { client: ANN, connection: LIVE, accountType: FUNDED, rebateUser: ANN }, 'group_not_found', 400],
  ])('is looked for in the contract’s order: the %s', async (_, records, type, status) => {
    world.records = { ...nothing, ...records };
    expect(await world.refused(everything, KEY)).toMatchObject({ type, status });
    expect(world.platform.calls).toEqual([]);
    // Nothing happened, so the key is free for a request that is right.
    world.records = { client: ANN, connection: LIVE, accountType: FUNDED, rebateUser: ANN };
    expect((await world.run({}, KEY)).replayed).toBe(false);
  });

  it('is literally tp4_connection_not_found on the other version', async () => {
    expect(await world.refused({}, { version: 'tp4' })).toMatchObject({ type: 'tp4_connection_not_found' });
  });

  it('must have an account type on a demo connection', async () => {
    world.records = { ...world.records, connection: DEMO };
    expect(await world.refused()).toMatchObject({ type: 'account_type_required' });
  });

  it('but the connection cannot do is refused, field by field, before anything is sent', async () => {
    world.platform.faults = [{ pointer: '#/login', rule: 'not_supported', detail: 'cannot be chosen' }];
    const problem = await world.refused({ login: 7 }, KEY);
    expect(problem).toMatchObject({ type: 'not_supported_by_connection', status: 400 });
    expect(problem.options.errors).toEqual(world.platform.faults);
    expect(world.platform.calls).toEqual([]);
    world.platform.faults = [];
    await world.run({}, KEY);
  });
});

describe('A platform that certainly opened nothing', () => {
  const KINDS = {
    group_not_found: 400,
    password_rejected: 400,
    login_taken: 409,
    validation_failed: 400,
    platform_refused: 502,
    platform_unavailable: 503,
    login_range_exhausted: 503,
    account_limit_reached: 503,
  } as const satisfies Partial<Record<PlatformFailureKind, number>>;

  it.each(Object.entries(KINDS))('is answered with %s (%i), and the key is free', async (kind, status) => {
    const errors =
      kind === 'validation_failed' ? [{ pointer: '#/login', rule: 'reserved' as const, detail: 'is' }] : undefined;
    const failure = new PlatformFailure(kind as PlatformFailureKind, {
      reason: 'retcode_8',
      ...(errors === undefined ? {} : { errors }),
    });
    for (const sent of [false, true]) {
      world.platform.opening = { kind: 'fails', sent, failure };
      const problem = await world.refused({}, KEY);
      expect(problem).toMatchObject({ type: kind, status });
      expect(problem.options.errors).toEqual(errors);
      expect(problem.options.retryAfterSeconds).toBe(kind === 'platform_unavailable' ? 5 : undefined);
    }
    world.platform.opening = { kind: 'opens' };
    // With another body, even.
    expect((await world.run({ leverage: 50 }, KEY)).replayed).toBe(false);
    expect(world.platform.accounts).toHaveLength(1);
    expect(world.platform.calls).not.toContain('find');
  });

  it('passes on how long to wait', async () => {
    const failure = new PlatformFailure('platform_unavailable', { reason: 'blocked', retryAfterSeconds: 20 });
    world.platform.opening = { kind: 'fails', sent: true, failure };
    expect((await world.refused()).options.retryAfterSeconds).toBe(20);
  });

  it.each([
    ['PlatformRefused', 'platform_refused'],
    ['PlatformUnavailable', 'platform_unavailable'],
  ] as const)('is counted as %s with its reason', async (event, kind) => {
    const failure = new PlatformFailure(kind, { reason: 'retcode_1012' });
    world.platform.opening = { kind: 'fails', sent: true, failure };
    await world.refused();
    expect(world.events).toEqual([{ name: event, fields: expect.objectContaining({ reason: 'retcode_1012' }) }]);
  });

  it('because its secret cannot be read is platform_unavailable, and the key is free', async () => {
    world.platformFails = new PlatformFailure('platform_unavailable', { reason: 'secret_unreadable' });
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'platform_unavailable' });
    world.platformFails = undefined;
    await world.run({}, KEY);
  });
});

describe('A request with an Idempotency-Key', () => {
  it('is answered again from what is kept: same login, same passwords, no call to the platform', async () => {
    const first = await world.run({ send_email: true, send_pop_up: true }, KEY);
    const calls = [...world.platform.calls];
    const again = await world.run({ send_email: true, send_pop_up: true }, KEY);
    expect(again).toEqual({ body: first.body, replayed: true });
    expect(world.platform.calls).toEqual(calls);
    expect(world.notices).toHaveLength(2);
  });

  it('is answered again though its records are gone and the platform is away', async () => {
    const first = await world.run({}, KEY);
    world.directoryFails = new DatabaseFailure('ServiceUnavailable');
    world.platformFails = unavailable();
    expect((await world.run({}, KEY)).body).toEqual(first.body);
  });

  it('is answered again with the given passwords, which stand in its own body', async () => {
    await world.run(GIVEN, KEY);
    expect((await world.run(GIVEN, KEY)).body).toMatchObject(GIVEN);
    expect(await world.refused({ ...GIVEN, master_password: 'An0ther#one' }, KEY)).toMatchObject({
      type: 'idempotency_key_reused',
      status: 422,
    });
  });

  it('is another one for another user, caller or version', async () => {
    const { login } = opened(await world.run({}, KEY));
    world.records = { ...world.records, connection: LIVE };
    const others = [
      await world.run({}, { ...KEY, userId: 'CLIENT02' }),
      await world.run({}, { ...KEY, caller: 'iam:other' }),
    ];
    for (const other of others) expect(opened(other).login).not.toBe(login);
  });

  it('that is being worked on answers request_in_progress to a second one', async () => {
    let second: Problem | undefined;
    world.platform.beforeMarking = async () => {
      second ??= await world.refused({}, KEY);
    };
    await world.run({}, KEY);
    expect(second).toMatchObject({ type: 'request_in_progress', status: 409 });
    expect(second?.options.retryAfterSeconds).toBeGreaterThan(0);
    expect(world.platform.accounts).toHaveLength(1);
  });

  it('whose lease was taken over right before sending sends nothing', async () => {
    const rival = new FakeAccounts(database);
    Object.assign(rival, { userId: world.userId });
    world.platform.beforeMarking = async () => {
      rival.skip(31_000);
      await rival.run({}, KEY);
    };
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'request_in_progress' });
    expect(world.platform.calls).toEqual(['open']);
    expect(world.platform.accounts).toHaveLength(0);
    expect(rival.platform.accounts).toHaveLength(1);
    // And what the rival did is not undone.
    expect((await world.run({}, KEY)).replayed).toBe(true);
  });
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
    expect(Date.now() - began).toBeLessThan(4_000);
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

  it('answers 409 and leaves it undecided when the connection has since lost what it could do', async () => {
    await leaveUndecided(true);
    world.platform.faults = [{ pointer: '#/login', rule: 'not_supported', detail: 'cannot be chosen' }];
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'account_outcome_unknown', status: 409 });
    world.platform.faults = [];
    expect(opened(await world.run({}, KEY)).login).toBe(5_001);
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

describe('The deposit of a demo account', () => {
  beforeEach(() => {
    world.records = { ...world.records, connection: DEMO, accountType: FUNDED };
  });
  const demo = { account_type_id: 'ATDEMO01' };

  it('is made once, on an account that is known to be empty', async () => {
    const { login } = opened(await world.run(demo, KEY));
    await world.run(demo, KEY);
    expect(world.platform.accounts[0]?.order.deposit).toBe(10_000);
    expect(world.platform.deposits).toEqual([login]);
  });

  it('is made on an account that had to be looked up, too', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    await world.run(demo);
    expect(world.platform.deposits).toEqual([5_001]);
  });

  it('is made by a retry only on an account that holds nothing', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    await world.refused(demo, KEY);
    world.platform.finding = undefined;
    world.platform.paid.push(5_001);
    await world.run(demo, KEY);
    expect(world.platform.deposits).toEqual([]);
  });

  const reasons = () => world.events.filter(({ name }) => name === 'DepositFailed').map(({ fields }) => fields.reason);

  it('that fails changes nothing in the answer and is counted', async () => {
    world.settleMs = 60_000;
    world.platform.depositsFail = [lost()];
    const began = Date.now();
    const { login } = opened(await world.run(demo));
    // It does not wait for what cannot become certain in time.
    expect(Date.now() - began).toBeLessThan(4_000);
    expect(await world.record(login)).toBeDefined();
    expect(world.events).toContainEqual({
      name: 'DepositFailed',
      fields: expect.objectContaining({ reason: 'answer_timeout', login }),
    });
  });

  it('that was certainly not made is made up for by a replay, and then no more', async () => {
    world.settleMs = 60_000;
    world.platform.depositsFail = [unavailable(), unavailable()];
    const first = await world.run(demo, KEY);
    for (let replay = 0; replay < 3; replay += 1) {
      expect(await world.run(demo, KEY)).toEqual({ body: first.body, replayed: true });
    }
    expect(world.platform.deposits).toHaveLength(3);
    expect(world.platform.paid).toEqual([opened(first).login]);
    expect(reasons()).toEqual(['connect_timeout', 'connect_timeout']);
  });

  it('that was lost is paid again in the same request once it certainly did not arrive', async () => {
    world.settleMs = 1_200;
    world.platform.depositsFail = [lost()];
    const began = Date.now();
    const { login } = opened(await world.run(demo));
    expect(Date.now() - began).toBeGreaterThanOrEqual(1_200);
    expect(world.platform.deposits).toHaveLength(2);
    expect(world.platform.paid).toEqual([login]);
    expect(reasons()).toEqual([]);
  });

  it('that was lost twice is left to a replay', async () => {
    world.platform.depositsFail = [lost(), lost()];
    const { login } = opened(await world.run(demo, KEY));
    expect(world.platform.paid).toEqual([]);
    world.skip(world.settleMs);
    await world.run(demo, KEY);
    expect(world.platform.paid).toEqual([login]);
  });

  it('that may yet arrive is paid again by no request and no replay before that is settled', async () => {
    world.settleMs = 60_000;
    world.platform.depositsFail = [lost()];
    const first = await world.run(demo, KEY);
    expect(world.platform.deposits).toHaveLength(1);
    world.skip(58_000);
    expect((await world.run(demo, KEY)).body).toEqual(first.body);
    expect(world.platform.paid).toEqual([]);
    expect(reasons()).toEqual(['answer_timeout', 'DepositUnsettled']);
    world.skip(2_000);
    await world.run(demo, KEY);
    expect(world.platform.paid).toEqual([opened(first).login]);
  });

  it('is paid once by many replays that come at once', async () => {
    world.platform.depositsFail = [unavailable()];
    const first = await world.run(demo, KEY);
    // None of them sees what another one has paid.
    world.platform.holdsFunds = async () => false;
    const replays = await Promise.all(Array.from({ length: 8 }, () => world.run(demo, KEY)));
    for (const { body } of replays) expect(body).toEqual(first.body);
    expect(world.platform.paid).toHaveLength(1);
  });

  it('is paid by nobody while one that died may have paid it', async () => {
    world.settleMs = 60_000;
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
    world.skip(30_500);
    expect(opened(await world.run(demo, KEY)).login).toBe(5_001);
    expect(world.platform.paid).toEqual([]);
    expect(reasons()).toEqual(['DepositUnsettled']);
    // Its system may go on sending what it left behind.
    world.skip(50_000);
    await world.run(demo, KEY);
    expect(world.platform.paid).toEqual([]);
    world.skip(60_000);
    await world.run(demo, KEY);
    expect(world.platform.paid).toEqual([5_001]);
  });

  it('is not sent when that cannot be noted before, and a replay makes up for it', async () => {
    world.operations.failing = { at: 3 };
    const { login } = opened(await world.run(demo, KEY));
    expect(world.platform.paid).toEqual([]);
    expect(reasons()).toEqual(['ServiceUnavailable']);
    await world.run(demo, KEY);
    expect(world.platform.paid).toEqual([login]);
  });

  it('waits for a later replay while the records of the CRM cannot be read', async () => {
    world.platform.depositsFail = [unavailable()];
    const first = await world.run(demo, KEY);
    world.directoryFails = new DatabaseFailure('ServiceUnavailable');
    expect((await world.run(demo, KEY)).body).toEqual(first.body);
    expect(reasons()).toEqual(['connect_timeout', 'ServiceUnavailable']);
    world.directoryFails = undefined;
    await world.run(demo, KEY);
    expect(world.platform.paid).toHaveLength(1);
  });

  it('and the record, when neither could be made, are both made up for', async () => {
    world.platform.depositsFail = [unavailable()];
    world.accounts.failing = { at: 1 };
    const { login } = opened(await world.run(demo, KEY));
    await world.run(demo, KEY);
    expect(world.platform.paid).toEqual([login]);
    expect(await world.record(login)).toBeDefined();
    const calls = [world.accounts.calls.length, world.platform.calls.length];
    await world.run(demo, KEY);
    expect([world.accounts.calls.length, world.platform.calls.length]).toEqual(calls);
  });

  it('counts as made where an operation of before does not say', async () => {
    world.platform.depositsFail = [unavailable()];
    await world.run(demo, KEY);
    const operationId = world.platform.accounts[0]?.order.operationId;
    const operations = await database.client.send(new ScanCommand({ TableName: 'operations' }));
    const { pk } = operations.Items?.find((item) => item.operation_id === operationId) ?? {};
    const changes = { update: 'REMOVE #result.funded', names: { '#result': 'result' } };
    await database.tables.operations.update({ pk: String(pk) }, changes, within(5_000));
    await world.run(demo, KEY);
    expect(world.platform.paid).toEqual([]);
    expect(world.platform.deposits).toHaveLength(1);
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

describe('The notices', () => {
  it.each([
    [{}, []],
    [{ send_email: false, send_pop_up: false }, []],
    [{ send_email: true }, ['email']],
    [{ send_pop_up: true }, ['popup']],
    [{ send_email: true, send_pop_up: true }, ['email', 'popup']],
  ])('are those that were asked for: %o', async (flags, kinds) => {
    await world.run(flags);
    expect(world.notices.map(({ kind }) => kind)).toEqual(kinds);
  });

  it('go to the client, tell of the account, and hold no password', async () => {
    const { login } = opened(await world.run({ ...GIVEN, send_email: true, send_pop_up: true, enable_readonly: true }));
    const account = {
      login,
      version: 'tp5',
      group: 'real\\standard',
      leverage: 100,
      readonly: true,
      demo: false,
      serverName: 'Live',
    };
    expect(world.notices).toEqual([
      { kind: 'email', to: 'ann@example.com', language: 'de', account },
      { kind: 'popup', to: 'CLIENT01', language: 'de', account },
    ]);
  });

  it.each([
    ['the request’s', 'fr', 'de', 'fr'],
    ['the client’s where the request names none', undefined, 'de', 'de'],
    ['nobody’s where neither names one', undefined, undefined, undefined],
  ])('are in the language %s', async (_, asked, own, expected) => {
    const { language: _own, ...client } = ANN;
    world.records = { ...world.records, client: own === undefined ? client : ANN };
    await world.run({ send_email: true, ...(asked === undefined ? {} : { language: asked }) });
    expect(world.notices.map(({ language }) => language)).toEqual([expected]);
  });

  it('that fail change nothing in the answer and are counted, each', async () => {
    world.noticesFail = new DeliveryFailure('retryable', 'Throttling');
    const answer = await world.run({ send_email: true, send_pop_up: true }, KEY);
    expect(answer.replayed).toBe(false);
    const failed = world.events.filter(({ name }) => name === 'NoticeFailed');
    expect(failed.map(({ fields }) => [fields.notice, fields.reason])).toEqual([
      ['email', 'Throttling'],
      ['popup', 'Throttling'],
    ]);
    expect((await world.run({ send_email: true, send_pop_up: true }, KEY)).body).toEqual(answer.body);
  });
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

describe('A password secret that cannot be read', () => {
  it('is an error of ours before anything is claimed', async () => {
    const { parts } = world;
    const failure = new SecretFailure('ServiceUnavailable');
    const broken = { ...parts, passwordKey: () => Promise.reject(failure) };
    Object.defineProperty(world, 'parts', { value: broken });
    await expect(world.run({}, KEY)).rejects.toBe(failure);
    expect(world.operations.calls).toEqual([]);
  });
});

describe('What an operator finds of an unsettled operation', () => {
  it('is what was asked for, without passwords or anything personal', async () => {
    world.platform.opening = { kind: 'reply_lost', failure: lost() };
    world.platform.finding = () => ({ kind: 'cannot_tell' });
    const { options } = await world.refused({ ...GIVEN, login: 9 });
    const item = await database.tables.operations.get(
      { pk: `operation#${options.members?.operation_id}` },
      within(5_000),
    );
    expect(item).toMatchObject({
      state: 'sent',
      details: {
        user_id: world.userId,
        version: 'tp5',
        connection_id: 'tp5-live-1',
        group: 'real\\standard',
        leverage: BODY.leverage,
      },
    });
    const text = JSON.stringify(item);
    for (const secret of [...Object.values(GIVEN), ANN.name, ANN.email, '7400123456'])
      expect(text).not.toContain(secret);
  });
});

it('Every kind of a platform’s failure is a public problem', () => {
  const kinds: PlatformFailureKind[] = [
    'group_not_found',
    'password_rejected',
    'login_taken',
    'validation_failed',
    'platform_refused',
    'platform_unavailable',
    'login_range_exhausted',
    'account_limit_reached',
    'account_outcome_unknown',
  ];
  for (const kind of kinds) expect(new Problem(kind).status).toBe(PROBLEMS[kind].status);
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
