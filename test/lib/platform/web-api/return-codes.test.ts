import { describe, expect, it } from 'vitest';
import { PlatformFailure } from '../../../../lib/platform/platform.ts';
import { atOnce } from '../../../support/departures.ts';
import { anOrder, failure, noSignal, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

/** What an opening comes to by the return code. */
const OUTCOMES = [
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
] as const;

describe('return codes of an opening', () => {
  it.each(OUTCOMES)('%i is %s', async (code, kind) => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code, times: 1 });
    const failed = await failure(platformOn(server).open(anOrder({ login: 9 }), atOnce, noSignal));
    expect(failed).toBeInstanceOf(PlatformFailure);
    expect(failed).toMatchObject({ kind, options: { reason: `retcode_${code}` } });
    expect(server.accounts()).toEqual([]);
  });

  it('1 is done, as 0 is', async () => {
    const server = await scriptedServer((_request, response) => {
      response.end('{"retcode":"1 OK","answer":{"Login":"42"}}');
    });
    expect(await platformOn(server).open(anOrder(), atOnce, noSignal)).toEqual({ login: 42 });
  });

  it('too frequent requests say when to come back', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'throttled', times: 1 });
    const failed = await failure(platformOn(server).open(anOrder(), atOnce, noSignal));
    expect(failed.options.retryAfterSeconds).toBeGreaterThan(0);
  });

  it('a group that does not exist is not found', async () => {
    const server = await testServer();
    const failed = await failure(platformOn(server).open(anOrder({ group: 'real\\none' }), atOnce, noSignal));
    expect(failed).toMatchObject({ kind: 'group_not_found', options: { reason: 'retcode_8' } });
  });

  it('a group that the manager may not use is a refusal', async () => {
    const server = await testServer();
    const failed = await failure(platformOn(server).open(anOrder({ group: 'real\\closed' }), atOnce, noSignal));
    expect(failed).toMatchObject({ kind: 'platform_refused', options: { reason: 'retcode_8' } });
  });

  it('when the group cannot be asked for, it stays a refusal', async () => {
    const server = await scriptedServer(({ path }, response) => {
      if (path === '/api/user/add') response.end('{"retcode":"8 Not enough permissions"}');
      else response.destroy();
    });
    expect(await failure(platformOn(server).open(anOrder(), atOnce, noSignal))).toMatchObject({
      kind: 'platform_refused',
    });
  });

  it('a password that the group finds too weak is rejected', async () => {
    const server = await testServer();
    const failed = await failure(platformOn(server).open(anOrder({ group: 'real\\strict' }), atOnce, noSignal));
    expect(failed).toMatchObject({ kind: 'password_rejected' });
  });
});

describe('return codes about the login', () => {
  it('a reserved login is a fault of the field login', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code: 3003, times: 1 });
    const failed = await failure(platformOn(server).open(anOrder({ login: 9 }), atOnce, noSignal));
    expect(failed.options.errors).toEqual([
      { pointer: '#/login', rule: 'reserved', detail: 'is reserved on another trading server' },
    ]);
  });

  it('a login of the connection’s range that belongs to another server is the concern of an operator', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code: 3003, times: 1 });
    const order = anOrder({ login: 9, reserved: true });
    expect(await failure(platformOn(server).open(order, atOnce, noSignal))).toMatchObject({
      kind: 'platform_refused',
      options: { reason: 'login_outside_server_ranges' },
    });
  });

  it('the same order with a login, sent again, opens no second account', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ login: 9 });
    for (let time = 0; time < 3; time += 1) {
      expect(await platform.open(order, atOnce, noSignal)).toEqual({ login: 9 });
    }
    expect(server.accounts()).toHaveLength(1);
  });

  it('a login that exists and cannot be looked at leaves open whose it is', async () => {
    const server = await scriptedServer(({ path }, response) => {
      if (path === '/api/user/add') response.end('{"retcode":"3004 Account already exists"}');
      else response.destroy();
    });
    expect(await failure(platformOn(server).open(anOrder({ login: 9 }), atOnce, noSignal))).toMatchObject({
      kind: 'account_outcome_unknown',
    });
  });

  it.each([true, false])(
    'a login that exists, of somebody whose data is hidden, is taken (reserved: %s)',
    async (reserved) => {
      const platform = platformOn(await testServer({ rights: { personalData: false } }));
      await platform.open(anOrder({ login: 9, masterPassword: 'An0ther#word' }), atOnce, noSignal);
      expect(await failure(platform.open(anOrder({ login: 9, reserved }), atOnce, noSignal))).toMatchObject({
        kind: 'login_taken',
      });
    },
  );

  it.each([3003, 3004])('%i without a login of the caller is the concern of an operator', async (code) => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code, times: 1 });
    expect(await failure(platformOn(server).open(anOrder(), atOnce, noSignal))).toMatchObject({
      kind: 'platform_refused',
    });
  });

  it('a login that exists is taken', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.open(anOrder({ login: 9 }), atOnce, noSignal);
    expect(await failure(platform.open(anOrder({ login: 9 }), atOnce, noSignal))).toMatchObject({
      kind: 'login_taken',
    });
  });
});

describe('answers that cannot be understood', () => {
  it.each([
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

  it.each([400, 404, 500, 502])('HTTP status %i leaves the outcome open', async (status) => {
    const server = await scriptedServer((_request, response) => {
      response.writeHead(status).end('{"retcode":"0 Done","login":"1"}');
    });
    const failed = await failure(platformOn(server).open(anOrder(), atOnce, noSignal));
    expect(failed).toMatchObject({ kind: 'account_outcome_unknown', options: { reason: `http_${status}` } });
    expect(server.requests).toHaveLength(1);
  });

  it('numbers may come as numbers', async () => {
    const server = await scriptedServer((_request, response) => response.end('{"retcode":0,"answer":{"Login":42}}'));
    expect(await platformOn(server).open(anOrder(), atOnce, noSignal)).toEqual({ login: 42 });
  });

  it('an answer in chunks, and a byte at a time, is read whole', async () => {
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
