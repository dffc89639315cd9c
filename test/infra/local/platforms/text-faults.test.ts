import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { command, start, talk } from '../../../support/text-server.ts';

/** What these faults answer. */
const ERRORS = [
  ['throttled', undefined, 'IP is blocked. Please wait 20 secs and try again.'],
  ['refused', undefined, 'illegal IP'],
  ['retcode', 3, 'invalid data'],
  ['retcode', 8, 'invalid GROUP'],
  ['retcode', 10, 'MT is disconnected'],
  ['retcode', 1001, 'invalid MASTER'],
  ['retcode', 3006, 'simple password'],
  ['retcode', 9001, 'invalid LEVERAGE'],
  ['retcode', 9002, 'invalid NAME'],
  ['retcode', 9003, 'invalid PASSWORD'],
  ['retcode', 9004, 'invalid CMD'],
  ['retcode', 9011, 'miss MASTER'],
  ['retcode', 9012, 'miss NAME'],
  ['retcode', 9013, 'miss PASSWORD'],
  ['retcode', 9014, 'miss INVESTOR'],
  ['retcode', 4711, 'account create failed'],
  ['retcode', undefined, 'account create failed'],
] as const;

describe('faults', () => {
  it('down: connections are refused until it is used up, then the same port answers', async () => {
    const server = await start();
    server.faults.set({ kind: 'down', times: 2, after: 1 });
    expect((await talk(server.port, command())).text).toMatch(/^OK/);
    expect(await talk(server.port, command({ IP: '2' }))).toEqual({ text: '', packets: 0, failed: true });
    expect(await talk(server.port, command({ IP: '2' }))).toMatchObject({ failed: true });
    expect((await talk(server.port, command({ IP: '2' }))).text).toMatch(/^OK/);
    expect(server.commands).toBe(2);
  });

  it('down is over when it is cleared', async () => {
    const server = await start();
    server.faults.set({ kind: 'down', times: 9 });
    expect((await talk(server.port, command())).failed).toBe(true);
    server.faults.clear();
    expect((await talk(server.port, command())).text).toMatch(/^OK/);
  });

  it('slow: the command is worked off though the client has gone', async () => {
    const server = await start();
    server.faults.set({ kind: 'slow', times: 1, ms: 150 });
    const socket = connect({ host: '127.0.0.1', port: server.port });
    socket.write(command());
    await expect.poll(() => server.commands).toBe(1);
    socket.destroy();
    expect(server.accounts()).toEqual([]);
    await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(1);
  });

  it.each(['orderly', 'reset'] as const)(
    'late, %s: the connection ends, and the account is opened after',
    async (ending) => {
      const server = await start();
      server.faults.set({ kind: 'late', times: 1, ms: 150, ending });
      expect(await talk(server.port, command())).toMatchObject({ text: '', failed: ending === 'reset' });
      expect(server.accounts()).toEqual([]);
      await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(1);
    },
  );

  it('reply_lost: the account is there, the answer is not', async () => {
    const server = await start();
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect(await talk(server.port, command())).toMatchObject({ text: '' });
    expect(server.accounts()).toHaveLength(1);
  });

  it('reply_lost waits for a command that opens an account', async () => {
    const server = await start({ dialect: 'interface-gateway' });
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect((await talk(server.port, 'WCHKACCOUNT MASTER=m4ster|LOGIN=1\n')).text).toContain('user check failed');
    expect((await talk(server.port, command({ GROUP: 'standard' }))).text).toBe('');
    expect(server.accounts()).toHaveLength(1);
  });

  it('session_dropped: neither the account nor an answer', async () => {
    const server = await start();
    server.faults.set({ kind: 'session_dropped', times: 1 });
    expect(await talk(server.port, command())).toMatchObject({ text: '' });
    expect(server.accounts()).toEqual([]);
    expect(server.commands).toBe(1);
  });

  it('silence: the connection stays open and nothing comes', async () => {
    const server = await start();
    server.faults.set({ kind: 'silence', times: 1 });
    const ended = talk(server.port, command()).then(() => 'ended');
    await expect(Promise.race([ended, sleep(150, 'silent')])).resolves.toBe('silent');
    await server.close();
    await expect(ended).resolves.toBe('ended');
    expect(server.accounts()).toEqual([]);
  });

  it('garbage: the account is there, the answer is nonsense', async () => {
    const server = await start();
    server.faults.set({ kind: 'garbage', times: 1 });
    expect((await talk(server.port, command())).text).not.toMatch(/^OK|^ERROR/);
    expect(server.accounts()).toHaveLength(1);
  });

  it.each(ERRORS)('%s %s: the error %s, and no account', async (kind, code, reason) => {
    const server = await start({ dialect: 'interface-gateway' });
    server.faults.set({ kind, times: 1, ...(code === undefined ? {} : { code }) });
    expect((await talk(server.port, command({ GROUP: 'standard' }))).text).toBe(`ERROR\r\n${reason}\r\nend`);
    expect(server.accounts()).toEqual([]);
    expect((await talk(server.port, command({ GROUP: 'standard' }))).text).toMatch(/^OK/);
  });

  it('there is no step at which a fault could strike: the protocol has commands alone', async () => {
    const server = await start();
    for (const step of ['tls', 'authentication'] as const) {
      expect(() => server.faults.set({ kind: 'silence', times: 1, step })).toThrow(RangeError);
    }
    expect(server.faults.list()).toEqual([]);
  });

  it('closing ends slow commands and open connections at once', async () => {
    const server = await start();
    server.faults.set({ kind: 'slow', times: 1, ms: 600_000 });
    const ended = talk(server.port, command());
    await expect.poll(() => server.commands).toBe(1);
    await server.close();
    await ended;
    expect(server.accounts()).toEqual([]);
  });
});
