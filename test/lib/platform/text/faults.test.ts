import { describe, expect, it } from 'vitest';
import {
  ANY_TIME,
  anOrder,
  aServer,
  DIALECTS,
  failureOf,
  forever,
  HASTY,
  textPlatform,
} from '../../../support/text-protocol.ts';

describe.each(DIALECTS)('faults of a simulated %s', (protocol) => {
  it.each([
    ['throttled', {}, 'platform_unavailable', 0],
    ['refused', {}, protocol === 'interface-gateway' ? 'platform_refused' : 'account_outcome_unknown', 0],
    ['down', {}, 'platform_unavailable', 0],
    ['slow', { ms: 900 }, 'account_outcome_unknown', 1],
    ['reply_lost', {}, 'account_outcome_unknown', 1],
    ['session_dropped', {}, 'account_outcome_unknown', 0],
    ['silence', {}, 'account_outcome_unknown', 0],
    ['garbage', {}, 'account_outcome_unknown', 1],
    ['retcode', { code: 1001 }, 'platform_refused', 0],
    ['retcode', { code: 3006 }, 'password_rejected', 0],
    ['retcode', { code: 10 }, 'platform_unavailable', 0],
    ['retcode', { code: 9001 }, 'validation_failed', 0],
    ['retcode', { code: 9002 }, 'platform_refused', 0],
    ['retcode', { code: 9003 }, 'password_rejected', 0],
    ['retcode', { code: 9012 }, 'platform_refused', 0],
  ] as const)('%s %o: %s, and the next order is worked off', async (kind, more, expected, accounts) => {
    const server = await aServer({ dialect: protocol });
    const waits = kind === 'slow' || kind === 'silence';
    const platform = textPlatform(protocol, server.port, waits ? HASTY : {});
    server.faults.set({ kind, times: 1, ...more });
    expect((await failureOf(platform.open(anOrder(), ANY_TIME, forever))).kind).toBe(expected);
    await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(accounts);
    await expect(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever)).resolves.toEqual({
      login: 100_001 + accounts,
    });
  });

  it('a leverage that is not offered can be simulated', async () => {
    const server = await aServer({ dialect: protocol });
    server.faults.set({ kind: 'retcode', code: 9001, times: 1 });
    const { options } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever));
    expect(options.errors).toMatchObject([{ pointer: '#/leverage', rule: 'not_offered' }]);
  });

  it('a slow answer that still comes in time is an account', async () => {
    const server = await aServer({ dialect: protocol });
    server.faults.set({ kind: 'slow', times: 1, ms: 150 });
    await expect(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever)).resolves.toHaveProperty(
      'login',
    );
  });
});
