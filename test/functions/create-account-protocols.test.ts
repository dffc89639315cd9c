import { describe, expect, it } from 'vitest';
import { AccountCaller, ALL } from '../support/account-caller.ts';

/** Those whose protocol can do everything. */
const ABLE = ALL.filter((id) => !id.startsWith('reg'));
const GIVEN = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };
const caller = new AccountCaller();
const { ask, serverOf, accountOf, access } = caller;

describe.each(ABLE)('On %s', (connection) => {
  it('enable_readonly opens an account that cannot trade', async () => {
    expect(accountOf(connection, await ask(connection, { enable_readonly: true })).readonly).toBe(true);
    expect(accountOf(connection, await ask(connection, { enable_readonly: false })).readonly).toBe(false);
  });

  it('a login of one’s own is taken, once', async () => {
    const login = 700_123 + ABLE.indexOf(connection);
    const answer = await ask(connection, { login });
    expect(answer).toMatchObject({ status: 200, body: { login } });
    expect(access(connection, answer)).toEqual(['master', 'investor']);
    expect(await ask(connection, { login })).toMatchObject({ status: 409, body: { type: 'login_taken' } });
    expect(access(connection, answer)).toEqual(['master', 'investor']);
  });
});

describe.each(['reg-live', 'reg-demo'] as const)('On %s', (connection) => {
  it.each([
    ['a login of one’s own', { login: 700_123 }, [['#/login', 'not_supported']]],
    ['enable_readonly', { enable_readonly: true }, [['#/enable_readonly', 'not_supported']]],
    [
      'both at once',
      { enable_readonly: true, login: 700_123 },
      [
        ['#/login', 'not_supported'],
        ['#/enable_readonly', 'not_supported'],
      ],
    ],
  ])('%s is refused with not_supported_by_connection, and nothing is sent', async (_, more, errors) => {
    const { commands } = serverOf(connection);
    const answer = await ask(connection, more, { key: 'unsupported' });
    expect(answer).toMatchObject({ status: 400, body: { type: 'not_supported_by_connection' } });
    const faults = answer.body.errors as { pointer: string; rule: string; detail: string }[];
    expect(faults.map(({ pointer, rule }) => [pointer, rule])).toEqual(errors);
    expect(serverOf(connection).commands).toBe(commands);
  });

  it('enable_readonly may be false', async () => {
    expect((await ask(connection, { enable_readonly: false })).status).toBe(200);
  });
});

it.each(['reg-live', 'gw-live'] as const)(
  'On %s a password that its protocol cannot carry is refused with not_supported_by_connection',
  async (connection) => {
    const { commands } = serverOf(connection);
    const answer = await ask(connection, { master_password: 'Ma5ter|word', investor_password: 'Inve5tor=wd' });
    expect(answer).toMatchObject({ status: 400, body: { type: 'not_supported_by_connection' } });
    expect(answer.body.errors).toMatchObject([{ pointer: '#/master_password' }, { pointer: '#/investor_password' }]);
    expect(JSON.stringify(answer)).not.toMatch(/Ma5ter|Inve5tor/);
    expect(serverOf(connection).commands).toBe(commands);
  },
);

it.each([
  ['tp5-live', 'real\\strict'],
  ['reg-live', 'strict'],
  ['gw-live', 'strict'],
] as const)('A group on %s that asks for more of a password answers password_rejected', async (connection, group) => {
  expect(await ask(connection, { group, ...GIVEN })).toMatchObject({
    status: 400,
    body: { type: 'password_rejected' },
  });
});
