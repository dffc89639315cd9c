import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import iconv from 'iconv-lite';
import { afterEach, describe, expect, test } from 'vitest';
import {
  startTextServer,
  type TextServer,
  type TextServerOptions,
} from '../../../infra/local/platforms/text-server.ts';

const servers: TextServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const GROUPS = [{ name: 'standard' }, { name: 'demoforex' }, { name: 'secret', permitted: false }];

async function start(options: Partial<TextServerOptions> = {}): Promise<TextServer> {
  const server = await startTextServer({ dialect: 'web-registration', master: 'm4ster', groups: GROUPS, ...options });
  servers.push(server);
  return server;
}

/** Sends bytes as they are, reads until the server closes; `packets` is what came in one piece each. */
async function talk(port: number, text: string | Buffer): Promise<{ text: string; packets: number; failed: boolean }> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const answer = { text: '', packets: 0, failed: false };
    socket.on('data', (bytes) => {
      answer.text += bytes.toString('latin1');
      answer.packets += 1;
    });
    socket.on('error', () => {
      answer.failed = true;
    });
    socket.on('close', () => resolve(answer));
    socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
  });
}

const BASIC = {
  MASTER: 'm4ster',
  IP: '10.0.0.1',
  GROUP: '2',
  NAME: 'Ann Lee',
  PASSWORD: 'Master77',
  INVESTOR: 'Inv88x',
};

function command(changes: Record<string, string | undefined> = {}, verb = 'NEWACCOUNT'): string {
  const parameters = Object.entries({ ...BASIC, LEVERAGE: '100', ...changes });
  const text = parameters.filter(([, value]) => value !== undefined).map(([key, value]) => `${key}=${value}`);
  return `W${verb} ${text.join('|')}\nQUIT\n`;
}

describe('web-registration', () => {
  test('an account is opened in the group of this index, with a login of the server’s choice', async () => {
    const server = await start({ firstLogin: 900 });
    const answer = await talk(server.port, command({ LOGIN: '5', READONLY: '1', DEPOSIT: '250.5', EMAIL: 'a@b.c' }));
    expect(answer.text).toBe('OK\r\nLOGIN=900\r\nend\r\n');
    expect(server.accounts()).toEqual([
      {
        login: 900,
        group: 'demoforex',
        leverage: 100,
        name: 'Ann Lee',
        email: 'a@b.c',
        readonly: false,
        balance: 250.5,
        comment: '',
      },
    ]);
    expect(server.access(900, 'Master77')).toBe('master');
    expect(server.access(900, 'Inv88x')).toBe('investor');
    expect(server.access(900, 'else')).toBe('none');
    expect(server.access(901, 'Master77')).toBe('none');
  });

  test('a deposit is made in demo groups only', async () => {
    const server = await start();
    await talk(server.port, command({ GROUP: '1', DEPOSIT: '250' }));
    expect(server.accounts()).toMatchObject([{ group: 'standard', balance: 0 }]);
  });

  test('a value injects: the first KEY= of the line counts, wherever it stands', async () => {
    const server = await start();
    await talk(server.port, command({ NAME: 'x|LEVERAGE=500|', IP: '1' }));
    await talk(server.port, command({ NAME: 'LEVERAGE=700', IP: '2' }));
    await talk(server.port, command({ NAME: 'Ann\nQUIT', IP: '3' }));
    expect(server.accounts()).toMatchObject([
      { name: 'x', leverage: 500 },
      { name: 'LEVERAGE=700', leverage: 700 },
    ]);
  });

  test('a password for the phone that stands first is taken for the password', async () => {
    const server = await start();
    const { PASSWORD, ...rest } = BASIC;
    const line = `PHONE_PASSWORD=Phone99|${Object.entries({ ...rest, PASSWORD, LEVERAGE: '1' })
      .map((pair) => pair.join('='))
      .join('|')}`;
    await talk(server.port, `WNEWACCOUNT ${line}\nQUIT\n`);
    expect(server.access(100_001, 'Phone99')).toBe('master');
  });

  test('the second byte of a letter injects too', async () => {
    const server = await start({ codePage: 'shift_jis' });
    await talk(server.port, iconv.encode(command({ NAME: 'ポLEVERAGE=900', LEVERAGE: undefined }), 'shift_jis'));
    expect(server.accounts()).toMatchObject([{ leverage: 900 }]);
    expect(server.accounts()[0]?.name).not.toContain('ポ');
  });

  test('values are cut without a word', async () => {
    const server = await start();
    const answer = await talk(
      server.port,
      command({
        NAME: 'n'.repeat(200),
        EMAIL: 'e'.repeat(99),
        COMMENT: 'c'.repeat(99),
        PASSWORD: `Ab1${'x'.repeat(20)}`,
      }),
    );
    expect(answer.text).toMatch(/^OK/);
    const [account] = server.accounts();
    expect([account?.name.length, account?.email.length, account?.comment.length]).toEqual([127, 47, 63]);
    expect(server.access(100_001, `Ab1${'x'.repeat(12)}`)).toBe('master');
  });

  test('country, phone and the wish for statements are kept and cut, but not listed', async () => {
    const server = await start();
    const [COUNTRY, PHONE] = ['C'.repeat(40), `+${'4'.repeat(40)}`];
    await talk(server.port, command({ COUNTRY, PHONE, PHONE_PASSWORD: 'x', SEND_REPORTS: '1' }));
    const kept = { country: 'C'.repeat(31), phone: `+${'4'.repeat(30)}`, sendReports: true };
    expect(server.details(100_001)).toEqual(kept);
    expect(Object.keys(server.accounts()[0] ?? {})).toEqual([
      'login',
      'group',
      'leverage',
      'name',
      'email',
      'readonly',
      'balance',
      'comment',
    ]);
    await talk(server.port, command({ IP: '2' }));
    expect(server.details(100_002)).toEqual({ country: '', phone: '', sendReports: false });
    expect(server.details(1)).toBeUndefined();
  });

  test('text ends with its first NUL', async () => {
    const server = await start();
    expect((await talk(server.port, command({ NAME: 'Ann\0Lee' }))).text).toContain('simple password');
  });

  test.each([
    ['a wrong master password', { MASTER: 'x' }, 'invalid data'],
    ['no master password', { MASTER: undefined }, 'invalid data'],
    ['no address', { IP: undefined }, 'invalid data'],
    ['no group', { GROUP: undefined }, 'invalid data'],
    ['an index below the list', { GROUP: '0' }, 'invalid data'],
    ['an index beyond the list', { GROUP: '4' }, 'invalid data'],
    ['a group by name', { GROUP: 'standard' }, 'invalid data'],
    ['a group without permission', { GROUP: '3' }, 'invalid data'],
    ['no name', { NAME: '' }, 'invalid data'],
    ['leverage 0', { LEVERAGE: '0' }, 'invalid data'],
    ['a short password', { PASSWORD: 'Ab1x' }, 'simple password'],
    ['a password of one class', { PASSWORD: 'abcdefgh' }, 'simple password'],
    ['a simple password before a missing name', { PASSWORD: 'abc', NAME: '' }, 'simple password'],
  ])('%s: an error', async (_, changes, reason) => {
    const server = await start();
    expect((await talk(server.port, command(changes))).text).toBe(`ERROR\r\n${reason}\r\nend\r\n`);
    expect(server.accounts()).toEqual([]);
  });

  test.each([
    ['lower and upper case', 'abcDE'],
    ['lower case and digits', 'abc12'],
    ['upper case and digits', 'ABC12'],
  ])('%s make a password', async (_, password) => {
    const server = await start();
    expect((await talk(server.port, command({ PASSWORD: password }))).text).toMatch(/^OK/);
  });

  test('one address opens one account in a while; refused commands do not count', async () => {
    let now = 0;
    const server = await start({ floodSeconds: 20, now: () => now });
    expect((await talk(server.port, command({ PASSWORD: 'x' }))).text).toContain('simple');
    expect((await talk(server.port, command())).text).toMatch(/^OK/);
    expect((await talk(server.port, command())).text).toBe(
      'ERROR\r\nIP is blocked. Please wait 20 secs and try again.\r\nend\r\n',
    );
    expect((await talk(server.port, command({ IP: '10.0.0.2' }))).text).toMatch(/^OK/);
    now = 20_000;
    expect((await talk(server.port, command())).text).toMatch(/^OK/);
  });

  test('another command, or a client that is not listed, is closed in silence', async () => {
    const server = await start();
    expect(await talk(server.port, command({}, 'CHKACCOUNT'))).toMatchObject({ text: '', failed: false });
    expect((await talk(server.port, 'hello\n')).text).toBe('');
    expect((await talk(server.port, 'x'.repeat(3_000))).text).toBe('');
    const strict = await start({ allowedAddresses: ['192.0.2.1'] });
    expect((await talk(strict.port, command())).text).toBe('');
    expect(strict.accounts()).toEqual([]);
    const listed = await start({ allowedAddresses: ['127.0.0.1'] });
    expect((await talk(listed.port, command())).text).toMatch(/^OK/);
  });

  test('a command may come byte by byte', async () => {
    const server = await start();
    const answer = await new Promise<string>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: server.port, noDelay: true });
      let text = '';
      socket.on('data', (bytes) => {
        text += bytes;
      });
      socket.on('close', () => resolve(text));
      const send = async () => {
        for (const byte of command()) {
          socket.write(byte);
          await new Promise((next) => setImmediate(next));
        }
      };
      void send();
    });
    expect(answer).toMatch(/^OK/);
  });

  test('an answer is split over packets', async () => {
    const server = await start();
    expect((await talk(server.port, command())).packets).toBeGreaterThan(3);
    const whole = await start({ packetBytes: 1_000 });
    expect((await talk(whole.port, command())).packets).toBe(1);
  });
});

describe('interface-gateway', () => {
  const gateway = (options: Partial<TextServerOptions> = {}) => start({ dialect: 'interface-gateway', ...options });
  const order = (changes: Record<string, string | undefined> = {}) => command({ GROUP: 'standard', ...changes });

  test('group by name, login, read-only flag and balance are read; end has no line end', async () => {
    const server = await gateway();
    const answer = await talk(server.port, order({ LOGIN: '42', READONLY: '1', BALANCE: '99.5', BALCOMMENT: 'x' }));
    expect(answer.text).toBe('OK\r\nLOGIN=42\r\nend');
    expect(server.accounts()).toMatchObject([{ login: 42, group: 'standard', readonly: true, balance: 99.5 }]);
  });

  test.each([
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

  test('a login is given once, and never by chance', async () => {
    const server = await gateway({ firstLogin: 42 });
    await talk(server.port, order({ LOGIN: '42' }));
    expect((await talk(server.port, order({ LOGIN: '42' }))).text).toBe('ERROR\r\naccount create failed\r\nend');
    expect((await talk(server.port, order())).text).toBe('OK\r\nLOGIN=43\r\nend');
  });

  test('a partial success: the account is open though the bonus was not booked', async () => {
    const server = await gateway();
    const answer = await talk(server.port, order({ BALANCE: '10', CREDITWAY: '1' }));
    expect(answer.text).toBe('OK\r\nLOGIN=100001\r\nmiss BNSCODE\r\nend');
    expect(server.accounts()).toHaveLength(1);
  });

  test('a login outside the server’s own range fails as one does that exists', async () => {
    const server = await gateway({ logins: { from: 500_000, to: 599_999 } });
    expect((await talk(server.port, order({ LOGIN: '499999' }))).text).toBe('ERROR\r\naccount create failed\r\nend');
    expect((await talk(server.port, order({ LOGIN: '500000' }))).text).toBe('OK\r\nLOGIN=500000\r\nend');
  });

  test('a question that the gateway does not know is refused, or met with silence', async () => {
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

  test('logins and passwords can be checked, unless the gateway is an older one', async () => {
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

  test('a client that is not listed is told so', async () => {
    const server = await gateway({ allowedAddresses: ['192.0.2.1'] });
    expect((await talk(server.port, order())).text).toBe('ERROR\r\nillegal IP\r\nend');
  });

  test.each([
    ['line', 'OK\r\nLOGIN=100001\r\nend\r\n'],
    ['none', 'OK\r\nLOGIN=100001\r\n'],
  ] as const)('the end of an answer can be set: %s', async (end, text) => {
    const server = await gateway({ end });
    expect((await talk(server.port, order())).text).toBe(text);
  });
});

describe('faults', () => {
  test('down: connections are refused until it is used up, then the same port answers', async () => {
    const server = await start();
    server.faults.set({ kind: 'down', times: 2, after: 1 });
    expect((await talk(server.port, command())).text).toMatch(/^OK/);
    expect(await talk(server.port, command({ IP: '2' }))).toEqual({ text: '', packets: 0, failed: true });
    expect(await talk(server.port, command({ IP: '2' }))).toMatchObject({ failed: true });
    expect((await talk(server.port, command({ IP: '2' }))).text).toMatch(/^OK/);
    expect(server.commands).toBe(2);
  });

  test('down is over when it is cleared', async () => {
    const server = await start();
    server.faults.set({ kind: 'down', times: 9 });
    expect((await talk(server.port, command())).failed).toBe(true);
    server.faults.clear();
    expect((await talk(server.port, command())).text).toMatch(/^OK/);
  });

  test('slow: the command is worked off though the client has gone', async () => {
    const server = await start();
    server.faults.set({ kind: 'slow', times: 1, ms: 80 });
    const socket = connect({ host: '127.0.0.1', port: server.port });
    socket.write(command());
    await sleep(30);
    expect(server.accounts()).toEqual([]);
    socket.destroy();
    await sleep(120);
    expect(server.accounts()).toHaveLength(1);
  });

  test.each(['orderly', 'reset'] as const)(
    'late, %s: the connection ends, and the account is opened after',
    async (ending) => {
      const server = await start();
      server.faults.set({ kind: 'late', times: 1, ms: 150, ending });
      expect(await talk(server.port, command())).toMatchObject({ text: '', failed: ending === 'reset' });
      expect(server.accounts()).toEqual([]);
      await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(1);
    },
  );

  test('reply_lost: the account is there, the answer is not', async () => {
    const server = await start();
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect(await talk(server.port, command())).toMatchObject({ text: '' });
    expect(server.accounts()).toHaveLength(1);
  });

  test('reply_lost waits for a command that opens an account', async () => {
    const server = await start({ dialect: 'interface-gateway' });
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect((await talk(server.port, 'WCHKACCOUNT MASTER=m4ster|LOGIN=1\n')).text).toContain('user check failed');
    expect((await talk(server.port, command({ GROUP: 'standard' }))).text).toBe('');
    expect(server.accounts()).toHaveLength(1);
  });

  test('session_dropped: neither the account nor an answer', async () => {
    const server = await start();
    server.faults.set({ kind: 'session_dropped', times: 1 });
    expect(await talk(server.port, command())).toMatchObject({ text: '' });
    expect(server.accounts()).toEqual([]);
    expect(server.commands).toBe(1);
  });

  test('silence: the connection stays open and nothing comes', async () => {
    const server = await start();
    server.faults.set({ kind: 'silence', times: 1 });
    const ended = talk(server.port, command()).then(() => 'ended');
    await expect(Promise.race([ended, sleep(150, 'silent')])).resolves.toBe('silent');
    await server.close();
    await expect(ended).resolves.toBe('ended');
    expect(server.accounts()).toEqual([]);
  });

  test('garbage: the account is there, the answer is nonsense', async () => {
    const server = await start();
    server.faults.set({ kind: 'garbage', times: 1 });
    expect((await talk(server.port, command())).text).not.toMatch(/^OK|^ERROR/);
    expect(server.accounts()).toHaveLength(1);
  });

  test.each([
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
  ] as const)('%s %s: the error %s, and no account', async (kind, code, reason) => {
    const server = await start({ dialect: 'interface-gateway' });
    server.faults.set({ kind, times: 1, ...(code === undefined ? {} : { code }) });
    expect((await talk(server.port, command({ GROUP: 'standard' }))).text).toBe(`ERROR\r\n${reason}\r\nend`);
    expect(server.accounts()).toEqual([]);
    expect((await talk(server.port, command({ GROUP: 'standard' }))).text).toMatch(/^OK/);
  });

  test('there is no step at which a fault could strike: the protocol has commands alone', async () => {
    const server = await start();
    for (const step of ['tls', 'authentication'] as const) {
      expect(() => server.faults.set({ kind: 'silence', times: 1, step })).toThrow(RangeError);
    }
    expect(server.faults.list()).toEqual([]);
  });

  test('closing ends slow commands and open connections at once', async () => {
    const server = await start();
    server.faults.set({ kind: 'slow', times: 1, ms: 60_000 });
    const ended = talk(server.port, command());
    await sleep(30);
    const startedAt = Date.now();
    await server.close();
    await ended;
    expect(Date.now() - startedAt).toBeLessThan(1_000);
    expect(server.accounts()).toEqual([]);
  });
});
