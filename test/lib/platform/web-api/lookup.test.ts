import { beforeEach, describe, expect, test } from 'vitest';
import { atOnce } from '../../../support/departures.ts';
import { anOrder, failure, noSignal, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

describe('looking an account up', () => {
  test('finds it among the others of its group, by its comment', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const orders = Array.from({ length: 12 }, () => anOrder());
    for (const order of orders) await platform.open(order, atOnce, noSignal);
    const [first, , third] = orders;
    expect(await platform.find(third ?? anOrder(), noSignal)).toEqual({ kind: 'found', login: 5_003 });
    expect(await platform.find(first ?? anOrder(), noSignal)).toEqual({ kind: 'found', login: 5_001 });
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
  });

  test('in a group without accounts, or one that the server does not know, is absent', async () => {
    const platform = platformOn(await testServer());
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(await platform.find(anOrder({ group: 'none' }), noSignal)).toEqual({ kind: 'absent' });
  });

  test('with a login costs one command, however many accounts the group has', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    for (let count = 0; count < 300; count += 1) await platform.open(anOrder(), atOnce, noSignal);
    const order = anOrder({ login: 70_000 });
    await platform.open(order, atOnce, noSignal);
    const before = server.commands;
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    expect(server.commands - before).toBe(1);
  });

  test('at a login that our own table has reserved, with the comment of somebody else, is not ours', async () => {
    const platform = platformOn(await testServer());
    await platform.open(anOrder({ login: 70_000 }), atOnce, noSignal);
    const order = anOrder({ login: 70_000, reserved: true });
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'another' });
  });

  test('with a login of our own asks for that one, and compares its comment', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ login: 70_000 });
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
    await platform.open(order, atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    expect(await platform.find(anOrder({ login: 70_000 }), noSignal)).toEqual({ kind: 'another' });
  });

  test.each(['plain', 'real\\standard', 'a=b|c\\d', 'trailing\\', '\\\\double', 'back\\=slash', 'with space+plus&%'])(
    'works in the group %s',
    async (group) => {
      const platform = platformOn(await testServer({ groups: [{ name: group }] }));
      const order = anOrder({ group });
      await platform.open(order, atOnce, noSignal);
      expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 5_001 });
    },
  );

  test('a server that cannot be asked is not taken for an absent account', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'throttled', times: 1 });
    expect(await failure(platformOn(server).find(anOrder(), noSignal))).toMatchObject({
      kind: 'platform_unavailable',
    });
  });

  test.each([
    '{"retcode":"0 Done"}',
    '{"retcode":"0 Done","answer":"none"}',
    '{"retcode":"0 Done","answer":["1","x"]}',
    '{"retcode":"0 Done","answer":[{"Login":"x","Comment":""}]}',
    'garbage',
  ])('nor is the answer %s', async (content) => {
    const server = await scriptedServer((_request, response) => response.end(content));
    expect(await failure(platformOn(server).find(anOrder(), noSignal))).toMatchObject({
      kind: 'platform_unavailable',
    });
  });

  test('is asked again when the session was gone', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.check(noSignal);
    server.faults.set({ kind: 'session_dropped', times: 1 });
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(server.sessions).toBe(2);
  });

  test('but only once', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    server.faults.set({ kind: 'session_dropped', times: 2 });
    expect(await failure(platform.find(anOrder(), noSignal))).toMatchObject({ kind: 'platform_unavailable' });
    expect(server.commands).toBe(2);
  });
});

describe('a manager that may not read personal data', () => {
  test('cannot tell whether an account without a login of ours exists', async () => {
    const server = await testServer({ personalData: false });
    const platform = platformOn(server);
    const order = anOrder();
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
    await platform.open(order, atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'cannot_tell' });
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'cannot_tell' });
  });

  test('tells an account at a login that our own table has reserved, with one command', async () => {
    const server = await testServer({ personalData: false });
    const platform = platformOn(server);
    const order = anOrder({ login: 70_000, reserved: true });
    await platform.open(order, atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    expect(server.commands).toBe(2);
  });

  test('tells an account at a login of ours by its password', async () => {
    const server = await testServer({ personalData: false });
    const platform = platformOn(server);
    const order = anOrder({ login: 70_000 });
    await platform.open(order, atOnce, noSignal);
    const { masterPassword: _, ...trace } = order;
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    expect(await platform.find({ ...order, masterPassword: 'An0ther#pw' }, noSignal)).toEqual({ kind: 'another' });
    expect(await platform.find(trace, noSignal)).toEqual({ kind: 'cannot_tell' });
  });
});

describe('a large group', () => {
  const HOUR = 60 * 60;
  let now = 0;
  const registered = (hoursAgo: number) => ({ Registration: String(now / 1_000 - hoursAgo * HOUR) });
  const OLD_HOURS = 72;

  beforeEach(() => {
    now = Date.UTC(2026, 0, 15);
  });

  /** A group of these accounts, and what was asked of it; `onBatch` is told of each batch before it is answered. */
  async function groupOf(
    logins: readonly number[],
    record: (login: number) => Record<string, unknown> | undefined,
    onBatch: (count: number) => void = () => {},
  ) {
    const batches: number[] = [];
    const singles: number[] = [];
    const userOf = (login: number) => {
      const own = record(login);
      return own === undefined ? undefined : { Login: String(login), Name: 'Ann', Comment: '', ...own };
    };
    const server = await scriptedServer(({ path }, response) => {
      const answer = (content: unknown) =>
        response.end(
          JSON.stringify(content === undefined ? { retcode: '13 Not found' } : { retcode: '0 Done', answer: content }),
        );
      if (path.startsWith('/api/user/logins')) return answer(logins.map(String));
      const asked = (path.split('login=')[1] ?? '').split(',').map(Number);
      if (path.startsWith('/api/user/get?')) {
        singles.push(...asked);
        return answer(userOf(asked[0] ?? 0));
      }
      batches.push(asked.length);
      onBatch(batches.length);
      const known = asked.map(userOf).filter((user) => user !== undefined && !('LeftOut' in user));
      answer(known.length === 0 ? undefined : known);
    });
    return { batches, singles, platform: platformOn(server, { now: () => now }) };
  }
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

  test('is read from the highest login down, until ours is found', async () => {
    const order = anOrder();
    const { platform, batches } = await groupOf(upTo(50_000), (login) =>
      login === 49_950 ? { Comment: order.operationId } : {},
    );
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 49_950 });
    expect(batches).toEqual([200]);
  });

  test('is read whole before an account is called absent', async () => {
    const { platform, batches } = await groupOf(upTo(10_000), (login) => registered(login > 9_900 ? 1 : OLD_HOURS));
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(batches).toHaveLength(50);
  });

  test('is read on below logins that were chosen by hand, old ones and one of today', async () => {
    const order = anOrder();
    const chosen = Array.from({ length: 2_100 }, (_, index) => 900_001 + index);
    const { platform } = await groupOf([500_001, ...chosen, 902_101], (login) =>
      login === 500_001
        ? { Comment: order.operationId, ...registered(0) }
        : registered(login === 902_101 ? 5 : OLD_HOURS),
    );
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 500_001 });
  });

  test('is not read again where its accounts are too old: for ten minutes, since a login may be given anew', async () => {
    const { platform, batches } = await groupOf(upTo(10_000), (login) => registered(login > 9_900 ? 1 : OLD_HOURS));
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    batches.length = 0;
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(batches).toEqual([100]);
    now += 10 * 60_000 + 1;
    batches.length = 0;
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(batches).toHaveLength(50);
  });

  test('whose accounts nobody knows the age of is read once for an operation, and anew for the next', async () => {
    const { platform, batches } = await groupOf(upTo(1_000), () => ({}));
    const order = anOrder();
    for (let time = 0; time < 3; time += 1) expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
    expect(batches).toHaveLength(5);
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(batches).toHaveLength(10);
  });

  test('that takes longer than there is time is read on by the next look-up, to its end', async () => {
    const order = anOrder();
    let caller = new AbortController();
    const { platform, batches } = await groupOf(
      upTo(100_000),
      (login) => (login === 1 ? { Comment: order.operationId } : registered(login % 2 === 0 ? 1 : OLD_HOURS)),
      (count) => {
        if (count % 120 === 0) caller.abort();
      },
    );
    for (let time = 0; time < 4; time += 1) {
      caller = new AbortController();
      expect(await failure(platform.find(order, caller.signal))).toMatchObject({ kind: 'platform_unavailable' });
    }
    caller = new AbortController();
    expect(await platform.find(order, caller.signal)).toEqual({ kind: 'found', login: 1 });
    // Of each look-up the batch is read again in which its time ended.
    expect(batches).toHaveLength(500 + 4);
  });

  test.each([
    ['one account', (login: number) => login === 150],
    ['every account', () => true],
  ])('whose batch leaves out %s is asked for it by itself', async (_, isLeftOut) => {
    const order = anOrder();
    const { platform, singles } = await groupOf(upTo(200), (login) => ({
      Comment: login === 150 ? order.operationId : '',
      ...(isLeftOut(login) ? { LeftOut: '1' } : {}),
    }));
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 150 });
    expect(singles).toContain(150);
  });

  test('of which an account is gone by the time it is read does without it', async () => {
    const { platform, singles } = await groupOf(upTo(10), (login) => (login === 4 ? undefined : {}));
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(singles).toEqual([4]);
  });
});

describe('a range of logins', () => {
  const range = { from: 500_000, to: 599_999 };

  test('is looked at in twenty places, its ends among them', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    expect(await platform.inspectRange(range, noSignal)).toEqual({ looked: 20, taken: 0 });
    for (const login of [500_000, 599_999, 700_000]) await platform.open(anOrder({ login }), atOnce, noSignal);
    expect(await platform.inspectRange(range, noSignal)).toEqual({ looked: 20, taken: 2 });
    expect(server.accounts()).toHaveLength(3);
  });

  test('that the manager may not look at is a refusal', async () => {
    const server = await testServer({ forbiddenPaths: ['/api/user/get'] });
    expect(await failure(platformOn(server).inspectRange(range, noSignal))).toMatchObject({ kind: 'platform_refused' });
  });
});

describe('the deposit of a demo account', () => {
  const deposit = 10_000.5;

  test('is put on the account', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ deposit });
    const { login } = await platform.open(order, atOnce, noSignal);
    await platform.fund(order, login, atOnce, noSignal);
    expect(server.accounts()[0]?.balance).toBe(deposit);
    expect(server.commands).toBe(2);
  });

  test('is not put twice when the answer is lost: the balance tells that it arrived', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ deposit });
    const { login } = await platform.open(order, atOnce, noSignal);
    expect(await platform.holdsFunds(login, noSignal)).toBe(false);
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect(await failure(platform.fund(order, login, atOnce, noSignal))).toMatchObject({
      kind: 'account_outcome_unknown',
    });
    expect(await platform.holdsFunds(login, noSignal)).toBe(true);
    expect(server.accounts()[0]?.balance).toBe(deposit);
  });

  test('that met a connection which the server had ended is not sent again before it is settled', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ deposit });
    const { login } = await platform.open(order, atOnce, noSignal);
    server.faults.set({ kind: 'session_dropped', times: 1 });
    expect(await failure(platform.fund(order, login, atOnce, noSignal))).toMatchObject({
      kind: 'account_outcome_unknown',
      options: { reason: 'connection_closed' },
    });
    expect(server.accounts()[0]?.balance).toBe(0);
  });

  test('that may still arrive fails, and is not tried again by itself', async () => {
    const server = await testServer();
    const platform = platformOn(server, { commandMs: 300 });
    const order = anOrder({ deposit });
    const { login } = await platform.open(order, atOnce, noSignal);
    server.faults.set({ kind: 'silence', times: 1 });
    expect(await failure(platform.fund(order, login, atOnce, noSignal))).toMatchObject({
      kind: 'account_outcome_unknown',
      options: { reason: 'answer_timeout' },
    });
    expect(server.accounts()[0]?.balance).toBe(0);
  });

  test('that the server refuses fails', async () => {
    const platform = platformOn(await testServer());
    expect(await failure(platform.fund(anOrder({ deposit }), 1, atOnce, noSignal))).toMatchObject({
      kind: 'platform_refused',
      options: { reason: 'retcode_13' },
    });
  });

  test('of nothing asks nothing', async () => {
    const server = await testServer();
    await platformOn(server).fund(anOrder(), 1, atOnce, noSignal);
    expect({ sessions: server.sessions, commands: server.commands }).toEqual({ sessions: 0, commands: 0 });
  });
});
