import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import Metatrader from 'mt5-sdk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readParameters } from '../../../../infra/local/platforms/web-api-accounts.ts';
import type { WebApiServer } from '../../../../infra/local/platforms/web-api-server.ts';
import { buildPath } from '../../../../lib/platform/tp5/exchange.ts';
import { MANAGER, testServer } from '../../../support/web-api.ts';

interface Answer {
  status: number;
  text: string;
  json: Record<string, unknown>;
}

/** An independent client with one connection, written from the protocol's document alone. */
function client(server: WebApiServer) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());

  function call(path: string, body?: unknown): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { port, ca } = server;
      const options = { host: '127.0.0.1', port, ca, agent, path, method: body === undefined ? 'GET' : 'POST' };
      const sent = request({ ...options, headers: { Connection: 'keep-alive' } }, async (response) => {
        const content = await text(response);
        const json = content.startsWith('{') ? JSON.parse(content) : {};
        resolve({ status: response.statusCode ?? 0, text: content, json });
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  const md5 = (...parts: Buffer[]) => createHash('md5').update(Buffer.concat(parts)).digest();

  async function logIn({ password = MANAGER.password, login = MANAGER.login, version = 484 } = {}): Promise<Answer> {
    const start = await call(`/api/auth/start?version=${version}&agent=Test&login=${login}&type=manager`);
    if (start.json.retcode !== '0 Done') return start;
    const hash = md5(md5(Buffer.from(password, 'utf16le')), Buffer.from('WebAPI'));
    const proof = md5(hash, Buffer.from(String(start.json.srv_rand), 'hex')).toString('hex');
    return call(`/api/auth/answer?srv_rand_answer=${proof}&cli_rand=4db98fec17aab4dc5a240bdc659e8395`);
  }

  const isConnected = () => Object.keys({ ...agent.sockets, ...agent.freeSockets }).length > 0;
  const retcode = async (path: string, body?: unknown) => (await call(path, body)).json.retcode;
  return { call, retcode, logIn, isConnected };
}

/** A simulated server, and a client that has a session with it. */
async function loggedIn(options: Parameters<typeof testServer>[0] = {}) {
  const server = await testServer(options);
  const caller = client(server);
  await caller.logIn();
  return { server, ...caller };
}

/** The minimum that `user/add` needs. */
const USER = {
  PassMain: 'Ma5ter#word',
  PassInvestor: 'Inve5tor#wd',
  Group: 'real\\standard',
  Name: 'Ann Lee',
  Leverage: 100,
};
const FORBIDDEN = { status: 403, text: '403 Forbidden' };

describe('a session of the simulated server', () => {
  it('is authenticated by both sides, with the documented answer, and belongs to its connection', async () => {
    const server = await testServer();
    const { call, logIn } = client(server);
    expect((await logIn()).json).toMatchObject({
      retcode: '0 Done',
      cli_rand_answer: '1732021b1b332f51660b2b315eed3a35',
    });
    expect(await call('/api/test/access')).toMatchObject({ status: 200, text: '{"retcode":"0 Done"}' });
    expect(await client(server).call('/api/test/access')).toMatchObject(FORBIDDEN);
  });

  it.each(['/api/user/get?login=1', '/api/user/add', '/api/auth/answer?srv_rand_answer=00', '/'])(
    'is needed for every command: %s before it is answered with the text 403 Forbidden',
    async (path) => {
      const server = await testServer();
      expect(await client(server).call(path)).toMatchObject(FORBIDDEN);
      expect(server.commands).toBe(0);
    },
  );

  it('is not given to a wrong password, an unknown manager or an old client', async () => {
    const { call, logIn } = client(await testServer());
    expect(await logIn({ password: 'another' })).toMatchObject(FORBIDDEN);
    expect(await call('/api/test/access')).toMatchObject(FORBIDDEN);
    expect((await logIn({ login: 7 })).json.retcode).toMatch(/^1001 /);
    expect((await logIn({ version: 483 })).json.retcode).toMatch(/^1010 /);
  });

  it('ends after its idle timeout', async () => {
    const { isConnected } = await loggedIn({ idleMs: 1_000 });
    await expect.poll(isConnected).toBe(false);
  });

  it('ends with quit', async () => {
    const { call, retcode } = await loggedIn();
    expect(await retcode('/api/quit')).toBe('0 Done');
    expect(await call('/api/test/access')).toMatchObject(FORBIDDEN);
  });
});

describe('the commands of the simulated server', () => {
  it('an added account is answered in strings, numbers too, with the login at both places', async () => {
    const { call } = await loggedIn();
    const { json } = await call('/api/user/add', USER);
    expect(json).toMatchObject({ retcode: '0 Done', login: '5001', answer: { Login: '5001', Leverage: '100' } });
    const { answer } = (await call('/api/user/get?login=5001')).json;
    expect(Object.values(answer as object).every((value) => typeof value === 'string')).toBe(true);
    expect(answer).toMatchObject({ Login: '5001', Rights: '483', Balance: '0.00', Name: 'Ann Lee' });
  });

  it('the body overrides the query, and long values are cut silently', async () => {
    const { call, server } = await loggedIn();
    await call(`/api/user/add?group=real%5Cstandard&name=John&leverage=50&comment=${'c'.repeat(200)}`, {
      PassMain: USER.PassMain,
      PassInvestor: USER.PassInvestor,
      Name: 'n'.repeat(200),
    });
    expect(server.accounts()).toMatchObject([{ name: 'n'.repeat(127), leverage: 50, comment: 'c'.repeat(63) }]);
  });

  it.each<[says: string, change: object, code: string]>([
    ...['PassMain', 'PassInvestor', 'Group', 'Name', 'Leverage'].map((name): [string, object, string] => [
      `no ${name}`,
      { [name]: undefined },
      '3',
    ]),
    ['a name in lower case', { Name: undefined, name: 'Ann' }, '3'],
    ['a login that exists', { Login: '5001' }, '3004'],
    ['a group that does not exist', { Group: 'none' }, '8'],
    ['a group that the manager may not use', { Group: 'real\\closed' }, '8'],
    ['a password shorter than eight', { PassMain: 'Aa1#aaa' }, '3006'],
    ['a password without a special character', { PassInvestor: 'Aa1aaaaaa' }, '3006'],
    ['a password shorter than the group asks', { Group: 'real\\strict' }, '3006'],
    ['a leverage of nothing', { Leverage: 0 }, '3'],
    ['an unknown member', { Colour: 'red' }, '3'],
  ])('%s is refused', async (_what, change, code) => {
    const { call, retcode, server } = await loggedIn();
    await call('/api/user/add', USER);
    expect(String(await retcode('/api/user/add', { ...USER, ...change })).split(' ')[0]).toBe(code);
    expect(server.accounts()).toHaveLength(1);
  });

  it('list logins by group, and find bulk accounts too', async () => {
    const { call, retcode, server } = await loggedIn({ groups: [{ name: 'real\\a' }, { name: 'demo' }] });
    for (const Group of ['real\\a', 'demo']) await call('/api/user/add', { ...USER, Group });
    server.populate({ group: 'real\\b', from: 6_000, count: 2 });
    const logins = async (groups: string) => (await call(`/api/user/logins?group=${groups}`)).json.answer;
    expect(await logins('real%5Ca,demo')).toEqual(['5001', '5002']);
    expect(await logins('real*')).toEqual(['6000', '6001', '5001']);
    expect(await logins('none')).toEqual([]);
    expect((await call('/api/user/get?login=6001')).json.answer).toMatchObject({ Login: '6001', Name: 'Client 6001' });
    expect(await retcode('/api/user/get?login=6002')).toBe('13 Not found');
    expect(await retcode('/api/user/add', { ...USER, Group: 'demo', Login: '6000' })).toMatch(/^3004 /);
    expect(server.accounts()).toHaveLength(2);
  });

  it.each([
    ['group/get?group=none', '13 Not found'],
    ['group/get?group=real%5Cclosed', '8 Not enough permissions'],
    ['group/get?group=real%5Cstandard', '0 Done'],
    ['trade/balance?login=5001&type=2&balance=-1', '10019 Not enough money'],
    ['trade/balance?login=5001&type=2&balance=1000000001', '4005 Money limit reached'],
    ['trade/balance?login=5001&type=1&balance=1', '3 Invalid parameters'],
    ['trade/balance?login=5001&type=2&balance=x', '3 Invalid parameters'],
    ['trade/balance?login=1&type=2&balance=1', '13 Not found'],
  ])('%s is answered with %s', async (command, code) => {
    const { call, retcode } = await loggedIn();
    await call('/api/user/add', USER);
    expect(await retcode(`/api/${command}`)).toBe(code);
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

  it('an independent public client logs in, opens, reads and funds accounts', async () => {
    const server = await testServer();
    const auth = { login: String(MANAGER.login), password: MANAGER.password, build: '1985', agent: 'sdk' };
    const sdk = new Metatrader('127.0.0.1', server.port, auth);
    // It does not escape a `#`.
    const password = 'Ma5ter!word';
    const created = await sdk.users.create({ ...USER, PassMain: password, Comment: 'by another client' });
    expect(created).toMatchObject({ Login: '5001', Group: 'real\\standard' });
    expect(await sdk.users.get(5_001)).toMatchObject({ Login: '5001', Name: 'Ann Lee', Comment: 'by another client' });
    const deposit = { login: 5_001, type: 2, balance: 50, comment: 'gift' };
    expect(await sdk.trade.updateTradeBalanceGet(deposit)).toEqual({ Ticket: '1' });
    expect(server.accounts()).toMatchObject([{ login: 5_001, balance: 50 }]);
  });
});

describe('a fault', () => {
  it('of authentication counts its calls, and waits while commands come', async () => {
    const { server, retcode, logIn } = await loggedIn();
    server.faults.set({ kind: 'retcode', code: 1012, times: 2, step: 'authentication' });
    expect(await retcode('/api/user/get?login=1')).toBe('13 Not found');
    for (let tries = 0; tries < 2; tries += 1) expect((await logIn()).json.retcode).toMatch(/^1012 /);
    expect((await logIn()).json.retcode).toBe('0 Done');
    server.faults.set({ kind: 'refused', times: 1, step: 'authentication' });
    expect(await logIn()).toMatchObject(FORBIDDEN);
    expect(server.faults.list()).toEqual([]);
  });

  it.each([
    [{ kind: 'executed_retcode', code: 10 }, '10 Error', 7_000],
    [{ kind: 'executed_retcode', code: 3 }, '3 Invalid parameters', 7_000],
    [{ kind: 'executed_twice' }, '3004 Account already exists', 7_000],
    [{ kind: 'login_ignored' }, '0 Done', 5_001],
  ] as const)('of a lying server executes the next opening: %j', async (fault, answer, login) => {
    const { server, retcode } = await loggedIn();
    server.faults.set({ ...fault, times: 1 });
    expect(await retcode('/api/user/get?login=1')).toBe('13 Not found');
    expect(await retcode('/api/user/add', { ...USER, Login: 7_000 })).toBe(answer);
    expect(server.accounts().map((account) => account.login)).toEqual([login]);
  });

  it.each([
    ['executed_retcode', '10 Error', 50],
    ['executed_twice', '0 Done', 100],
  ] as const)('of a lying server executes the next payment: %s', async (kind, answer, balance) => {
    const { server, retcode } = await loggedIn();
    await retcode('/api/user/add', USER);
    server.faults.set({ kind, code: 10, times: 1 });
    expect(await retcode('/api/trade/balance?login=5001&type=2&balance=50')).toBe(answer);
    expect(server.accounts()).toMatchObject([{ balance }]);
  });
});
