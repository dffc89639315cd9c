import { describe, expect, it } from 'vitest';
import { atOnce, noting } from '../../../support/departures.ts';
import { anOrder, failure, noSignal, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

describe('the deposit of a demo account', () => {
  const deposit = 10_000.5;

  it('is put on the account', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const order = anOrder({ deposit });
    const { login } = await platform.open(order, atOnce, noSignal);
    await platform.fund(order, login, atOnce, noSignal);
    expect(server.accounts()[0]?.balance).toBe(deposit);
    expect(server.commands).toBe(2);
  });

  it('is not put twice when the answer is lost: the balance tells that it arrived', async () => {
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

  it('that met a connection which the server had ended is not sent again before it is settled', async () => {
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

  it('that may still arrive fails, and is not tried again by itself', async () => {
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

  it('that the server refuses fails', async () => {
    const platform = platformOn(await testServer());
    expect(await failure(platform.fund(anOrder({ deposit }), 1, atOnce, noSignal))).toMatchObject({
      kind: 'platform_refused',
      options: { reason: 'retcode_13' },
    });
  });

  it('of nothing asks nothing', async () => {
    const server = await testServer();
    await platformOn(server).fund(anOrder(), 1, atOnce, noSignal);
    expect({ sessions: server.sessions, commands: server.commands }).toEqual({ sessions: 0, commands: 0 });
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

  it.each(['throttled', 'down'] as const)('because the server was %s is made after a pause', async (kind) => {
    const server = await testServer();
    const platform = platformOn(server);
    const { login } = await platform.open(order, atOnce, noSignal);
    server.faults.set({ kind, times: 1 });
    await platform.fund(order, login, atOnce, noSignal);
    expect(server.accounts()[0]?.balance).toBe(10_000);
  });

  it('three times, because the server is busy, fails, and was noted once', async () => {
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

  it('is not tried again when the time is up', async () => {
    const { platform, deposits } = await bank('0.00', '{"retcode":"12 Too frequent"}');
    const abort = new AbortController();
    const paying = failure(platform.fund(order, 42, atOnce, abort.signal));
    await expect.poll(deposits).toBe(1);
    abort.abort();
    expect(await paying).toMatchObject({ kind: 'platform_unavailable' });
    expect(deposits()).toBe(1);
  });

  it('because it was refused is not tried again', async () => {
    const { platform, deposits } = await bank('0.00', '{"retcode":"8 Not enough permissions"}');
    expect(await failure(platform.fund(order, 42, atOnce, noSignal))).toMatchObject({ kind: 'platform_refused' });
    expect(deposits()).toBe(1);
  });

  it.each([
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

  it.each(['10000.00', '0.01', '-5.00'])('may have arrived on an account that holds %s', async (balance) => {
    const { platform } = await bank(balance, '{"retcode":"0 Done"}');
    expect(await platform.holdsFunds(42, noSignal)).toBe(true);
  });

  it('has not arrived on an account that holds nothing', async () => {
    const { platform } = await bank('0.00', '{"retcode":"0 Done"}');
    expect(await platform.holdsFunds(42, noSignal)).toBe(false);
  });

  it('cannot be looked for where the balance cannot be read', async () => {
    const { platform } = await bank('unreadable', '{"retcode":"0 Done"}');
    expect(await failure(platform.holdsFunds(42, noSignal))).toMatchObject({ kind: 'platform_unavailable' });
  });

  it('in what comes before the sending is not sent', async () => {
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
