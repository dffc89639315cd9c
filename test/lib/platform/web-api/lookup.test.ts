import { describe, expect, it } from 'vitest';
import { atOnce } from '../../../support/departures.ts';
import { anOrder, failure, noSignal, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

describe('looking an account up', () => {
  it('finds it among the others of its group, by its comment', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const orders = Array.from({ length: 12 }, () => anOrder());
    for (const order of orders) await platform.open(order, atOnce, noSignal);
    const [first, , third] = orders;
    expect(await platform.find(third ?? anOrder(), noSignal)).toEqual({ kind: 'found', login: 5_003 });
    expect(await platform.find(first ?? anOrder(), noSignal)).toEqual({ kind: 'found', login: 5_001 });
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
  });

  it('in a group without accounts, or one that the server does not know, is absent', async () => {
    const platform = platformOn(await testServer());
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(await platform.find(anOrder({ group: 'none' }), noSignal)).toEqual({ kind: 'absent' });
  });

  it('with a login costs one command, however many accounts the group has', async () => {
    const server = await testServer();
    server.populate({ group: 'real\\standard', from: 1_000_000, count: 1_000_000 });
    const platform = platformOn(server);
    const order = anOrder({ login: 70_000 });
    await platform.open(order, atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    expect(await platform.find(anOrder({ login: 1_999_999 }), noSignal)).toEqual({ kind: 'another' });
    expect(server.commands).toBe(3);
  });

  it('at a login that our own table has reserved, with the comment of somebody else, is not ours', async () => {
    const platform = platformOn(await testServer());
    await platform.open(anOrder({ login: 70_000 }), atOnce, noSignal);
    const order = anOrder({ login: 70_000, reserved: true });
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'another' });
  });

  it.each([
    ['changed', 'VIP client'],
    ['cut', undefined],
  ])('at a login of ours, with our comment %s since, finds it', async (_, comment) => {
    const server = await testServer();
    const platform = platformOn(server);
    for (const login of [70_000, 70_001]) {
      const order = anOrder({ login, ...(login === 70_001 ? { reserved: true } : {}) });
      await platform.open(order, atOnce, noSignal);
      server.comment(login, comment ?? order.operationId.slice(0, 31));
      expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login });
      // Nor is it taken for another's when the order comes a second time.
      if (order.reserved === true) expect(await platform.open(order, atOnce, noSignal)).toEqual({ login });
    }
  });

  it('at a login of ours, with a comment and a password that are not ours, finds another’s', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.open(anOrder({ login: 70_000, masterPassword: 'An0ther#one' }), atOnce, noSignal);
    server.comment(70_000, 'VIP client');
    for (const reserved of [{}, { reserved: true } as const]) {
      const order = anOrder({ login: 70_000, ...reserved });
      expect(await platform.find(order, noSignal)).toEqual({ kind: 'another' });
      expect(await failure(platform.open(order, atOnce, noSignal))).toMatchObject({ kind: 'login_taken' });
    }
  });

  it('at a login that our own table has reserved, with a changed comment and no name, asks for the password', async () => {
    const right = { value: true };
    const server = await scriptedServer(({ path }, response) => {
      const user = { Login: '70000', Comment: 'VIP client' };
      if (path.startsWith('/api/user/get')) response.end(JSON.stringify({ retcode: '0 Done', answer: user }));
      else response.end(JSON.stringify({ retcode: right.value ? '0 Done' : '3006 Wrong password' }));
    });
    const platform = platformOn(server);
    const order = anOrder({ login: 70_000, reserved: true });
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    right.value = false;
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'another' });
    // The caller's own is kept by nobody: whoever settles later does not have it.
    const { masterPassword: _, ...trace } = order;
    expect(await platform.find(trace, noSignal)).toEqual({ kind: 'cannot_tell' });
  });

  it('that is answered with another one’s is not believed', async () => {
    const server = await scriptedServer((_, response) => {
      response.end(JSON.stringify({ retcode: '0 Done', answer: { Login: '70001', Comment: '' } }));
    });
    expect(await failure(platformOn(server).find(anOrder({ login: 70_000 }), noSignal))).toMatchObject({
      options: { reason: 'malformed_answer' },
    });
  });

  it('with a login of our own asks for that one, and compares its comment', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ login: 70_000 });
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
    await platform.open(order, atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    expect(await platform.find(anOrder({ login: 70_000 }), noSignal)).toEqual({ kind: 'another' });
  });

  it.each(['plain', 'real\\standard', 'a=b|c\\d', 'trailing\\', '\\\\double', 'back\\=slash', 'with space+plus&%'])(
    'works in the group %s',
    async (group) => {
      const platform = platformOn(await testServer({ groups: [{ name: group }] }));
      const order = anOrder({ group });
      await platform.open(order, atOnce, noSignal);
      expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 5_001 });
    },
  );

  it('a server that cannot be asked is not taken for an absent account', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'throttled', times: 1 });
    expect(await failure(platformOn(server).find(anOrder(), noSignal))).toMatchObject({
      kind: 'platform_unavailable',
    });
  });

  it.each([
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

  it('is asked again when the session was gone', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.check(noSignal);
    server.faults.set({ kind: 'session_dropped', times: 1 });
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(server.sessions).toBe(2);
  });

  it('but only once', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    server.faults.set({ kind: 'session_dropped', times: 2 });
    expect(await failure(platform.find(anOrder(), noSignal))).toMatchObject({ kind: 'platform_unavailable' });
    expect(server.commands).toBe(2);
  });
});

describe('a manager that may not read personal data', () => {
  it('cannot tell whether an account without a login of ours exists', async () => {
    const server = await testServer({ rights: { personalData: false } });
    const platform = platformOn(server);
    const order = anOrder();
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
    await platform.open(order, atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'cannot_tell' });
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'cannot_tell' });
  });

  it('tells an account at a login that our own table has reserved, with one command', async () => {
    const server = await testServer({ rights: { personalData: false } });
    const platform = platformOn(server);
    const order = anOrder({ login: 70_000, reserved: true });
    await platform.open(order, atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    expect(server.commands).toBe(2);
  });

  it('tells an account at a login of ours by its password', async () => {
    const server = await testServer({ rights: { personalData: false } });
    const platform = platformOn(server);
    const order = anOrder({ login: 70_000 });
    await platform.open(order, atOnce, noSignal);
    const { masterPassword: _, ...trace } = order;
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
    expect(await platform.find({ ...order, masterPassword: 'An0ther#pw' }, noSignal)).toEqual({ kind: 'another' });
    expect(await platform.find(trace, noSignal)).toEqual({ kind: 'cannot_tell' });
  });
});

describe('a manager that is shown names and no comments', () => {
  it('finds an account without a login of ours by its name and our password', async () => {
    const server = await testServer({ rights: { personalData: 'names' } });
    const platform = platformOn(server);
    const order = anOrder();
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
    await platform.open(anOrder({ name: 'Somebody Else' }), atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
    await platform.open(order, atOnce, noSignal);
    await platform.open(anOrder({ masterPassword: 'An0ther#pw' }), atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 5_002 });
    expect(await platform.find({ ...order, masterPassword: 'Unkn0wn#pw' }, noSignal)).toEqual({ kind: 'absent' });
  });

  it('cannot tell without the password, among too many of that name, or of no name', async () => {
    const platform = platformOn(await testServer({ rights: { personalData: 'names' } }));
    const order = anOrder();
    await platform.open(order, atOnce, noSignal);
    const { masterPassword: _, ...trace } = order;
    expect(await platform.find(trace, noSignal)).toEqual({ kind: 'cannot_tell' });
    const { name: __, ...nameless } = trace;
    expect(await platform.find(nameless, noSignal)).toEqual({ kind: 'cannot_tell' });
    for (let namesake = 0; namesake < 20; namesake += 1) {
      await platform.open(anOrder({ masterPassword: 'An0ther#pw' }), atOnce, noSignal);
    }
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'cannot_tell' });
  });

  it.each([undefined, true])(
    'does not take an account at its own login for another’s (reserved: %s)',
    async (reserved) => {
      const platform = platformOn(await testServer({ rights: { personalData: 'names' } }));
      const order = anOrder({ login: 70_000, ...(reserved === undefined ? {} : { reserved }) });
      await platform.open(order, atOnce, noSignal);
      const { masterPassword: _, ...trace } = order;
      expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 70_000 });
      expect(await platform.find({ ...order, masterPassword: 'An0ther#pw' }, noSignal)).toEqual({ kind: 'another' });
      expect(await platform.find(trace, noSignal)).toEqual({ kind: 'cannot_tell' });
    },
  );

  it('takes an account of another name at its own login for another’s', async () => {
    const platform = platformOn(await testServer({ rights: { personalData: 'names' } }));
    const order = anOrder({ login: 70_000 });
    await platform.open(anOrder({ login: 70_000, name: 'Somebody Else' }), atOnce, noSignal);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'another' });
  });
});

describe('a range of logins', () => {
  const range = { from: 500_000, to: 599_999 };

  it('is looked at in twenty places, its ends among them', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    expect(await platform.inspectRange(range, noSignal)).toEqual({ looked: 20, taken: 0 });
    for (const login of [500_000, 599_999, 700_000]) await platform.open(anOrder({ login }), atOnce, noSignal);
    expect(await platform.inspectRange(range, noSignal)).toEqual({ looked: 20, taken: 2 });
    expect(server.accounts()).toHaveLength(3);
  });

  it('that the manager may not look at is a refusal', async () => {
    const server = await testServer({ forbiddenPaths: ['/api/user/get'] });
    expect(await failure(platformOn(server).inspectRange(range, noSignal))).toMatchObject({ kind: 'platform_refused' });
  });
});
