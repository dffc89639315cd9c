import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FaultKind, PLATFORM_FAULT_KINDS } from '../../../../infra/local/faults.ts';
import { type AccountOrder, PlatformFailure } from '../../../../lib/platform/platform.ts';
import { atOnce } from '../../../support/departures.ts';
import { held } from '../../../support/held.ts';
import { runs } from '../../../support/runs.ts';
import { anOrder, failure, noSignal, platformOn, testServer } from '../../../support/web-api.ts';

/** What an opening comes to under each fault, on a session that stands already; and whether the account was opened. */
const OUTCOMES = {
  throttled: { kind: 'platform_unavailable', reason: 'retcode_12', opened: false },
  refused: { kind: 'platform_refused', reason: 'retcode_8', opened: false },
  down: { kind: 'platform_unavailable', reason: 'connect_econnrefused', opened: false },
  slow: { kind: 'account_outcome_unknown', reason: 'answer_timeout', opened: true },
  reply_lost: { kind: 'account_outcome_unknown', reason: 'connection_closed', opened: true },
  late: { kind: 'account_outcome_unknown', reason: 'connection_closed', opened: true },
  session_dropped: { kind: 'account_outcome_unknown', reason: 'connection_closed', opened: false },
  retcode: { kind: 'account_outcome_unknown', reason: 'retcode_9', opened: false },
  silence: { kind: 'account_outcome_unknown', reason: 'answer_timeout', opened: false },
  garbage: { kind: 'account_outcome_unknown', reason: 'malformed_answer', opened: true },
} as const;

/** Only what is not answered in time needs an end of the waiting, which a busy machine would reach first. */
const limitsFor = (fault: FaultKind) => (fault === 'slow' || fault === 'silence' ? { commandMs: 1_000 } : {});
const SLOW_MS = 1_300;

/** The server acts when nobody waits for its answer any more. */
const isLate = (fault: FaultKind) => fault === 'slow' || fault === 'late';

describe.each(PLATFORM_FAULT_KINDS)('the fault %s', (fault) => {
  const expected = OUTCOMES[fault];

  it.each(['warm', 'cold'])('has its outcome on a %s session, and the next call works', async (session) => {
    const server = await testServer();
    const platform = platformOn(server, limitsFor(fault));
    if (session === 'warm') await platform.check(noSignal);
    server.faults.set({ kind: fault, times: 1, code: 9, ms: SLOW_MS });
    const order = anOrder();
    const failed = await failure(platform.open(order, atOnce, noSignal));
    expect(failed).toMatchObject({ kind: expected.kind, options: { reason: expected.reason } });

    const { login } = await platform.open(anOrder(), atOnce, noSignal);
    expect(server.access(login, order.masterPassword)).toBe('master');
    if (isLate(fault)) await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(2);
    expect(server.accounts().filter(({ comment }) => comment === order.operationId)).toHaveLength(
      expected.opened ? 1 : 0,
    );
  });

  it('never makes the opening be sent twice', async () => {
    const server = await testServer();
    const platform = platformOn(server, limitsFor(fault));
    await platform.check(noSignal);
    server.faults.set({ kind: fault, times: 1, code: 9, ms: SLOW_MS });
    await failure(platform.open(anOrder(), atOnce, noSignal));
    if (isLate(fault)) await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(1);
    expect(server.accounts().length).toBe(expected.opened ? 1 : 0);
    // The only other command is the question for the group after code 8.
    expect(server.commands).toBe(fault === 'down' ? 0 : fault === 'refused' ? 2 : 1);
  });

  it('strikes the call it is set for', async () => {
    const server = await testServer();
    const platform = platformOn(server, limitsFor(fault));
    server.faults.set({ kind: fault, times: 1, after: 2, code: 9, ms: SLOW_MS });
    await platform.open(anOrder(), atOnce, noSignal);
    await platform.open(anOrder(), atOnce, noSignal);
    expect(await failure(platform.open(anOrder(), atOnce, noSignal))).toMatchObject({ kind: expected.kind });
    await platform.open(anOrder(), atOnce, noSignal);
  });
});

describe('the fault down', () => {
  it('lasts for as many calls as it was set for', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.check(noSignal);
    server.faults.set({ kind: 'down', times: 3 });
    for (let call = 0; call < 3; call += 1) {
      expect(await failure(platform.check(noSignal))).toMatchObject({ options: { reason: 'connect_econnrefused' } });
    }
    await platform.check(noSignal);
    expect(server.sessions).toBe(2);
  });
});

describe('a lost answer', () => {
  it('is looked up: the account that was opened is found', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    for (const login of [undefined, 424_242]) {
      server.faults.set({ kind: 'reply_lost', times: 1 });
      const order = anOrder(login === undefined ? {} : { login });
      await failure(platform.open(order, atOnce, noSignal));
      expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: login ?? 5_001 });
    }
  });

  it('of an opening that never was is looked up: absent', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    server.faults.set({ kind: 'session_dropped', times: 1 });
    const order = anOrder();
    await failure(platform.open(order, atOnce, noSignal));
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
  });

  it('of a slow server is found once the server has come to it', async () => {
    const server = await testServer();
    const late = held(server.faults);
    server.faults.set({ kind: 'slow', times: 1 });
    const order = anOrder();
    await failure(platformOn(server, { commandMs: 100 }).open(order, atOnce, noSignal));
    const platform = platformOn(server);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
    late.letGo();
    await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(1);
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 5_001 });
  });

  it.each(['orderly', 'cut', 'reset'] as const)(
    'is not taken for absence when the server ends the connection, %s, and acts after',
    async (ending) => {
      const server = await testServer();
      const platform = platformOn(server);
      await platform.check(noSignal);
      const late = held(server.faults);
      server.faults.set({ kind: 'late', times: 1, ending });
      const order = anOrder({ login: 424_242 });
      expect(await failure(platform.open(order, atOnce, noSignal))).toMatchObject({ kind: 'account_outcome_unknown' });
      expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
      late.letGo();
      await expect.poll(() => platform.find(order, noSignal)).toEqual({ kind: 'found', login: 424_242 });
    },
  );

  it('may be asked for by sending the same order again, however late the server acts', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    server.faults.set({ kind: 'late', times: 1, ms: 300 });
    const order = anOrder({ login: 424_242 });
    await failure(platform.open(order, atOnce, noSignal));
    expect(await platform.open(order, atOnce, noSignal)).toEqual({ login: 424_242 });
    // The late command is refused, and nobody hears of it.
    await sleep(400);
    expect(server.accounts().map(({ comment }) => comment)).toEqual([order.operationId]);
  });

  it('whose caller has no more time ends at once, and the next command goes out on a new session', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.check(noSignal);
    server.faults.set({ kind: 'silence', times: 1 });
    const failed = await failure(platform.open(anOrder(), atOnce, AbortSignal.timeout(300)));
    expect(failed).toMatchObject({ kind: 'account_outcome_unknown', options: { reason: 'answer_timeout' } });
    await platform.open(anOrder(), atOnce, noSignal);
    expect(server.sessions).toBe(2);
  });
});

it('whatever goes wrong wherever, no order has two accounts, and every outcome is the truth', async () => {
  const fault = fc.record({
    kind: fc.constantFrom(...PLATFORM_FAULT_KINDS),
    times: fc.integer({ min: 1, max: 3 }),
    after: fc.integer({ min: 0, max: 4 }),
    code: fc.constantFrom(3, 8, 9, 12, 3006),
    ms: fc.constantFrom(10, 60),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fault, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 6 }),
      async (faults, atATime) => {
        const server = await testServer();
        const platform = platformOn(server, { commandMs: 40 });
        const patient = platformOn(server);
        const outcomes: { order: AccountOrder; login?: number; kind?: string }[] = [];
        for (const one of faults) {
          server.faults.set(one);
          const orders = Array.from({ length: atATime }, () => anOrder());
          await Promise.all(
            orders.map(async (order) => {
              try {
                outcomes.push({ order, ...(await platform.open(order, atOnce, noSignal)) });
              } catch (error) {
                if (!(error instanceof PlatformFailure)) throw error;
                outcomes.push({ order, kind: error.kind });
              }
            }),
          );
          if (atATime === 1) server.forgetSessions();
        }
        await sleep(200);
        server.faults.clear();
        for (const { order, login, kind } of outcomes) {
          const accounts = server.accounts().filter(({ comment }) => comment === order.operationId);
          if (login !== undefined) expect(accounts).toMatchObject([{ login }]);
          else if (kind !== 'account_outcome_unknown') expect(accounts).toEqual([]);
          expect(accounts.length).toBeLessThanOrEqual(1);
          const found = accounts[0];
          expect(await patient.find(order, noSignal)).toEqual(
            found === undefined ? { kind: 'absent' } : { kind: 'found', login: found.login },
          );
        }
      },
    ),
    runs(8),
  );
});
