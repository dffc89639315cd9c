import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ANY_TIME, failureOf, forever, outcome } from '../../../support/outcomes.ts';
import { anOrder, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

const DEPOSIT = 10_000.5;

/** An account on a simulated server, and the answer to a deposit. */
async function account(limits: Parameters<typeof platformOn>[1] = {}) {
  const server = await testServer();
  const platform = platformOn(server, limits);
  const { login } = await platform.open(anOrder(), ANY_TIME, forever);
  const fund = () => platform.fund(login, DEPOSIT, ANY_TIME, forever);
  return { server, platform, login, fund, balance: () => server.accounts()[0]?.balance };
}

/** A server whose account has this balance, and which gives this answer to a deposit. */
async function bank(balance: string, deposit = '{"retcode":"0 Done"}') {
  const server = await scriptedServer(({ path }, response) => {
    if (path.startsWith('/api/trade/balance')) response.end(deposit);
    else if (balance === 'unreadable') response.destroy();
    else response.end(JSON.stringify({ retcode: '0 Done', answer: { Login: '42', Balance: balance } }));
  });
  const deposits = () => server.requests.filter(({ path }) => path.startsWith('/api/trade/balance')).length;
  return { platform: platformOn(server), deposits };
}

describe('A deposit', () => {
  it('is one command', async () => {
    const { server, fund, balance } = await account();
    await fund();
    expect(balance()).toBe(DEPOSIT);
    expect(server.commands).toBe(2);
  });

  it('whose answer is lost is not paid again: the balance shows that it arrived', async () => {
    const { server, platform, login, fund, balance } = await account();
    expect(await platform.holdsFunds(login, forever)).toBe(false);
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect((await failureOf(fund())).kind).toBe('account_outcome_unknown');
    expect(await platform.holdsFunds(login, forever)).toBe(true);
    expect(balance()).toBe(DEPOSIT);
  });

  it.each([
    ['session_dropped', {}, 'connection_closed'],
    ['silence', { commandMs: 300 }, 'answer_timeout'],
  ] as const)('that may still arrive has an unknown outcome: %s', async (kind, limits, reason) => {
    const { server, fund, balance } = await account(limits);
    server.faults.set({ kind, times: 1 });
    expect(await failureOf(fund())).toMatchObject({ kind: 'account_outcome_unknown', options: { reason } });
    expect(balance()).toBe(0);
  });

  it.each([
    ['a code that leaves the outcome open', '{"retcode":"7 Network"}', 'retcode_7'],
    ['an undocumented code', '{"retcode":"4005 ?"}', 'retcode_4005'],
    ['no answer of the protocol', 'OK', 'malformed_answer'],
  ])('with %s has an unknown outcome, and is not sent again', async (_what, answer, reason) => {
    const { platform, deposits } = await bank('0.00', answer);
    expect(await outcome(platform.fund(42, DEPOSIT, ANY_TIME, forever))).toBe(`account_outcome_unknown ${reason}`);
    expect(deposits()).toBe(1);
  });

  it.each(['throttled', 'down'] as const)('to a server that is %s is paid after a pause', async (kind) => {
    const { server, fund, balance } = await account();
    server.faults.set({ kind, times: 1 });
    await fund();
    expect(balance()).toBe(DEPOSIT);
  });

  it.each([
    ['{"retcode":"12 Too frequent"}', 'platform_unavailable', 'retcode_12', 3],
    ['{"retcode":"8 Not enough permissions"}', 'platform_refused', 'retcode_8', 1],
    ['{"retcode":"13 Not found"}', 'platform_refused', 'retcode_13', 1],
  ])('answered with %s is certainly not paid', async (answer, kind, reason, tries) => {
    const { platform, deposits } = await bank('0.00', answer);
    expect(await outcome(platform.fund(42, DEPOSIT, ANY_TIME, forever))).toBe(`${kind} ${reason}`);
    expect(deposits()).toBe(tries);
  });

  it('is not tried again when the time is up', async () => {
    const { platform, deposits } = await bank('0.00', '{"retcode":"12 Too frequent"}');
    const abort = new AbortController();
    const paying = failureOf(platform.fund(42, DEPOSIT, ANY_TIME, abort.signal));
    await expect.poll(deposits).toBe(1);
    // The answer has come, and the next try waits.
    await sleep(100);
    abort.abort();
    expect(await paying).toMatchObject({ kind: 'platform_unavailable' });
    expect(deposits()).toBe(1);
  });
});

it.each([
  ['10000.00', true],
  ['0.01', true],
  ['-5.00', true],
  ['0.00', false],
])('An account with the balance %s holds money: %s', async (balance, holds) => {
  expect(await (await bank(balance)).platform.holdsFunds(42, forever)).toBe(holds);
});

it('A balance that cannot be read proves nothing', async () => {
  const { platform } = await bank('unreadable');
  expect((await failureOf(platform.holdsFunds(42, forever))).kind).toBe('platform_unavailable');
});
