import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import Metatrader from 'mt5-sdk';
import { describe, expect, it } from 'vitest';
import { readParameters } from '../../../../infra/local/platforms/web-api-parameters.ts';
import { buildPath } from '../../../../lib/platform/web-api/exchange.ts';
import { MANAGER, testServer } from '../../../support/web-api.ts';
import { loggedIn, USER } from '../../../support/web-api-caller.ts';

describe('the commands of the simulated server', () => {
  it('an added account is answered in strings, numbers too, with the login at both places', async () => {
    const { call } = await loggedIn();
    const { json } = await call('/api/user/add', USER);
    expect(json).toMatchObject({ retcode: '0 Done', login: '5001', answer: { Login: '5001', Leverage: '100' } });
    const { answer } = (await call('/api/user/get?login=5001')).json;
    expect(Object.values(answer as object).every((value) => typeof value === 'string')).toBe(true);
    expect(answer).toMatchObject({ Login: '5001', Rights: '483', Balance: '0.00', Name: 'Ann Lee' });
  });

  it('the body overrides the query', async () => {
    const { call, server } = await loggedIn();
    await call('/api/user/add?group=real%5Cstandard&name=John%20Smith&leverage=50&comment=by%20query', {
      PassMain: USER.PassMain,
      PassInvestor: USER.PassInvestor,
      Name: 'Ann Lee',
    });
    expect(server.accounts()).toMatchObject([{ name: 'Ann Lee', leverage: 50, comment: 'by query' }]);
  });

  it('keys in JSON are case-sensitive', async () => {
    const { retcode } = await loggedIn();
    expect(await retcode('/api/user/add', { ...USER, Name: undefined, name: 'Ann' })).toBe('3 Invalid parameters');
  });

  it.each(['PassMain', 'PassInvestor', 'Group', 'Name', 'Leverage'])('%s is required', async (name) => {
    const { retcode, server } = await loggedIn();
    expect(await retcode('/api/user/add', { ...USER, [name]: undefined })).toBe('3 Invalid parameters');
    expect(server.accounts()).toEqual([]);
  });

  it.each([
    ['a login that exists', { Login: '5001' }, '3004'],
    ['a group that does not exist', { Group: 'none' }, '8'],
    ['a group that the manager may not use', { Group: 'real\\closed' }, '8'],
    ['a password shorter than eight', { PassMain: 'Aa1#aaa' }, '3006'],
    ['a password without a special character', { PassInvestor: 'Aa1aaaaaa' }, '3006'],
    ['a password shorter than the group asks', { Group: 'real\\strict' }, '3006'],
    ['a leverage of nothing', { Leverage: 0 }, '3'],
    ['an unknown member', { Colour: 'red' }, '3'],
    ['a member that is a list', { Comment: ['x'], ApiData: [1] }, '3'],
  ])('%s is refused', async (_what, change, code) => {
    const { call, retcode, server } = await loggedIn();
    await call('/api/user/add', USER);
    expect(String(await retcode('/api/user/add', { ...USER, ...change })).split(' ')[0]).toBe(code);
    expect(server.accounts()).toHaveLength(1);
  });

  it('a login outside the server’s own range belongs to another server, and its own may be used up', async () => {
    const { retcode } = await loggedIn({ logins: { from: 5_001, to: 5_002 } });
    expect(await retcode('/api/user/add', { ...USER, Login: '5000' })).toBe('3003 Login reserved at another server');
    expect(await retcode('/api/user/add', { ...USER, Login: '5002' })).toBe('0 Done');
    expect(await retcode('/api/user/add', USER)).toBe('0 Done');
    expect(await retcode('/api/user/add', USER)).toBe('3002 Login range exhausted');
  });

  it('a comment is cut at 63 and a name at 127, silently', async () => {
    const { call, server } = await loggedIn();
    await call('/api/user/add', { ...USER, Name: 'n'.repeat(200), Comment: 'c'.repeat(200) });
    expect(server.accounts()).toMatchObject([{ name: 'n'.repeat(127), comment: 'c'.repeat(63) }]);
  });
});

describe('the accounts of the simulated server', () => {
  it('are next to bulk accounts, which can be looked up and are not listed', async () => {
    const { call, retcode, server } = await loggedIn();
    server.populate({ group: 'real\\standard', from: 6_000, count: 1_000 });
    await call('/api/user/add', USER);
    expect((await call('/api/user/get?login=6999')).json.answer).toMatchObject({ Login: '6999', Name: 'Client 6999' });
    expect(await retcode('/api/user/get?login=7000')).toBe('13 Not found');
    expect(await retcode('/api/user/add', { ...USER, Login: '6000' })).toBe('3004 Account already exists');
    expect((await call('/api/user/logins?group=real%5C*')).json.answer).toHaveLength(1_001);
    expect(server.accounts()).toHaveLength(1);
  });

  it('logins are listed by group', async () => {
    const { call } = await loggedIn({ groups: [{ name: 'real\\a' }, { name: 'real\\b' }, { name: 'demo' }] });
    for (const Group of ['real\\a', 'real\\b', 'demo']) await call('/api/user/add', { ...USER, Group });
    const logins = async (groups: string) => (await call(`/api/user/logins?group=${groups}`)).json.answer;
    expect(await logins('real%5Ca,demo')).toEqual(['5001', '5003']);
    expect(await logins('real%5C%5Ca')).toEqual(['5001']);
    expect(await logins('real*')).toEqual(['5001', '5002']);
    expect(await logins('none')).toEqual([]);
    expect(await logins('*')).toEqual(['5001', '5002', '5003']);
  });

  it('an account that is not there is not found', async () => {
    const { retcode } = await loggedIn();
    for (const path of ['user/get', 'trade/balance']) {
      expect(await retcode(`/api/${path}?login=1`)).toBe('13 Not found');
    }
    expect(await retcode('/api/group/get?group=none')).toBe('13 Not found');
    expect(await retcode('/api/group/get?group=real%5Cclosed')).toBe('8 Not enough permissions');
    expect(await retcode('/api/group/get?group=real%5Cstandard')).toBe('0 Done');
  });

  it('passwords are checked by their kind', async () => {
    const { call, retcode } = await loggedIn();
    await call('/api/user/add', USER);
    const check = (Type: string, Password: string) =>
      retcode('/api/user/check_password', { Login: '5001', Type, Password });
    expect(await check('main', USER.PassMain)).toBe('0 Done');
    expect(await check('investor', USER.PassInvestor)).toBe('0 Done');
    expect(await check('main', USER.PassInvestor)).toBe('3006 Invalid account password');
    expect(await check('other', USER.PassMain)).toBe('3 Invalid parameters');
  });

  it('a deposit is added to the balance, within the limit of one operation', async () => {
    const { call, retcode, server } = await loggedIn();
    await call('/api/user/add', USER);
    const balance = (type: number, amount: string) =>
      retcode(`/api/trade/balance?login=5001&type=${type}&balance=${amount}&comment=x`);
    expect(await balance(2, '100.50')).toBe('0 Done');
    expect(await balance(2, '-50')).toBe('0 Done');
    expect(server.accounts()).toMatchObject([{ balance: 50.5 }]);
    expect(String(await balance(2, '-51'))).toMatch(/^10019 /);
    expect(String(await balance(2, '1000000001'))).toMatch(/^4005 /);
    expect(await balance(1, '1')).toBe('3 Invalid parameters');
    expect(await balance(2, 'x')).toBe('3 Invalid parameters');
  });
});

describe('faults of the commands', () => {
  it('only commands are counted, and only they have faults', async () => {
    const { call, server } = await loggedIn();
    server.faults.set({ kind: 'throttled', times: 1 });
    await call('/api/test/access');
    expect(server.commands).toBe(0);
    expect((await call('/api/user/get?login=1')).json.retcode).toBe('12 Too frequent requests');
    expect((await call('/api/user/get?login=1')).json.retcode).toBe('13 Not found');
    expect(server.commands).toBe(2);
  });

  it.each(['orderly', 'cut', 'reset'] as const)(
    'a late server ends the connection, %s, and works the command off after',
    async (ending) => {
      const { call, server } = await loggedIn();
      server.faults.set({ kind: 'late', times: 1, ms: 150, ending });
      expect((await call('/api/user/logins?group=demo')).status).toBe(200);
      await expect(call('/api/user/add', USER)).rejects.toThrow();
      expect(server.accounts()).toEqual([]);
      await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(1);
    },
  );

  it('a lost reply waits for a command that changes something', async () => {
    const { call, server } = await loggedIn();
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect((await call('/api/user/logins?group=demo')).status).toBe(200);
    await expect(call('/api/user/add', USER)).rejects.toThrow();
    expect(server.accounts()).toHaveLength(1);
  });
});

it('every value survives the way through a query', async () => {
  const alphabet = fc.constantFrom('\\', '=', '|', '\n', '&', '+', '%', ' ', 'a', 'é', '🙂', '#');
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: alphabet, maxLength: 12 }), async (value) => {
      const url = buildPath('/api/user/logins', { group: value, login: 7 });
      const { path, parameters } = await readParameters(
        Object.assign(Readable.from([]), { url }) as unknown as IncomingMessage,
      );
      expect({ path, parameters }).toEqual({ path: '/api/user/logins', parameters: { Group: value, Login: '7' } });
    }),
  );
});

it('an independent public client logs in, opens, reads and funds accounts on it', async () => {
  const server = await testServer();
  const auth = { login: String(MANAGER.login), password: MANAGER.password, build: '1985', agent: 'sdk' };
  const sdk = new Metatrader('127.0.0.1', server.port, auth);

  const password = 'Ma5ter!word';
  const created = await sdk.users.create({
    ...USER,
    PassMain: password,
    Email: 'ann@example.com',
    Comment: 'by another client',
  });
  expect(created).toMatchObject({ Login: '5001', Group: 'real\\standard' });
  expect(await sdk.users.get(5_001)).toMatchObject({ Login: '5001', Name: 'Ann Lee', Comment: 'by another client' });
  expect(await sdk.users.checkPassword(5_001, password)).toBe(true);
  expect(await sdk.users.checkPassword(5_001, 'Another!1')).toBe(false);
  expect(await sdk.trade.updateTradeBalanceGet({ login: 5_001, type: 2, balance: 50, comment: 'gift' })).toEqual({
    Ticket: '1',
  });
  expect(server.accounts()).toMatchObject([{ login: 5_001, balance: 50 }]);
});
