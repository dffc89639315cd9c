import { describe, expect, it } from 'vitest';
import { PlatformFailure } from '../../../../lib/platform/platform.ts';
import { failureOf } from '../../../support/outcomes.ts';
import { openWebApiAccount, scriptedServer, testServer } from '../../../support/web-api.ts';

/** The result of an opening by return code, and what it proves. */
const OUTCOMES = [
  [2, 'account_outcome_unknown', 'nothing'],
  [3, 'platform_refused', 'content'],
  [4, 'platform_unavailable', 'nothing'],
  [5, 'platform_unavailable', 'nothing'],
  [6, 'platform_unavailable', 'nothing'],
  [7, 'account_outcome_unknown', 'nothing'],
  [8, 'platform_refused', 'not_served'],
  [9, 'account_outcome_unknown', 'nothing'],
  [10, 'platform_unavailable', 'nothing'],
  [11, 'platform_unavailable', 'nothing'],
  [12, 'platform_unavailable', 'nothing'],
  [13, 'platform_refused', 'content'],
  [14, 'account_outcome_unknown', 'nothing'],
  [15, 'platform_unavailable', 'nothing'],
  [16, 'account_outcome_unknown', 'nothing'],
  [17, 'account_outcome_unknown', 'nothing'],
  [18, 'platform_unavailable', 'nothing'],
  [999, 'platform_unavailable', 'nothing'],
  [1000, 'platform_unavailable', 'nothing'],
  [1001, 'platform_refused', 'not_served'],
  [1002, 'platform_refused', 'not_served'],
  [1012, 'platform_refused', 'not_served'],
  [1018, 'platform_unavailable', 'not_served'],
  [1022, 'platform_refused', 'not_served'],
  [1034, 'platform_refused', 'not_served'],
  [1035, 'platform_unavailable', 'nothing'],
  [3000, 'platform_unavailable', 'nothing'],
  [3001, 'platform_refused', 'content'],
  [3002, 'login_range_exhausted', 'content'],
  [3003, 'validation_failed', 'content'],
  [3004, 'login_taken', 'nothing'],
  [3005, 'platform_refused', 'content'],
  [3006, 'password_rejected', 'content'],
  [3007, 'account_limit_reached', 'content'],
  [3008, 'platform_unavailable', 'nothing'],
  [4005, 'platform_unavailable', 'nothing'],
  [9999, 'platform_unavailable', 'nothing'],
  [10009, 'platform_unavailable', 'nothing'],
] as const;

describe('return codes of an opening', () => {
  it.each(OUTCOMES)('%i is %s, and proves: %s', async (code, kind, proof) => {
    const server = await testServer();
    // After code 3 the body is sent once more, with another content type.
    server.faults.set({ kind: 'retcode', code, times: code === 3 ? 2 : 1 });
    const failed = await failureOf(openWebApiAccount(server, { login: 9, loginGiven: true }));
    expect(failed).toBeInstanceOf(PlatformFailure);
    expect(failed).toMatchObject({ kind, proof, options: { reason: `retcode_${code}` } });
    expect(server.accounts()).toEqual([]);
  });

  it('1 is done, as 0 is', async () => {
    const server = await scriptedServer((_request, response) => {
      response.end('{"retcode":"1 OK","answer":{"Login":"42"}}');
    });
    expect(await openWebApiAccount(server)).toEqual({ login: 42 });
  });

  it('too frequent requests say when to retry', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'throttled', times: 1 });
    const failed = await failureOf(openWebApiAccount(server));
    expect(failed.options.retryAfterSeconds).toBeGreaterThan(0);
  });

  it('a group that does not exist is not found', async () => {
    const server = await testServer();
    expect(await failureOf(openWebApiAccount(server, { group: 'real\\none' }))).toMatchObject({
      ...{ kind: 'group_not_found', reason: 'retcode_8', proof: 'content' },
    });
  });

  it('a group that the manager may not use is a refusal', async () => {
    const server = await testServer();
    expect(await failureOf(openWebApiAccount(server, { group: 'real\\closed' }))).toMatchObject({
      ...{ kind: 'platform_refused', reason: 'retcode_8', proof: 'not_served' },
    });
  });

  it('when the group cannot be read, it stays a refusal', async () => {
    const server = await scriptedServer(({ path }, response) => {
      if (path === '/api/user/add') response.end('{"retcode":"8 Not enough permissions"}');
      else response.destroy();
    });
    expect((await failureOf(openWebApiAccount(server))).kind).toBe('platform_refused');
  });

  it('a password that the group finds too weak is rejected', async () => {
    const server = await testServer();
    expect((await failureOf(openWebApiAccount(server, { group: 'real\\strict' }))).kind).toBe('password_rejected');
  });
});

describe('return codes about the login', () => {
  it.each([
    [3003, true, { kind: 'validation_failed', options: { errors: [{ pointer: '#/login', rule: 'reserved' }] } }],
    [3003, false, { kind: 'platform_refused', options: { reason: 'login_outside_server_ranges' } }],
    [3004, true, { kind: 'login_taken' }],
    [3004, false, { kind: 'login_taken' }],
  ])('%i for a login, of the caller: %s', async (code, loginGiven, expected) => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code, times: 1 });
    const failed = await failureOf(openWebApiAccount(server, { login: 9, loginGiven }));
    expect(failed).toMatchObject(expected);
    expect(server.commands).toBe(1);
  });
});
