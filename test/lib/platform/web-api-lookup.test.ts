import { describe, expect, test } from 'vitest';
import { anOrder, atOnce, failure, noSignal, platformOn, scriptedServer, testServer } from '../../support/web-api.ts';

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

  test('with a login of our own asks for that one, and compares its comment', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ login: 70_000 });
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
    await platform.open(order, atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    expect(await platform.find(anOrder({ login: 70_000 }), noSignal)).toEqual({ kind: 'absent' });
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

  test('tells an account at a login of ours by its password', async () => {
    const server = await testServer({ personalData: false });
    const platform = platformOn(server);
    const order = anOrder({ login: 70_000 });
    await platform.open(order, atOnce, noSignal);
    const { masterPassword: _, ...trace } = order;
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    expect(await platform.find({ ...order, masterPassword: 'An0ther#pw' }, noSignal)).toEqual({ kind: 'absent' });
    expect(await platform.find(trace, noSignal)).toEqual({ kind: 'cannot_tell' });
  });
});

describe('a large group', () => {
  const NOW = Date.UTC(2026, 0, 15);
  const DAY = 24 * 60 * 60;

  /** A group of so many accounts, the youngest with the highest login; one of them is ours. */
  async function groupOf(count: number, record: (login: number) => Record<string, unknown>) {
    const batches: number[] = [];
    const server = await scriptedServer(({ path }, response) => {
      if (path.startsWith('/api/user/logins')) {
        const logins = Array.from({ length: count }, (_, index) => String(index + 1));
        return response.end(JSON.stringify({ retcode: '0 Done', answer: logins }));
      }
      const asked = (path.split('login=')[1] ?? '').split(',').map(Number);
      batches.push(asked.length);
      const answer = asked.map((login) => ({ Login: String(login), Name: 'Ann', Comment: '', ...record(login) }));
      response.end(JSON.stringify({ retcode: '0 Done', answer }));
    });
    return { batches, platform: platformOn(server, { now: () => NOW }) };
  }

  test('is read from the highest login down, until ours is found', async () => {
    const order = anOrder();
    const { platform, batches } = await groupOf(50_000, (login) =>
      login === 49_950 ? { Comment: order.operationId } : {},
    );
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 49_950 });
    expect(batches).toEqual([200]);
  });

  test('is read on as long as its accounts may be of the last two days', async () => {
    const order = anOrder();
    const { platform, batches } = await groupOf(10_000, (login) => ({
      Comment: login === 4_001 ? order.operationId : '',
      Registration: String(NOW / 1_000 - (10_000 - login) * 20),
    }));
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 4_001 });
    expect(batches).toHaveLength(30);
  });

  const AGED = { Registration: String(NOW / 1_000 - 3 * DAY) };

  test('is not read to the end when those of the last two days are passed', async () => {
    const { platform, batches } = await groupOf(50_000, (login) => (login > 49_900 ? {} : AGED));
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(batches).toHaveLength(10);
  });

  test('is read on below old accounts whose logins were chosen by hand', async () => {
    const order = anOrder();
    const { platform } = await groupOf(6_000, (login) =>
      login === 3_000 ? { Comment: order.operationId } : login > 3_000 ? AGED : {},
    );
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 3_000 });
  });

  test('is read to the end when nothing tells their age', async () => {
    const order = anOrder();
    const { platform, batches } = await groupOf(5_000, (login) => (login === 1 ? { Comment: order.operationId } : {}));
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 1 });
    expect(batches).toHaveLength(25);
  });

  test('of a hundred thousand logins can be read', async () => {
    const { platform } = await groupOf(100_000, () => ({ Registration: '1' }));
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
  });
});

describe('the deposit of a demo account', () => {
  const deposit = 10_000.5;

  test('is put on the account', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ deposit });
    const { login } = await platform.open(order, atOnce, noSignal);
    await platform.fund(order, login, true, noSignal);
    expect(server.accounts()[0]?.balance).toBe(deposit);
    expect(server.commands).toBe(2);
  });

  test('is put there once: where the account may hold it already, the balance is read first', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ deposit });
    const { login } = await platform.open(order, atOnce, noSignal);
    for (let time = 0; time < 3; time += 1) await platform.fund(order, login, false, noSignal);
    expect(server.accounts()[0]?.balance).toBe(deposit);
  });

  test('is not put twice when the answer is lost: the balance tells that it arrived', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ deposit });
    const { login } = await platform.open(order, atOnce, noSignal);
    server.faults.set({ kind: 'reply_lost', times: 1 });
    await platform.fund(order, login, true, noSignal);
    expect(server.accounts()[0]?.balance).toBe(deposit);
  });

  test('that met a connection which the server had ended is sent again, once', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ deposit });
    const { login } = await platform.open(order, atOnce, noSignal);
    server.faults.set({ kind: 'session_dropped', times: 1 });
    await platform.fund(order, login, true, noSignal);
    expect(server.accounts()[0]?.balance).toBe(deposit);
  });

  test('that may still arrive fails, and is not tried again by itself', async () => {
    const server = await testServer();
    const platform = platformOn(server, { commandMs: 300 });
    const order = anOrder({ deposit });
    const { login } = await platform.open(order, atOnce, noSignal);
    server.faults.set({ kind: 'silence', times: 1 });
    expect(await failure(platform.fund(order, login, true, noSignal))).toMatchObject({
      kind: 'platform_unavailable',
      options: { reason: 'deposit_answer_timeout' },
    });
    expect(server.accounts()[0]?.balance).toBe(0);
  });

  test('that the server refuses fails', async () => {
    const platform = platformOn(await testServer());
    expect(await failure(platform.fund(anOrder({ deposit }), 1, true, noSignal))).toMatchObject({
      kind: 'platform_refused',
      options: { reason: 'retcode_13' },
    });
  });

  test('of nothing asks nothing', async () => {
    const server = await testServer();
    await platformOn(server).fund(anOrder(), 1, false, noSignal);
    expect({ sessions: server.sessions, commands: server.commands }).toEqual({ sessions: 0, commands: 0 });
  });
});
