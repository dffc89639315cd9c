import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { TextServerOptions } from '../../../../infra/local/platforms/text-accounts.ts';
import { command, start, talk } from '../../../support/text-server.ts';

const gateway = (options: Partial<TextServerOptions> = {}) => start({ dialect: 'interface-gateway', ...options });
const order = (changes: Record<string, string | undefined> = {}) => command({ GROUP: 'standard', ...changes });

describe('interface-gateway', () => {
  it('group by name, login, read-only flag and balance are read; end has no line end', async () => {
    const server = await gateway();
    const answer = await talk(server.port, order({ LOGIN: '42', READONLY: '1', BALANCE: '99.5', BALCOMMENT: 'x' }));
    expect(answer.text).toBe('OK\r\nLOGIN=42\r\nend');
    expect(server.accounts()).toMatchObject([{ login: 42, group: 'standard', readonly: true, balance: 99.5 }]);
  });

  it.each([
    ['no master password', { MASTER: undefined }, 'miss MASTER'],
    ['a wrong master password', { MASTER: 'x' }, 'invalid MASTER'],
    ['an unknown group', { GROUP: 'nope' }, 'invalid GROUP'],
    ['a group without permission', { GROUP: 'secret' }, 'invalid GROUP'],
    ['no name', { NAME: undefined }, 'miss NAME'],
    ['no password', { PASSWORD: undefined }, 'miss PASSWORD'],
    ['no investor password', { INVESTOR: undefined }, 'miss INVESTOR'],
    ['a simple password', { PASSWORD: 'abc' }, 'invalid PASSWORD'],
    ['an empty name', { NAME: '' }, 'invalid NAME'],
    ['leverage 0', { LEVERAGE: '0' }, 'invalid LEVERAGE'],
  ])('%s: an error', async (_, changes, reason) => {
    const server = await gateway();
    expect((await talk(server.port, order(changes))).text).toBe(`ERROR\r\n${reason}\r\nend`);
    expect(server.accounts()).toEqual([]);
  });

  it('a login is given once, and never by chance', async () => {
    const server = await gateway({ firstLogin: 42 });
    await talk(server.port, order({ LOGIN: '42' }));
    expect((await talk(server.port, order({ LOGIN: '42' }))).text).toBe('ERROR\r\naccount create failed\r\nend');
    expect((await talk(server.port, order())).text).toBe('OK\r\nLOGIN=43\r\nend');
  });

  it('a partial success: the account is open though the bonus was not booked', async () => {
    const server = await gateway();
    const answer = await talk(server.port, order({ BALANCE: '10', CREDITWAY: '1' }));
    expect(answer.text).toBe('OK\r\nLOGIN=100001\r\nmiss BNSCODE\r\nend');
    expect(server.accounts()).toHaveLength(1);
  });

  it('a login outside the server’s own range fails as one does that exists', async () => {
    const server = await gateway({ logins: { from: 500_000, to: 599_999 } });
    expect((await talk(server.port, order({ LOGIN: '499999' }))).text).toBe('ERROR\r\naccount create failed\r\nend');
    expect((await talk(server.port, order({ LOGIN: '500000' }))).text).toBe('OK\r\nLOGIN=500000\r\nend');
  });
});

describe('questions to the gateway', () => {
  it('a crowd of others stands on their logins, and is not listed', async () => {
    const server = await gateway();
    server.populate({ group: 'standard', from: 100_001, count: 1_000_000 });
    expect((await talk(server.port, order({ LOGIN: '1100000' }))).text).toBe('ERROR\r\naccount create failed\r\nend');
    expect((await talk(server.port, order())).text).toBe('OK\r\nLOGIN=1100001\r\nend');
    expect(server.accounts()).toHaveLength(1);
  });

  it('a question that the gateway does not know is refused, or met with silence', async () => {
    const ask = async (options: Partial<TextServerOptions>, verb: string) => {
      const server = await gateway(options);
      return talk(server.port, `W${verb} MASTER=m4ster|LOGIN=1|PASSWORD=Master77|INVESTOR=0\nQUIT\n`);
    };
    const refusal = 'ERROR\r\ninvalid CMD\r\nend';
    expect((await ask({ accountCheck: 'refused' }, 'CHKACCOUNT')).text).toBe(refusal);
    expect((await ask({ passwordCheck: 'refused' }, 'CHECKPASS')).text).toBe(refusal);
    expect((await ask({ passwordCheck: 'refused' }, 'CHKACCOUNT')).text).toContain('user check failed');
    const silent = ask({ accountCheck: 'silent' }, 'CHKACCOUNT').then(() => 'ended');
    await expect(Promise.race([silent, sleep(150, 'silent')])).resolves.toBe('silent');
  });

  it('logins and passwords can be checked, unless the gateway is an older one', async () => {
    const server = await gateway();
    await talk(server.port, order({ LOGIN: '42' }));
    const ask = (verb: string, rest: string) => talk(server.port, `W${verb} MASTER=m4ster|${rest}\nQUIT\n`);
    expect((await ask('CHKACCOUNT', 'LOGIN=42')).text).toBe('OK\r\nuser check successful\r\nend');
    expect((await ask('CHKACCOUNT', 'LOGIN=43')).text).toBe('ERROR\r\nuser check failed\r\nend');
    expect((await ask('CHKACCOUNT', '')).text).toBe('ERROR\r\nmiss LOGIN\r\nend');
    expect((await ask('CHECKPASS', 'LOGIN=42|PASSWORD=Master77|INVESTOR=0')).text).toMatch(/^OK\r\npassword is right/);
    expect((await ask('CHECKPASS', 'LOGIN=42|PASSWORD=Inv88x|INVESTOR=0')).text).toContain('password is wrong');
    const older = await gateway({ accountCheck: 'refused', passwordCheck: 'refused' });
    expect((await talk(older.port, 'WCHKACCOUNT MASTER=m4ster|LOGIN=1\n')).text).toBe('ERROR\r\ninvalid CMD\r\nend');
  });

  it('a client that is not listed is told so', async () => {
    const server = await gateway({ allowedAddresses: ['192.0.2.1'] });
    expect((await talk(server.port, order())).text).toBe('ERROR\r\nillegal IP\r\nend');
  });

  it.each([
    ['line', 'OK\r\nLOGIN=100001\r\nend\r\n'],
    ['none', 'OK\r\nLOGIN=100001\r\n'],
  ] as const)('the end of an answer can be set: %s', async (end, text) => {
    const server = await gateway({ end });
    expect((await talk(server.port, order())).text).toBe(text);
  });
});
