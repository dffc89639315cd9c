import { describe, expect, it } from 'vitest';
import { atOnce, noting } from '../../../support/departures.ts';
import { anOrder, failure, noSignal, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

describe('opening an account over the Web API', () => {
  it('the account stands on the server with everything that was ordered', async () => {
    const server = await testServer();
    const order = anOrder({ leverage: 500, name: 'Zoë Müller', email: 'zoe@example.com', phone: '+447400123456' });
    const { login } = await platformOn(server).open(order, atOnce, noSignal);

    expect(login).toBe(5_001);
    expect(server.accounts()).toEqual([
      {
        login: 5_001,
        group: 'real\\standard',
        leverage: 500,
        name: 'Zoë Müller',
        email: 'zoe@example.com',
        readonly: false,
        balance: 0,
        comment: order.operationId,
      },
    ]);
    expect(server.access(login, order.masterPassword)).toBe('master');
    expect(server.access(login, order.investorPassword)).toBe('investor');
    expect(server.access(login, 'another')).toBe('none');
  });

  it.each(['answer', 'root', 'both'] as const)(
    'the new login is read where the server names it: %s',
    async (loginPlacement) => {
      const server = await testServer({ loginPlacement, firstLogin: 77 });
      expect(await platformOn(server).open(anOrder(), atOnce, noSignal)).toEqual({ login: 77 });
    },
  );

  it('a login of the caller is used', async () => {
    const server = await testServer();
    expect(await platformOn(server).open(anOrder({ login: 123_456 }), atOnce, noSignal)).toEqual({ login: 123_456 });
  });

  it('a read-only account has trading disabled, and every other right', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.open(anOrder({ readonly: true }), atOnce, noSignal);
    expect(server.accounts()[0]?.readonly).toBe(true);
  });

  it('the command carries strings only, passwords in the body, and the documented rights', async () => {
    const server = await scriptedServer((_request, response) => response.end('{"retcode":"0 Done","login":"1"}'));
    const platform = platformOn(server);
    const order = anOrder({ readonly: true, country: 'GB', phone: '+447400123456', login: 1 });
    await platform.open(order, atOnce, noSignal);
    await platform.open({ ...order, readonly: false }, atOnce, noSignal);

    expect(server.requests.map(({ path }) => path)).toEqual(['/api/user/add', '/api/user/add']);
    expect(server.requests[0]?.headers).toMatchObject({
      connection: 'keep-alive',
      'content-type': 'application/x-www-form-urlencoded',
      host: `127.0.0.1:${server.port}`,
    });
    expect(server.requests.map(({ body }) => JSON.parse(body))).toEqual([
      {
        PassMain: order.masterPassword,
        PassInvestor: order.investorPassword,
        Group: 'real\\standard',
        Name: 'Ann Lee',
        Leverage: '100',
        Rights: '487',
        Email: 'ann@example.com',
        Phone: '+447400123456',
        Country: 'GB',
        Login: '1',
        Comment: order.operationId,
      },
      expect.objectContaining({ Rights: '483' }),
    ]);
  });

  it('a name is cut at 127 units, between characters, and has no control characters', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.open(anOrder({ name: `${'a'.repeat(120)}👩‍👩‍👧‍👦!` }), atOnce, noSignal);
    await platform.open(anOrder({ name: 'Ann\r\nLeverage: 500' }), atOnce, noSignal);
    expect(server.accounts().map(({ name }) => name)).toEqual(['a'.repeat(120), 'Ann Leverage: 500']);
  });

  it('what happens before sending is awaited, once, right before the bytes leave', async () => {
    const server = await testServer();
    let commandsBefore = -1;
    let calls = 0;
    await platformOn(server).open(
      anOrder(),
      noting(async () => {
        calls += 1;
        commandsBefore = server.commands;
        expect(server.sessions).toBe(1);
      }),
      noSignal,
    );
    expect({ calls, commandsBefore, commands: server.commands }).toEqual({ calls: 1, commandsBefore: 0, commands: 1 });
  });

  it('when it throws, nothing is sent', async () => {
    const server = await testServer();
    const lost = new Error('lease lost');
    const opening = platformOn(server).open(
      anOrder(),
      noting(() => Promise.reject(lost)),
      noSignal,
    );
    expect(await failure(opening)).toBe(lost);
    expect(server.commands).toBe(0);
  });

  it('a signal that aborts meanwhile keeps the bytes from leaving', async () => {
    const server = await testServer();
    const abort = new AbortController();
    const opening = platformOn(server).open(
      anOrder(),
      noting(async () => abort.abort()),
      abort.signal,
    );
    expect(await failure(opening)).toMatchObject({ kind: 'platform_unavailable' });
    expect(server.commands).toBe(0);
  });

  it('a warm session opens an account with one round trip', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.check(noSignal);
    await platform.open(anOrder(), atOnce, noSignal);
    await platform.open(anOrder(), atOnce, noSignal);
    expect({ sessions: server.sessions, commands: server.commands }).toEqual({ sessions: 1, commands: 2 });
  });
});

describe('a process that was paused after its last check', () => {
  const order = anOrder({ deposit: 10_000 });
  let time = 1_000_000;
  const departure = (pauseMs: number) => ({
    note: async () => {
      time += pauseMs;
    },
    notAfter: time + 17_000,
  });
  const late = { kind: 'platform_unavailable', options: { reason: 'too_late_to_send' } };

  it('sends no opening and no deposit, if its time is over by the wall clock', async () => {
    const server = await testServer();
    const platform = platformOn(server, { now: () => time });
    expect(await failure(platform.open(order, departure(150_001), noSignal))).toMatchObject(late);
    expect({ commands: server.commands, accounts: server.accounts() }).toEqual({ commands: 0, accounts: [] });
    const { login } = await platform.open(order, departure(17_000), noSignal);
    expect(await failure(platform.fund(order, login, departure(17_001), noSignal))).toMatchObject(late);
    expect(server.commands).toBe(1);
    await platform.fund(order, login, departure(17_000), noSignal);
    expect(server.accounts()).toMatchObject([{ balance: 10_000 }]);
  });

  it('nor does it send again what met a session that was gone', async () => {
    const server = await scriptedServer((_request, response) => {
      time += 17_001;
      response.writeHead(403).end('403 Forbidden');
    });
    const platform = platformOn(server, { now: () => time });
    expect(await failure(platform.open(order, departure(0), noSignal))).toMatchObject(late);
    expect(server.requests).toHaveLength(1);
  });

  it('nor what had to wait for its turn', async () => {
    const server = await scriptedServer((_request, response) => {
      time += 17_001;
      response.end('{"retcode":"0 Done","login":"1"}');
    });
    const platform = platformOn(server, { now: () => time });
    const openings = [1, 2, 3].map(() => platform.open(order, departure(0), noSignal));
    const outcomes = await Promise.allSettled(openings);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(server.requests).toHaveLength(1);
  });
});
