import { describe, expect, it } from 'vitest';
import { ANY_TIME, failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import { anOrder, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

const DEPOSIT = 10_000.5;

/** An account on a simulated server, and the answer to a deposit. */
async function account(limits: Parameters<typeof platformOn>[1] = {}) {
  const server = await testServer();
  const platform = platformOn(server, limits);
  const { login } = await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
  const fund = () => platform.fund(login, DEPOSIT, ANY_TIME, NEVER_ABORTED);
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
    expect(await platform.holdsFunds(login, NEVER_ABORTED)).toBe(false);
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect((await failureOf(fund())).kind).toBe('account_outcome_unknown');
    expect(await platform.holdsFunds(login, NEVER_ABORTED)).toBe(true);
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
    ['{"retcode":"7 Network"}', 'account_outcome_unknown retcode_7', 'nothing'],
    ['{"retcode":"4010 ?"}', 'platform_unavailable retcode_4010', 'nothing'],
    ['{"retcode":"10009 Done?"}', 'platform_unavailable retcode_10009', 'nothing'],
    ['{"retcode":"3004 ?"}', 'platform_refused retcode_3004', 'content'],
    ['OK', 'account_outcome_unknown malformed_answer', 'nothing'],
    ['{"retcode":"4 Invalid data"}', 'platform_unavailable retcode_4', 'nothing'],
    ['{"retcode":"5 Disk"}', 'platform_unavailable retcode_5', 'nothing'],
    ['{"retcode":"10 No connection"}', 'platform_unavailable retcode_10', 'nothing'],
    ['{"retcode":"12 Too frequent"}', 'platform_unavailable retcode_12', 'nothing'],
    ['{"retcode":"3 Invalid parameters"}', 'platform_refused retcode_3', 'content'],
    ['{"retcode":"8 Not enough permissions"}', 'platform_refused retcode_8', 'not_served'],
    ['{"retcode":"13 Not found"}', 'platform_refused retcode_13', 'content'],
    ['{"retcode":"1001 Invalid account"}', 'platform_refused retcode_1001', 'not_served'],
    ['{"retcode":"4001 ?"}', 'platform_refused retcode_4001', 'content'],
    ['{"retcode":"4005 Money limit reached"}', 'platform_refused retcode_4005', 'content'],
    ['{"retcode":"4009 ?"}', 'platform_refused retcode_4009', 'content'],
    ['{"retcode":"10006 Rejected"}', 'platform_refused retcode_10006', 'content'],
    ['{"retcode":"10018 Market closed"}', 'platform_refused retcode_10018', 'content'],
    ['{"retcode":"10019 Not enough money"}', 'platform_refused retcode_10019', 'content'],
  ])('answered with %s is %s, is sent once, and proves: %s', async (answer, expected, proof) => {
    const { platform, deposits } = await bank('0.00', answer);
    const failure = await failureOf(platform.fund(42, DEPOSIT, ANY_TIME, NEVER_ABORTED));
    expect([`${failure.kind} ${failure.reason}`, failure.proof]).toEqual([expected, proof]);
    expect(deposits()).toBe(1);
  });

  it('to a server that cannot be reached is not sent', async () => {
    const { server, fund, balance } = await account();
    server.faults.set({ kind: 'down', times: 1 });
    expect(await failureOf(fund())).toMatchObject({ kind: 'platform_unavailable', proof: 'unsent' });
    expect(balance()).toBe(0);
  });
});

it.each([
  ['10000.00', true],
  ['0.01', true],
  ['-5.00', true],
  ['0.00', false],
])('An account with the balance %s holds money: %s', async (balance, holds) => {
  expect(await (await bank(balance)).platform.holdsFunds(42, NEVER_ABORTED)).toBe(holds);
});

it('A balance that cannot be read does not show whether the account holds money', async () => {
  const { platform } = await bank('unreadable');
  expect((await failureOf(platform.holdsFunds(42, NEVER_ABORTED))).kind).toBe('platform_unavailable');
});
