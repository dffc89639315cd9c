import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { MANAGER, testServer } from '../../../support/web-api.ts';
import { client } from '../../../support/web-api-caller.ts';

describe('a session of the simulated server', () => {
  it('is authenticated by both sides, with the documented answer', async () => {
    const { logIn } = client(await testServer());
    const { status, json } = await logIn();
    expect(status).toBe(200);
    expect(json).toMatchObject({ retcode: '0 Done', cli_rand_answer: '1732021b1b332f51660b2b315eed3a35' });
  });

  it.each(['/api/test/access', '/api/user/get?login=1', '/api/user/add', '/api/auth/answer?srv_rand_answer=00', '/'])(
    'does not exist before: %s is answered with the text 403 Forbidden',
    async (path) => {
      const server = await testServer();
      expect(await client(server).call(path)).toMatchObject({ status: 403, text: '403 Forbidden' });
      expect(server.commands).toBe(0);
    },
  );

  it('is not given to a wrong password', async () => {
    const { call, logIn } = client(await testServer());
    expect(await logIn('another')).toMatchObject({ status: 403, text: '403 Forbidden' });
    expect(await call('/api/test/access')).toMatchObject({ status: 403 });
  });

  it('is not given to an unknown manager, nor to an old client', async () => {
    const { logIn } = client(await testServer());
    expect((await logIn(MANAGER.password, 7)).json.retcode).toMatch(/^1001 /);
    expect((await logIn(MANAGER.password, MANAGER.login, 483)).json.retcode).toMatch(/^1010 /);
  });

  it('belongs to its connection alone', async () => {
    const server = await testServer();
    const [one, other] = [client(server), client(server)];
    await one.logIn();
    expect(await one.call('/api/test/access')).toMatchObject({ status: 200, text: '{"retcode":"0 Done"}' });
    expect(await other.call('/api/test/access')).toMatchObject({ status: 403 });
  });

  it('must be proven within its window', async () => {
    const { logIn, isConnected } = client(await testServer({ authWindowMs: 30 }));
    const tooLate = () => expect.poll(isConnected).toBe(false);
    // On the connection that comes after, nothing was started.
    expect(await logIn(MANAGER.password, MANAGER.login, 484, tooLate)).toMatchObject({ status: 403 });
  });

  it('ends when nothing comes for as long as its window', async () => {
    const { call, logIn, isConnected } = client(await testServer({ idleMs: 1_000 }));
    await logIn();
    for (let ping = 0; ping < 4; ping += 1) {
      await sleep(300);
      expect(await call('/api/test/access')).toMatchObject({ status: 200 });
    }
    await expect.poll(isConnected).toBe(false);
    expect(await call('/api/test/access')).toMatchObject({ status: 403 });
  });

  it('ends with quit', async () => {
    const { call, logIn } = client(await testServer());
    await logIn();
    expect((await call('/api/quit')).json.retcode).toBe('0 Done');
    expect(await call('/api/test/access')).toMatchObject({ status: 403 });
  });
});

describe('a fault at a step before the first command', () => {
  const forbidden = { status: 403, text: '403 Forbidden' };

  it('affects the configured number of authentication calls, and no command', async () => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code: 1012, times: 2, step: 'authentication' });
    expect(server.faults.list()).toEqual([{ kind: 'retcode', code: 1012, times: 2, after: 0, step: 'authentication' }]);
    const { call, logIn } = client(server);
    for (let tries = 0; tries < 2; tries += 1) expect((await logIn()).json.retcode).toBe('1012 Address is not allowed');
    expect((await logIn()).json.retcode).toBe('0 Done');
    expect((await call('/api/user/get?login=1')).json.retcode).toBe('13 Not found');
    expect(server.commands).toBe(1);
  });

  it('waits for its step while commands come, and a fault of commands waits while the step is taken', async () => {
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

  it('a lost reply to the proof leaves an unused session', async () => {
    const server = await testServer();
    const { call, logIn } = client(server);
    server.faults.set({ kind: 'reply_lost', times: 1, after: 1, step: 'authentication' });
    await expect(logIn()).rejects.toThrow();
    expect(server.sessions).toBe(1);
    expect(await call('/api/test/access')).toMatchObject(forbidden);
  });

  it.each(['session_dropped', 'garbage'] as const)('%s instead of TLS: no connection can be used', async (kind) => {
    const server = await testServer();
    server.faults.set({ kind, times: 1, step: 'tls' });
    await expect(client(server).logIn()).rejects.toThrow();
    expect((await client(server).logIn()).status).toBe(200);
  });

  it('silence instead of TLS: the connection is accepted, and nothing comes', async () => {
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

  it.each([
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
