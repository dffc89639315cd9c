import { describe, expect, test } from 'vitest';
import { PlatformFailure } from '../../../../lib/platform/platform.ts';
import { atOnce, noting } from '../../../support/departures.ts';
import { anOrder, failure, noSignal, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

describe('opening an account over the Web API', () => {
  test('the account stands on the server with everything that was ordered', async () => {
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

  test.each(['answer', 'root', 'both'] as const)(
    'the new login is read where the server names it: %s',
    async (loginPlacement) => {
      const server = await testServer({ loginPlacement, firstLogin: 77 });
      expect(await platformOn(server).open(anOrder(), atOnce, noSignal)).toEqual({ login: 77 });
    },
  );

  test('a login of the caller is used', async () => {
    const server = await testServer();
    expect(await platformOn(server).open(anOrder({ login: 123_456 }), atOnce, noSignal)).toEqual({ login: 123_456 });
  });

  test('a read-only account has trading disabled, and every other right', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.open(anOrder({ readonly: true }), atOnce, noSignal);
    expect(server.accounts()[0]?.readonly).toBe(true);
  });

  test('the command carries strings only, passwords in the body, and the documented rights', async () => {
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

  test('a name is cut at 127 units, between characters, and has no control characters', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.open(anOrder({ name: `${'a'.repeat(120)}👩‍👩‍👧‍👦!` }), atOnce, noSignal);
    await platform.open(anOrder({ name: 'Ann\r\nLeverage: 500' }), atOnce, noSignal);
    expect(server.accounts().map(({ name }) => name)).toEqual(['a'.repeat(120), 'Ann Leverage: 500']);
  });

  test('what happens before sending is awaited, once, right before the bytes leave', async () => {
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

  test('when it throws, nothing is sent', async () => {
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

  test('a signal that aborts meanwhile keeps the bytes from leaving', async () => {
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

    test('sends no opening and no deposit, if its time is over by the wall clock', async () => {
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

    test('nor does it send again what met a session that was gone', async () => {
      const server = await scriptedServer((_request, response) => {
        time += 17_001;
        response.writeHead(403).end('403 Forbidden');
      });
      const platform = platformOn(server, { now: () => time });
      expect(await failure(platform.open(order, departure(0), noSignal))).toMatchObject(late);
      expect(server.requests).toHaveLength(1);
    });

    test('nor what had to wait for its turn', async () => {
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

  test('a warm session opens an account with one round trip', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.check(noSignal);
    await platform.open(anOrder(), atOnce, noSignal);
    await platform.open(anOrder(), atOnce, noSignal);
    expect({ sessions: server.sessions, commands: server.commands }).toEqual({ sessions: 1, commands: 2 });
  });
});

describe('return codes of an opening', () => {
  test.each([
    [2, 'account_outcome_unknown'],
    [3, 'platform_refused'],
    [4, 'platform_refused'],
    [5, 'platform_unavailable'],
    [6, 'platform_unavailable'],
    [7, 'account_outcome_unknown'],
    [8, 'platform_refused'],
    [9, 'account_outcome_unknown'],
    [10, 'platform_unavailable'],
    [11, 'platform_unavailable'],
    [12, 'platform_unavailable'],
    [14, 'account_outcome_unknown'],
    [15, 'platform_unavailable'],
    [16, 'account_outcome_unknown'],
    [17, 'account_outcome_unknown'],
    [18, 'account_outcome_unknown'],
    [999, 'account_outcome_unknown'],
    [1001, 'platform_refused'],
    [1002, 'platform_refused'],
    [1012, 'platform_refused'],
    [1018, 'platform_unavailable'],
    [1022, 'platform_refused'],
    [3002, 'login_range_exhausted'],
    [3003, 'validation_failed'],
    [3004, 'login_taken'],
    [3006, 'password_rejected'],
    [3007, 'account_limit_reached'],
    [10009, 'account_outcome_unknown'],
  ])('%i is %s', async (code, kind) => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code, times: 1 });
    const failed = await failure(platformOn(server).open(anOrder({ login: 9 }), atOnce, noSignal));
    expect(failed).toBeInstanceOf(PlatformFailure);
    expect(failed).toMatchObject({ kind, options: { reason: `retcode_${code}` } });
    expect(server.accounts()).toEqual([]);
  });

  test('1 is done, as 0 is', async () => {
    const server = await scriptedServer((_request, response) => {
      response.end('{"retcode":"1 OK","answer":{"Login":"42"}}');
    });
    expect(await platformOn(server).open(anOrder(), atOnce, noSignal)).toEqual({ login: 42 });
  });

  test('too frequent requests say when to come back', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'throttled', times: 1 });
    const failed = await failure(platformOn(server).open(anOrder(), atOnce, noSignal));
    expect(failed.options.retryAfterSeconds).toBeGreaterThan(0);
  });

  test('a reserved login is a fault of the field login', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code: 3003, times: 1 });
    const failed = await failure(platformOn(server).open(anOrder({ login: 9 }), atOnce, noSignal));
    expect(failed.options.errors).toEqual([
      { pointer: '#/login', rule: 'reserved', detail: 'is reserved on another trading server' },
    ]);
  });

  test('a login of the connection’s range that belongs to another server is the concern of an operator', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code: 3003, times: 1 });
    const order = anOrder({ login: 9, reserved: true });
    expect(await failure(platformOn(server).open(order, atOnce, noSignal))).toMatchObject({
      kind: 'platform_refused',
      options: { reason: 'login_outside_server_ranges' },
    });
  });

  test('the same order with a login, sent again, opens no second account', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ login: 9 });
    await platform.open(order, atOnce, noSignal);
    for (let time = 0; time < 3; time += 1) {
      expect(await failure(platform.open(order, atOnce, noSignal))).toMatchObject({ kind: 'login_taken' });
    }
    expect(server.accounts()).toHaveLength(1);
  });

  test.each([3003, 3004])('%i without a login of the caller is the concern of an operator', async (code) => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code, times: 1 });
    expect(await failure(platformOn(server).open(anOrder(), atOnce, noSignal))).toMatchObject({
      kind: 'platform_refused',
    });
  });

  test('a login that exists is taken', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.open(anOrder({ login: 9 }), atOnce, noSignal);
    expect(await failure(platform.open(anOrder({ login: 9 }), atOnce, noSignal))).toMatchObject({
      kind: 'login_taken',
    });
  });

  test('a group that does not exist is not found', async () => {
    const server = await testServer();
    const failed = await failure(platformOn(server).open(anOrder({ group: 'real\\none' }), atOnce, noSignal));
    expect(failed).toMatchObject({ kind: 'group_not_found', options: { reason: 'retcode_8' } });
  });

  test('a group that the manager may not use is a refusal', async () => {
    const server = await testServer();
    const failed = await failure(platformOn(server).open(anOrder({ group: 'real\\closed' }), atOnce, noSignal));
    expect(failed).toMatchObject({ kind: 'platform_refused', options: { reason: 'retcode_8' } });
  });

  test('when the group cannot be asked for, it stays a refusal', async () => {
    const server = await scriptedServer(({ path }, response) => {
      if (path === '/api/user/add') response.end('{"retcode":"8 Not enough permissions"}');
      else response.destroy();
    });
    expect(await failure(platformOn(server).open(anOrder(), atOnce, noSignal))).toMatchObject({
      kind: 'platform_refused',
    });
  });

  test('a password that the group finds too weak is rejected', async () => {
    const server = await testServer();
    const failed = await failure(platformOn(server).open(anOrder({ group: 'real\\strict' }), atOnce, noSignal));
    expect(failed).toMatchObject({ kind: 'password_rejected' });
  });
});

describe('answers that cannot be understood', () => {
  test.each([
    ['not JSON', '<html>502 Bad Gateway</html>'],
    ['JSON without a return code', '{"answer":{"Login":"1"}}'],
    ['a return code that is no number', '{"retcode":"Done","answer":{"Login":"1"}}'],
    ['an array', '[]'],
    ['nothing', ''],
    ['done, without a login', '{"retcode":"0 Done"}'],
    ['done, with login 0', '{"retcode":"0 Done","login":"0","answer":{"Login":"0"}}'],
    ['done, with half a login', '{"retcode":"0 Done","answer":{"Login":"12a"}}'],
    ['more than an answer can be', JSON.stringify({ retcode: '0 Done', login: '1', answer: 'x'.repeat(300_000) })],
  ])('%s leaves the outcome open', async (_what, content) => {
    const server = await scriptedServer((_request, response) => response.end(content));
    const failed = await failure(platformOn(server).open(anOrder(), atOnce, noSignal));
    expect(failed).toMatchObject({ kind: 'account_outcome_unknown' });
    expect(server.requests).toHaveLength(1);
  });

  test.each([400, 404, 500, 502])('HTTP status %i leaves the outcome open', async (status) => {
    const server = await scriptedServer((_request, response) => {
      response.writeHead(status).end('{"retcode":"0 Done","login":"1"}');
    });
    const failed = await failure(platformOn(server).open(anOrder(), atOnce, noSignal));
    expect(failed).toMatchObject({ kind: 'account_outcome_unknown', options: { reason: `http_${status}` } });
    expect(server.requests).toHaveLength(1);
  });

  test('numbers may come as numbers', async () => {
    const server = await scriptedServer((_request, response) => response.end('{"retcode":0,"answer":{"Login":42}}'));
    expect(await platformOn(server).open(anOrder(), atOnce, noSignal)).toEqual({ login: 42 });
  });

  test('an answer in chunks, and a byte at a time, is read whole', async () => {
    const server = await scriptedServer(async (_request, response) => {
      for (const character of '{"retcode":"0 Done","answer":{"Login":"42","Name":"Zoë"}}') {
        response.write(character);
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    expect(await platformOn(server).open(anOrder(), atOnce, noSignal)).toEqual({ login: 42 });
  });
});

describe('a deposit that fails', () => {
  const order = anOrder({ deposit: 10_000 });

  /** A server whose account has so much on it, and which answers a deposit so. */
  async function bank(balance: string, deposit: string) {
    const server = await scriptedServer(({ path }, response) => {
      if (path.startsWith('/api/trade/balance')) response.end(deposit);
      else if (balance === 'unreadable') response.destroy();
      else response.end(JSON.stringify({ retcode: '0 Done', answer: { Login: '42', Balance: balance } }));
    });
    const deposits = () => server.requests.filter(({ path }) => path.startsWith('/api/trade/balance')).length;
    return { platform: platformOn(server), deposits };
  }

  test.each(['throttled', 'down'] as const)('because the server was %s is made after a pause', async (kind) => {
    const server = await testServer();
    const platform = platformOn(server);
    const { login } = await platform.open(order, atOnce, noSignal);
    server.faults.set({ kind, times: 1 });
    await platform.fund(order, login, atOnce, noSignal);
    expect(server.accounts()[0]?.balance).toBe(10_000);
  });

  test('three times, because the server is busy, fails, and was noted once', async () => {
    const { platform, deposits } = await bank('0.00', '{"retcode":"12 Too frequent"}');
    let notes = 0;
    const note = async () => {
      notes += 1;
    };
    expect(await failure(platform.fund(order, 42, noting(note), noSignal))).toMatchObject({
      kind: 'platform_unavailable',
      options: { reason: 'retcode_12' },
    });
    expect({ deposits: deposits(), notes }).toEqual({ deposits: 3, notes: 1 });
  });

  test('is not tried again when the time is up', async () => {
    const { platform, deposits } = await bank('0.00', '{"retcode":"12 Too frequent"}');
    const abort = new AbortController();
    const paying = failure(platform.fund(order, 42, atOnce, abort.signal));
    await expect.poll(deposits).toBe(1);
    abort.abort();
    expect(await paying).toMatchObject({ kind: 'platform_unavailable' });
    expect(deposits()).toBe(1);
  });

  test('because it was refused is not tried again', async () => {
    const { platform, deposits } = await bank('0.00', '{"retcode":"8 Not enough permissions"}');
    expect(await failure(platform.fund(order, 42, atOnce, noSignal))).toMatchObject({ kind: 'platform_refused' });
    expect(deposits()).toBe(1);
  });

  test.each([
    ['a code that leaves the outcome open', '{"retcode":"7 Network"}', 'retcode_7'],
    ['a code that nobody documented', '{"retcode":"4005 ?"}', 'retcode_4005'],
    ['something that is no answer', 'OK', 'malformed_answer'],
  ])('with %s has an unknown outcome, and is never sent again', async (_what, answer, reason) => {
    const { platform, deposits } = await bank('0.00', answer);
    expect(await failure(platform.fund(order, 42, atOnce, noSignal))).toMatchObject({
      kind: 'account_outcome_unknown',
      options: { reason },
    });
    expect(deposits()).toBe(1);
  });

  test.each(['10000.00', '0.01', '-5.00'])('may have arrived on an account that holds %s', async (balance) => {
    const { platform } = await bank(balance, '{"retcode":"0 Done"}');
    expect(await platform.holdsFunds(42, noSignal)).toBe(true);
  });

  test('has not arrived on an account that holds nothing', async () => {
    const { platform } = await bank('0.00', '{"retcode":"0 Done"}');
    expect(await platform.holdsFunds(42, noSignal)).toBe(false);
  });

  test('cannot be looked for where the balance cannot be read', async () => {
    const { platform } = await bank('unreadable', '{"retcode":"0 Done"}');
    expect(await failure(platform.holdsFunds(42, noSignal))).toMatchObject({ kind: 'platform_unavailable' });
  });

  test('in what comes before the sending is not sent', async () => {
    const { platform, deposits } = await bank('0.00', '{"retcode":"0 Done"}');
    const unsettled = new Error('may be on its way');
    const paying = platform.fund(
      order,
      42,
      noting(() => Promise.reject(unsettled)),
      noSignal,
    );
    expect(await failure(paying)).toBe(unsettled);
    expect(deposits()).toBe(0);
  });
});
