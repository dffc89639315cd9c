import { describe, expect, it } from 'vitest';
import { PlatformFailure, type PlatformFailureKind } from '../../../lib/platform/platform.ts';
import { PROBLEMS, Problem } from '../../../lib/problem.ts';
import type { FakeAccounts } from '../../support/account-fakes.ts';
import { beforeEachOpening, KEY } from '../../support/account-tests.ts';

let world: FakeAccounts;
beforeEachOpening((fresh) => {
  world = fresh;
});

describe('A platform that certainly opened nothing', () => {
  const KINDS = {
    group_not_found: 400,
    password_rejected: 400,
    validation_failed: 400,
    platform_refused: 502,
    platform_unavailable: 503,
    login_range_exhausted: 503,
    account_limit_reached: 503,
  } as const satisfies Partial<Record<PlatformFailureKind, number>>;

  it.each(Object.entries(KINDS))('is answered with %s (%i), and the key is free', async (kind, status) => {
    const errors =
      kind === 'validation_failed' ? [{ pointer: '#/login', rule: 'reserved' as const, detail: 'is' }] : undefined;
    const failure = new PlatformFailure(kind as PlatformFailureKind, {
      reason: 'retcode_8',
      ...(errors === undefined ? {} : { errors }),
    });
    for (const sent of [false, true]) {
      world.platform.opening = { kind: 'fails', sent, failure };
      const problem = await world.refused({}, KEY);
      expect(problem).toMatchObject({ type: kind, status });
      expect(problem.options.errors).toEqual(errors);
      expect(problem.options.retryAfterSeconds).toBe(kind === 'platform_unavailable' ? 5 : undefined);
    }
    world.platform.opening = { kind: 'opens' };
    // With another body, even.
    expect((await world.run({ leverage: 50 }, KEY)).replayed).toBe(false);
    expect(world.platform.accounts).toHaveLength(1);
    expect(world.platform.calls).not.toContain('find');
  });

  it('passes on how long to wait', async () => {
    const failure = new PlatformFailure('platform_unavailable', { reason: 'blocked', retryAfterSeconds: 20 });
    world.platform.opening = { kind: 'fails', sent: true, failure };
    expect((await world.refused()).options.retryAfterSeconds).toBe(20);
  });

  it.each([
    ['PlatformRefused', 'platform_refused'],
    ['PlatformUnavailable', 'platform_unavailable'],
  ] as const)('is counted as %s with its reason and its connection', async (event, kind) => {
    const failure = new PlatformFailure(kind, { reason: 'retcode_1012' });
    world.platform.opening = { kind: 'fails', sent: true, failure };
    await world.refused();
    const fields = { reason: 'retcode_1012', connection_id: 'tp5-live-1' };
    expect(world.events).toEqual([{ name: event, fields: expect.objectContaining(fields) }]);
  });

  it('because its secret cannot be read is platform_unavailable, and the key is free', async () => {
    world.platformFails = new PlatformFailure('platform_unavailable', { reason: 'secret_unreadable' });
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'platform_unavailable' });
    world.platformFails = undefined;
    await world.run({}, KEY);
  });
});

it('Every kind of a platform’s failure is a public problem', () => {
  const kinds: PlatformFailureKind[] = [
    'group_not_found',
    'password_rejected',
    'login_taken',
    'validation_failed',
    'platform_refused',
    'platform_unavailable',
    'login_range_exhausted',
    'account_limit_reached',
    'account_outcome_unknown',
  ];
  for (const kind of kinds) expect(new Problem(kind).status).toBe(PROBLEMS[kind].status);
});
