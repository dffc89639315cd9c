import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import Metatrader from 'mt5-sdk';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readParameters } from '../../../infra/local/platforms/web-api-parameters.ts';
import type { WebApiServer } from '../../../infra/local/platforms/web-api-server.ts';
import { withQuery } from '../../../lib/platform/web-api/query.ts';
import { MANAGER, testServer } from '../../support/web-api.ts';

interface Answer {
  status: number;
  text: string;
  json: Record<string, unknown>;
}

/** A client of its own, with one connection, that knows the protocol by its document alone. */
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

  async function logIn(password = MANAGER.password, login = MANAGER.login, version = 484): Promise<Answer> {
    const start = await call(`/api/auth/start?version=${version}&agent=Test&login=${login}&type=manager`);
    if (start.json.retcode !== '0 Done') return start;
    const hash = md5(md5(Buffer.from(password, 'utf16le')), Buffer.from('WebAPI'));
    const proof = md5(hash, Buffer.from(String(start.json.srv_rand), 'hex')).toString('hex');
    return call(`/api/auth/answer?srv_rand_answer=${proof}&cli_rand=4db98fec17aab4dc5a240bdc659e8395`);
  }

  return { call, logIn, leave: () => agent.destroy() };
}

const USER = {
  PassMain: 'Ma5ter#word',
  PassInvestor: 'Inve5tor#wd',
  Group: 'real\\standard',
  Name: 'Ann Lee',
  Leverage: 100,
};

describe('a session of the simulated server', () => {
  test('is authenticated by both sides, with the documented answer', async () => {
    const { logIn } = client(await testServer());
    const { status, json } = await logIn();
    expect(status).toBe(200);
    expect(json).toMatchObject({ retcode: '0 Done', cli_rand_answer: '1732021b1b332f51660b2b315eed3a35' });
  });

  test.each(['/api/test/access', '/api/user/get?login=1', '/api/user/add', '/api/auth/answer?srv_rand_answer=00', '/'])(
    'does not exist before: %s is answered with the text 403 Forbidden',
    async (path) => {
      const server = await testServer();
      expect(await client(server).call(path)).toMatchObject({ status: 403, text: '403 Forbidden' });
      expect(server.commands).toBe(0);
    },
  );

  test('is not given to a wrong password', async () => {
    const { call, logIn } = client(await testServer());
    expect(await logIn('another')).toMatchObject({ status: 403, text: '403 Forbidden' });
    expect(await call('/api/test/access')).toMatchObject({ status: 403 });
  });

  test('is not given to an unknown manager, nor to an old client', async () => {
    const { logIn } = client(await testServer());
    expect((await logIn(MANAGER.password, 7)).json.retcode).toMatch(/^1001 /);
    expect((await logIn(MANAGER.password, MANAGER.login, 483)).json.retcode).toMatch(/^1010 /);
  });

  test('belongs to its connection alone', async () => {
    const server = await testServer();
    const [one, other] = [client(server), client(server)];
    await one.logIn();
    expect(await one.call('/api/test/access')).toMatchObject({ status: 200, text: '{"retcode":"0 Done"}' });
    expect(await other.call('/api/test/access')).toMatchObject({ status: 403 });
  });

  test('must be proven within its window', async () => {
    const { call } = client(await testServer({ authWindowMs: 30 }));
    const { json } = await call('/api/auth/start?version=484&agent=Test&login=1000&type=manager');
    await sleep(80);
    // On the connection that comes after, nothing was started.
    expect(await call(`/api/auth/answer?srv_rand_answer=${json.srv_rand}&cli_rand=00`)).toMatchObject({ status: 403 });
  });

  test('ends when nothing comes for as long as its window', async () => {
    const { call, logIn } = client(await testServer({ idleMs: 1_000 }));
    await logIn();
    for (let ping = 0; ping < 4; ping += 1) {
      await sleep(300);
      expect(await call('/api/test/access')).toMatchObject({ status: 200 });
    }
    await sleep(1_500);
    expect(await call('/api/test/access')).toMatchObject({ status: 403 });
  });

  test('ends with quit', async () => {
    const { call, logIn } = client(await testServer());
    await logIn();
    expect((await call('/api/quit')).json.retcode).toBe('0 Done');
    expect(await call('/api/test/access')).toMatchObject({ status: 403 });
  });

  test('has no path that nobody knows', async () => {
    const { call, logIn } = client(await testServer());
    await logIn();
    expect(await call('/api/user/unknown')).toMatchObject({ status: 403 });
  });
});

describe('the commands of the simulated server', () => {
  async function loggedIn(options: Parameters<typeof testServer>[0] = {}) {
    const server = await testServer(options);
    const { call, logIn, leave } = client(server);
    await logIn();
    return {
      server,
      call,
      leave,
      retcode: async (path: string, body?: unknown) => (await call(path, body)).json.retcode,
    };
  }

  test('an added account is answered in strings, numbers too, with the login at both places', async () => {
    const { call } = await loggedIn();
    const { json } = await call('/api/user/add', USER);
    expect(json).toMatchObject({ retcode: '0 Done', login: '5001', answer: { Login: '5001', Leverage: '100' } });
    const { answer } = (await call('/api/user/get?login=5001')).json;
    expect(Object.values(answer as object).every((value) => typeof value === 'string')).toBe(true);
    expect(answer).toMatchObject({ Login: '5001', Rights: '483', Balance: '0.00', Name: 'Ann Lee' });
  });

  test('the body overrides the query', async () => {
    const { call, server } = await loggedIn();
    await call('/api/user/add?group=real%5Cstandard&name=John%20Smith&leverage=50&comment=by%20query', {
      PassMain: USER.PassMain,
      PassInvestor: USER.PassInvestor,
      Name: 'Ann Lee',
    });
    expect(server.accounts()).toMatchObject([{ name: 'Ann Lee', leverage: 50, comment: 'by query' }]);
  });

  test('keys in JSON are case-sensitive', async () => {
    const { retcode } = await loggedIn();
    expect(await retcode('/api/user/add', { ...USER, Name: undefined, name: 'Ann' })).toBe('3 Invalid parameters');
  });

  test.each(['PassMain', 'PassInvestor', 'Group', 'Name', 'Leverage'])('%s is required', async (name) => {
    const { retcode, server } = await loggedIn();
    expect(await retcode('/api/user/add', { ...USER, [name]: undefined })).toBe('3 Invalid parameters');
    expect(server.accounts()).toEqual([]);
  });

  test.each([
    ['a login that exists', { Login: '5001' }, '3004'],
    ['a group that does not exist', { Group: 'none' }, '8'],
    ['a group that the manager may not use', { Group: 'real\\closed' }, '8'],
    ['a password shorter than eight', { PassMain: 'Aa1#aaa' }, '3006'],
    ['a password without a special character', { PassInvestor: 'Aa1aaaaaa' }, '3006'],
    ['a password shorter than the group asks', { Group: 'real\\strict' }, '3006'],
    ['a leverage of nothing', { Leverage: 0 }, '3'],
  ])('%s is refused', async (_what, change, code) => {
    const { call, retcode, server } = await loggedIn();
    await call('/api/user/add', USER);
    expect(String(await retcode('/api/user/add', { ...USER, ...change })).split(' ')[0]).toBe(code);
    expect(server.accounts()).toHaveLength(1);
  });

  test('a login outside the server’s own range belongs to another server, and its own may be used up', async () => {
    const { retcode } = await loggedIn({ logins: { from: 5_001, to: 5_002 } });
    expect(await retcode('/api/user/add', { ...USER, Login: '5000' })).toBe('3003 Login reserved at another server');
    expect(await retcode('/api/user/add', { ...USER, Login: '5002' })).toBe('0 Done');
    expect(await retcode('/api/user/add', USER)).toBe('0 Done');
    expect(await retcode('/api/user/add', USER)).toBe('3002 Login range exhausted');
  });

  test('a comment is cut at 63 and a name at 127, silently', async () => {
    const { call, server } = await loggedIn();
    await call('/api/user/add', { ...USER, Name: 'n'.repeat(200), Comment: 'c'.repeat(200) });
    expect(server.accounts()).toMatchObject([{ name: 'n'.repeat(127), comment: 'c'.repeat(63) }]);
  });

  test('accounts are listed by group and read in batches', async () => {
    const { call } = await loggedIn({ groups: [{ name: 'real\\a' }, { name: 'real\\b' }, { name: 'demo' }] });
    for (const Group of ['real\\a', 'real\\b', 'demo']) await call('/api/user/add', { ...USER, Group });
    const logins = async (groups: string) => (await call(`/api/user/logins?group=${groups}`)).json.answer;
    expect(await logins('real%5Ca,demo')).toEqual(['5001', '5003']);
    expect(await logins('real%5C%5Ca')).toEqual(['5001']);
    expect(await logins('real*')).toEqual(['5001', '5002']);
    expect(await logins('none')).toEqual([]);
    const batch = (await call('/api/user/get_batch?login=5001,1,5003')).json.answer as { Login: string }[];
    expect(batch.map(({ Login }) => Login)).toEqual(['5001', '5003']);
  });

  test('an account that is not there is not found', async () => {
    const { retcode } = await loggedIn();
    for (const path of ['user/get', 'user/delete', 'trade/balance']) {
      expect(await retcode(`/api/${path}?login=1`)).toBe('13 Not found');
    }
    expect(await retcode('/api/group/get?group=none')).toBe('13 Not found');
    expect(await retcode('/api/group/get?group=real%5Cclosed')).toBe('8 Not enough permissions');
    expect(await retcode('/api/group/get?group=real%5Cstandard')).toBe('0 Done');
  });

  test('a deleted account is gone', async () => {
    const { call, retcode, server } = await loggedIn();
    await call('/api/user/add', USER);
    expect(await retcode('/api/user/delete?login=5001')).toBe('0 Done');
    expect(server.accounts()).toEqual([]);
  });

  test('passwords are checked by their kind', async () => {
    const { call, retcode } = await loggedIn();
    await call('/api/user/add', USER);
    const check = (Type: string, Password: string) =>
      retcode('/api/user/check_password', { Login: '5001', Type, Password });
    expect(await check('main', USER.PassMain)).toBe('0 Done');
    expect(await check('investor', USER.PassInvestor)).toBe('0 Done');
    expect(await check('main', USER.PassInvestor)).toBe('3006 Invalid account password');
    expect(await check('other', USER.PassMain)).toBe('3 Invalid parameters');
  });

  test('a deposit is added to the balance, within the limit of one operation', async () => {
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

  test('only commands are counted, and only they have faults', async () => {
    const { call, server } = await loggedIn();
    server.faults.set({ kind: 'throttled', times: 1 });
    await call('/api/test/access');
    expect(server.commands).toBe(0);
    expect((await call('/api/user/get?login=1')).json.retcode).toBe('12 Too frequent requests');
    expect((await call('/api/user/get?login=1')).json.retcode).toBe('13 Not found');
    expect(server.commands).toBe(2);
  });

  test('a slow command is worked off even when the client has gone', async () => {
    const { call, leave, server } = await loggedIn();
    server.faults.set({ kind: 'slow', times: 1, ms: 400 });
    const gone = call('/api/user/add', USER);
    await sleep(150);
    leave();
    await expect(gone).rejects.toThrow();
    expect(server.accounts()).toEqual([]);
    await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(1);
  });

  test.each(['orderly', 'cut', 'reset'] as const)(
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

  test('a lost reply waits for a command that changes something', async () => {
    const { call, server } = await loggedIn();
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect((await call('/api/user/logins?group=demo')).status).toBe(200);
    await expect(call('/api/user/add', USER)).rejects.toThrow();
    expect(server.accounts()).toHaveLength(1);
  });
});

describe('a fault at a step before the first command', () => {
  const forbidden = { status: 403, text: '403 Forbidden' };

  test('strikes as many calls of the authentication as it was set for, and no command', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code: 1012, times: 2, step: 'authentication' });
    expect(server.faults.list()).toEqual([{ kind: 'retcode', code: 1012, times: 2, after: 0, step: 'authentication' }]);
    const { call, logIn } = client(server);
    for (let tries = 0; tries < 2; tries += 1) expect((await logIn()).json.retcode).toBe('1012 Address is not allowed');
    expect((await logIn()).json.retcode).toBe('0 Done');
    expect((await call('/api/user/get?login=1')).json.retcode).toBe('13 Not found');
    expect(server.commands).toBe(1);
  });

  test('waits for its step while commands come, and a fault of commands waits while the step is taken', async () => {
    const server = await testServer();
    const { call, logIn } = client(server);
    server.faults.set({ kind: 'throttled', times: 1 });
    await logIn();
    expect(server.sessions).toBe(1);
    expect((await call('/api/user/get?login=1')).json.retcode).toBe('12 Too frequent requests');
    server.faults.set({ kind: 'refused', times: 1, step: 'authentication' });
    expect((await call('/api/user/get?login=1')).json.retcode).toBe('13 Not found');
    expect(await logIn()).toMatchObject(forbidden);
    expect(server.faults.list()).toEqual([]);
  });

  test('may let the first call of the authentication go well: then the proof is what fails', async () => {
    const server = await testServer();
    const { call, logIn } = client(server);
    server.faults.set({ kind: 'refused', times: 1, after: 1, step: 'authentication' });
    expect(await logIn()).toMatchObject(forbidden);
    expect(await call('/api/test/access')).toMatchObject(forbidden);
    expect(server.sessions).toBe(0);
  });

  test('a lost reply to the proof leaves a session that nobody has', async () => {
    const server = await testServer();
    const { call, logIn } = client(server);
    server.faults.set({ kind: 'reply_lost', times: 1, after: 1, step: 'authentication' });
    await expect(logIn()).rejects.toThrow();
    expect(server.sessions).toBe(1);
    expect(await call('/api/test/access')).toMatchObject(forbidden);
  });

  test.each(['session_dropped', 'garbage'] as const)('%s instead of TLS: no connection can be used', async (kind) => {
    const server = await testServer();
    server.faults.set({ kind, times: 1, step: 'tls' });
    await expect(client(server).logIn()).rejects.toThrow();
    expect((await client(server).logIn()).status).toBe(200);
  });

  test('silence instead of TLS: the connection is accepted, and nothing comes', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'silence', times: 1, step: 'tls' });
    const hanging = client(server);
    const ended = hanging.logIn().then(
      () => 'ended',
      () => 'failed',
    );
    await expect(Promise.race([ended, sleep(150, 'silent')])).resolves.toBe('silent');
    expect((await client(server).logIn()).status).toBe(200);
    await server.close();
    await expect(ended).resolves.toBe('failed');
  });

  test('slow before TLS: the connection is as ever, later', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'slow', times: 1, ms: 100, step: 'tls' });
    expect((await client(server).logIn()).status).toBe(200);
  });

  test.each([
    ['down', 'authentication'],
    ['down', 'tls'],
    ['retcode', 'tls'],
    ['refused', 'tls'],
  ] as const)('%s cannot be at the step %s', async (kind, step) => {
    const server = await testServer();
    server.faults.set({ kind: 'garbage', times: 1 });
    expect(() => server.faults.set({ kind, times: 1, step })).toThrow(RangeError);
    expect(server.faults.list()).toMatchObject([{ kind: 'garbage' }]);
  });
});

test('every value survives the way through a query', async () => {
  const alphabet = fc.constantFrom('\\', '=', '|', '\n', '&', '+', '%', ' ', 'a', 'é', '🙂', '#');
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: alphabet, maxLength: 12 }), async (value) => {
      const url = withQuery('/api/user/logins', { group: value, login: 7 });
      const { path, parameters } = await readParameters(
        Object.assign(Readable.from([]), { url }) as unknown as IncomingMessage,
      );
      expect({ path, parameters }).toEqual({ path: '/api/user/logins', parameters: { Group: value, Login: '7' } });
    }),
  );
});

test('an independent public client logs in, opens, reads and funds accounts on it', async () => {
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
  expect((await sdk.users.getBatch('real\\standard'))?.answer).toHaveLength(1);
  expect(await sdk.trade.updateTradeBalanceGet({ login: 5_001, type: 2, balance: 50, comment: 'gift' })).toEqual({
    Ticket: '1',
  });
  expect(server.accounts()).toMatchObject([{ login: 5_001, balance: 50 }]);
});
