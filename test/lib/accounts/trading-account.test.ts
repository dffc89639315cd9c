import { describe, expect, it } from 'vitest';
import { DatabaseFailure } from '../../../lib/aws/dynamodb.ts';
import { SecretFailure } from '../../../lib/aws/secrets.ts';
import { within } from '../../../lib/deadline.ts';
import type { Problem, ProblemType } from '../../../lib/problem.ts';
import type { Connection } from '../../../lib/records/crm-records.ts';
import { ANN, BODY, DEMO, FakeAccounts, FUNDED, LIVE, opened } from '../../support/account-fakes.ts';
import { beforeEachOpening, GIVEN, KEY, lost, unavailable } from '../../support/account-tests.ts';
import type { TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let world: FakeAccounts;
beforeEachOpening((fresh, its) => {
  world = fresh;
  database = its;
});

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

describe('A request without a key', () => {
  it('keeps no fingerprint of what was sent: nobody can repeat it', async () => {
    await world.run();
    const { operationId } = world.platform.accounts[0]?.order ?? {};
    const item = await database.tables.operations.get({ pk: `operation#${operationId}` }, within(60_000));
    expect(item).toMatchObject({ state: 'finished', fingerprint: 'none' });
  });
});

describe('A password secret that cannot be read', () => {
  it('is an error of ours before anything is claimed', async () => {
    const { services } = world;
    const failure = new SecretFailure('ServiceUnavailable');
    const broken = { ...services, passwords: { ...services.passwords, keys: () => Promise.reject(failure) } };
    Object.defineProperty(world, 'services', { value: broken });
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
      within(60_000),
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
