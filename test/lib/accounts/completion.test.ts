import { describe, expect, it } from 'vitest';
import { DeliveryFailure } from '../../../lib/messages/message.ts';
import { ANN, type FakeAccounts, opened } from '../../support/account-fakes.ts';
import { beforeEachOpening, GIVEN, KEY } from '../../support/account-tests.ts';

let world: FakeAccounts;
beforeEachOpening((fresh) => {
  world = fresh;
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

describe('Others of the broker', () => {
  const toldOf = () => world.told.map((detail) => ('login' in detail ? detail.login : undefined));

  it('are told once of an account, by the operation that opened it, when its record is written', async () => {
    const { login } = opened(await world.run({}, KEY));
    await world.run({}, KEY);
    expect(world.told).toEqual([
      {
        id: (await world.record(login))?.operation_id,
        user_id: world.userId,
        version: 'tp5',
        connection_id: 'tp5-live-1',
        login,
        group: 'real\\standard',
        leverage: 100,
        enable_readonly: false,
        enable_rebate: false,
        opened_at: (await world.record(login))?.opened_at,
      },
    ]);
  });

  it('are told later when the bus fails: the answer is the same, and a retry tells', async () => {
    world.eventsFail = new Error('The bus is away.');
    const { login } = opened(await world.run({}, KEY));
    expect(world.names()).toContain('EventFailed');
    expect(toldOf()).toEqual([]);
    world.eventsFail = undefined;
    world.skip(60_000);
    expect(opened(await world.run({}, KEY)).login).toBe(login);
    expect(toldOf()).toEqual([login]);
  });

  it('are not told of an account whose record is missing, but when it is written', async () => {
    world.accounts.failing = { at: 1 };
    const { login } = opened(await world.run({}, KEY));
    expect(toldOf()).toEqual([]);
    await world.run({}, KEY);
    expect(await world.record(login)).toBeDefined();
    expect(toldOf()).toEqual([login]);
  });
});
