import { describe, expect, it } from 'vitest';
import { type FaultKind, PLATFORM_FAULT_KINDS } from '../../../../infra/local/faults.ts';
import { holdSlowCalls } from '../../../support/held.ts';
import { ANY_TIME, failureOf, NEVER_ABORTED, outcomeOf } from '../../../support/outcomes.ts';
import { anOrder, platformOn, testServer } from '../../../support/web-api.ts';

/** The outcome of an opening under each fault, and whether the account was opened. */
const OUTCOMES = {
  throttled: { kind: 'platform_unavailable', reason: 'retcode_12', opened: false },
  refused: { kind: 'platform_refused', reason: 'retcode_8', opened: false },
  down: { kind: 'platform_unavailable', reason: 'connect_econnrefused', opened: false },
  slow: { kind: 'account_outcome_unknown', reason: 'answer_timeout', opened: true },
  reply_lost: { kind: 'account_outcome_unknown', reason: 'connection_closed', opened: true },
  late: { kind: 'account_outcome_unknown', reason: 'connection_closed', opened: true },
  session_dropped: { kind: 'account_outcome_unknown', reason: 'connection_closed', opened: false },
  retcode: { kind: 'account_outcome_unknown', reason: 'retcode_9', opened: false },
  executed_retcode: { kind: 'account_outcome_unknown', reason: 'retcode_9', opened: true },
  executed_twice: { kind: 'login_taken', reason: 'retcode_3004', opened: true },
  silence: { kind: 'account_outcome_unknown', reason: 'answer_timeout', opened: false },
  garbage: { kind: 'account_outcome_unknown', reason: 'malformed_answer', opened: true },
} as const;

/** Other faults are answered, and a busy machine could exceed this time. */
const limitsFor = (fault: FaultKind) => (fault === 'slow' || fault === 'silence' ? { commandMs: 1_000 } : {});

async function openUnder(fault: keyof typeof OUTCOMES, session: 'warm' | 'cold'): Promise<void> {
  const expected = OUTCOMES[fault];
  const server = await testServer();
  const platform = platformOn(server, limitsFor(fault));
  if (session === 'warm') await platform.check(NEVER_ABORTED);
  const slow = holdSlowCalls(server.faults);
  server.faults.set({ kind: fault, times: 1, code: 9 });
  const order = anOrder({ login: 4_711 });
  const failed = await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED));
  expect(failed, session).toMatchObject({ kind: expected.kind, options: { reason: expected.reason } });
  // The only other command is the question for the group after code 8.
  expect(server.commands, session).toBe(fault === 'down' ? 0 : fault === 'refused' ? 2 : 1);

  const { login } = await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
  expect(server.access(login, order.masterPassword)).toBe('master');
  slow.letGo();
  const accounts = () => server.accounts().filter(({ comment }) => comment === order.operationId);
  await expect.poll(accounts, { message: session }).toHaveLength(expected.opened ? 1 : 0);
}

describe('An opening has its outcome on a warm and on a cold session, is sent once, and the next one works', () => {
  const kinds = PLATFORM_FAULT_KINDS.filter((kind) => kind !== 'login_ignored');
  it.each(kinds)('under the fault %s', async (fault) => {
    await Promise.all([openUnder(fault, 'warm'), openUnder(fault, 'cold')]);
  });
});

it('A server that ignores the login says which account it has opened', async () => {
  const server = await testServer();
  server.faults.set({ kind: 'login_ignored', times: 1 });
  expect(await platformOn(server).open(anOrder({ login: 4_711 }), ANY_TIME, NEVER_ABORTED)).toEqual({ login: 5_001 });
});

describe('A lost answer', () => {
  it.each(['orderly', 'cut', 'reset'] as const)(
    'is followed by an account, if the server ends the connection, %s, and executes the command later',
    async (ending) => {
      const server = await testServer();
      const platform = platformOn(server);
      const late = holdSlowCalls(server.faults);
      server.faults.set({ kind: 'late', times: 1, ending });
      const order = anOrder({ login: 424_242 });
      const look = () => platform.look(424_242, order.operationId, NEVER_ABORTED).then(({ is }) => is);
      expect((await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED))).kind).toBe('account_outcome_unknown');
      expect(await look()).toBe('absent');
      // The same command may be sent again: one of the two is refused.
      expect(await platform.open(order, ANY_TIME, NEVER_ABORTED)).toEqual({ login: 424_242 });
      late.letGo();
      expect((await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED))).kind).toBe('login_taken');
      expect(await look()).toBe('ours');
      expect(server.accounts()).toHaveLength(1);
    },
  );

  it('whose caller has no more time ends at once, and the next command goes out on a new session', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.check(NEVER_ABORTED);
    server.faults.set({ kind: 'silence', times: 1 });
    expect(await outcomeOf(platform.open(anOrder(), ANY_TIME, AbortSignal.timeout(300)))).toBe(
      'account_outcome_unknown answer_timeout',
    );
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    expect(server.sessions).toBe(2);
  });
});
