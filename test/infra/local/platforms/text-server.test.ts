import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import type { TextServerOptions } from '../../../../infra/local/platforms/text-accounts.ts';
import { BASIC, command, start, talk } from '../../../support/text-server.ts';

/**
 * How each dialect answers an opening. A gateway names groups, a plug-in numbers them, and only the plug-in ends its
 * lines.
 */
const DIALECTS = {
  'web-registration': {
    group: '2',
    success: /^OK\r\nLOGIN=\d+\r\nend\r\n$/,
    error: (why: string) => `ERROR\r\n${why}\r\nend\r\n`,
  },
  'interface-gateway': {
    group: 'standard',
    success: /^OK\r\nLOGIN=\d+\r\nend$/,
    error: (why: string) => `ERROR\r\n${why}\r\nend`,
  },
} as const;
type Dialect = keyof typeof DIALECTS;
type Changes = Record<string, string | undefined>;

const gateway = (options: Partial<TextServerOptions> = {}) => start({ dialect: 'interface-gateway', ...options });
const order = (changes: Changes = {}) => command({ GROUP: 'standard', ...changes });

/** The parameters of an opening, and the result: the account's members, or the error. */
const OPENINGS: readonly [dialect: Dialect, says: string, changes: Changes, account: object | string][] = [
  [
    'web-registration',
    'an email address and a deposit',
    { EMAIL: 'a@b.c', DEPOSIT: '250.5' },
    { group: 'demoforex', leverage: 100, name: 'Ann Lee', email: 'a@b.c', balance: 250.5, comment: '' },
  ],
  [
    'web-registration',
    'a login and a read-only flag, which it does not know',
    { LOGIN: '5', READONLY: '1' },
    { login: 100_001, readonly: false },
  ],
  [
    'web-registration',
    'a deposit into a group that is not for demos',
    { GROUP: '1', DEPOSIT: '250' },
    { group: 'standard', balance: 0 },
  ],
  ['web-registration', 'a value that injects another', { NAME: 'x|LEVERAGE=500|' }, { name: 'x', leverage: 500 }],
  ['web-registration', 'a key as a value', { NAME: 'LEVERAGE=700' }, { name: 'LEVERAGE=700', leverage: 700 }],
  ['web-registration', 'lower and upper case', { PASSWORD: 'abcDE' }, {}],
  ['web-registration', 'lower case and digits', { PASSWORD: 'abc12' }, {}],
  ['web-registration', 'upper case and digits', { PASSWORD: 'ABC12' }, {}],
  ['web-registration', 'a wrong master password', { MASTER: 'x' }, 'invalid data'],
  ['web-registration', 'no master password', { MASTER: undefined }, 'invalid data'],
  ['web-registration', 'no address', { IP: undefined }, 'invalid data'],
  ['web-registration', 'no group', { GROUP: undefined }, 'invalid data'],
  ['web-registration', 'an index below the list', { GROUP: '0' }, 'invalid data'],
  ['web-registration', 'an index beyond the list', { GROUP: '4' }, 'invalid data'],
  ['web-registration', 'a group by name', { GROUP: 'standard' }, 'invalid data'],
  ['web-registration', 'a group without permission', { GROUP: '3' }, 'invalid data'],
  ['web-registration', 'no name', { NAME: '' }, 'invalid data'],
  ['web-registration', 'leverage 0', { LEVERAGE: '0' }, 'invalid data'],
  ['web-registration', 'a short password', { PASSWORD: 'Ab1x' }, 'simple password'],
  ['web-registration', 'a password of one class', { PASSWORD: 'abcdefgh' }, 'simple password'],
  ['web-registration', 'a simple password before a missing name', { PASSWORD: 'abc', NAME: '' }, 'simple password'],
  ['web-registration', 'a NUL, where the text ends', { NAME: 'Ann\0Lee' }, 'simple password'],
  [
    'interface-gateway',
    'a login, a read-only flag and a balance',
    { LOGIN: '42', READONLY: '1', BALANCE: '99.5', BALCOMMENT: 'x' },
    { login: 42, group: 'standard', readonly: true, balance: 99.5 },
  ],
  ['interface-gateway', 'no master password', { MASTER: undefined }, 'miss MASTER'],
  ['interface-gateway', 'a wrong master password', { MASTER: 'x' }, 'invalid MASTER'],
  ['interface-gateway', 'an unknown group', { GROUP: 'nope' }, 'invalid GROUP'],
  ['interface-gateway', 'a group without permission', { GROUP: 'secret' }, 'invalid GROUP'],
  ['interface-gateway', 'no name', { NAME: undefined }, 'miss NAME'],
  ['interface-gateway', 'no password', { PASSWORD: undefined }, 'miss PASSWORD'],
  ['interface-gateway', 'no investor password', { INVESTOR: undefined }, 'miss INVESTOR'],
  ['interface-gateway', 'a simple password', { PASSWORD: 'abc' }, 'invalid PASSWORD'],
  ['interface-gateway', 'an empty name', { NAME: '' }, 'invalid NAME'],
  ['interface-gateway', 'leverage 0', { LEVERAGE: '0' }, 'invalid LEVERAGE'],
];

describe('An opening', () => {
  it.each(OPENINGS)('by %s with %s', async (dialect, _, changes, outcome) => {
    const server = await start({ dialect });
    const { group, success, error } = DIALECTS[dialect];
    const { text } = await talk(server.port, command({ GROUP: group, ...changes }));
    if (typeof outcome === 'string') {
      expect([text, server.accounts()]).toEqual([error(outcome), []]);
    } else {
      expect(text).toMatch(success);
      expect(server.accounts()).toMatchObject([outcome]);
    }
  });

  it('gives the account its passwords, and others no access', async () => {
    const server = await start({ firstLogin: 900 });
    await talk(server.port, command());
    const access = (['Master77', 'Inv88x', 'else'] as const).map((password) => server.access(900, password));
    expect([...access, server.access(901, 'Master77')]).toEqual(['master', 'investor', 'none', 'none']);
  });
});

describe('web-registration', () => {
  it('ends a command with its line', async () => {
    const server = await start();
    await talk(server.port, command({ NAME: 'Ann\nQUIT' }));
    expect(server.accounts()).toEqual([]);
  });

  it('takes a phone password that comes first for the password', async () => {
    const server = await start();
    const { PASSWORD, ...rest } = BASIC;
    const values = Object.entries({ PHONE_PASSWORD: 'Phone99', ...rest, PASSWORD, LEVERAGE: '1' });
    await talk(server.port, `WNEWACCOUNT ${values.map((pair) => pair.join('=')).join('|')}\nQUIT\n`);
    expect(server.access(100_001, 'Phone99')).toBe('master');
  });

  it('lets the second byte of a letter inject', async () => {
    const server = await start({ codePage: 'shift_jis' });
    await talk(server.port, iconv.encode(command({ NAME: 'ポLEVERAGE=900', LEVERAGE: undefined }), 'shift_jis'));
    expect(server.accounts()).toMatchObject([{ leverage: 900, name: expect.not.stringContaining('ポ') }]);
  });

  it('cuts values silently, also those that it does not list', async () => {
    const server = await start();
    const long = { NAME: 'n'.repeat(200), EMAIL: 'e'.repeat(99), COMMENT: 'c'.repeat(99) };
    const more = { COUNTRY: 'C'.repeat(40), PHONE: `+${'4'.repeat(40)}`, PHONE_PASSWORD: 'x', SEND_REPORTS: '1' };
    await talk(server.port, command({ ...long, ...more, PASSWORD: `Ab1${'x'.repeat(20)}` }));
    expect(server.accounts()).toEqual([
      {
        login: 100_001,
        group: 'demoforex',
        leverage: 100,
        name: 'n'.repeat(127),
        email: 'e'.repeat(47),
        readonly: false,
        balance: 0,
        comment: 'c'.repeat(63),
      },
    ]);
    expect(server.access(100_001, `Ab1${'x'.repeat(12)}`)).toBe('master');
    expect(server.details(100_001)).toMatchObject({
      country: 'C'.repeat(31),
      phone: `+${'4'.repeat(30)}`,
      phone_password: 'x',
      send_reports: '1',
    });
    expect(server.details(1)).toBeUndefined();
  });

  it('opens one account for an address in a while; refused commands do not count', async () => {
    let now = 0;
    const server = await start({ floodSeconds: 20, now: () => now });
    const answers: string[] = [];
    for (const changes of [{ PASSWORD: 'x' }, {}, {}, { IP: '10.0.0.2' }]) {
      answers.push((await talk(server.port, command(changes))).text.split('\r\n')[1] ?? '');
    }
    const blocked = 'IP is blocked. Please wait 20 secs and try again.';
    expect(answers).toEqual(['simple password', 'LOGIN=100001', blocked, 'LOGIN=100002']);
    now = 20_000;
    expect((await talk(server.port, command())).text).toMatch(/^OK/);
  });

  it('closes silently for another command, and for a client that is not listed', async () => {
    const server = await start();
    for (const text of [command({}, 'CHKACCOUNT'), 'hello\n', 'x'.repeat(3_000)]) {
      expect(await talk(server.port, text)).toMatchObject({ text: '', failed: false });
    }
    const strict = await start({ allowedAddresses: ['192.0.2.1'] });
    expect([(await talk(strict.port, command())).text, strict.accounts()]).toEqual(['', []]);
    const listed = await start({ allowedAddresses: ['127.0.0.1'] });
    expect((await talk(listed.port, command())).text).toMatch(/^OK/);
  });

  it('reads a command byte by byte, and splits its answer over packets', async () => {
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
    expect((await talk(server.port, command({ IP: '2' }))).packets).toBeGreaterThan(3);
    const whole = await start({ packetBytes: 1_000 });
    expect((await talk(whole.port, command())).packets).toBe(1);
  });
});

describe('interface-gateway', () => {
  const TAKEN = 'ERROR\r\naccount create failed\r\nend';

  it('gives a login once, never one that exists, and none outside its own range', async () => {
    const server = await gateway({ firstLogin: 42 });
    await talk(server.port, order({ LOGIN: '42' }));
    expect((await talk(server.port, order({ LOGIN: '42' }))).text).toBe(TAKEN);
    expect((await talk(server.port, order())).text).toContain('LOGIN=43');
    const ranged = await gateway({ logins: { from: 500_000, to: 599_999 } });
    expect((await talk(ranged.port, order({ LOGIN: '499999' }))).text).toBe(TAKEN);
    expect((await talk(ranged.port, order({ LOGIN: '500000' }))).text).toContain('LOGIN=500000');
  });

  it('has bulk accounts at their logins, and does not list them', async () => {
    const server = await gateway();
    server.populate({ group: 'standard', from: 100_001, count: 1_000_000 });
    expect((await talk(server.port, order({ LOGIN: '1100000' }))).text).toBe(TAKEN);
    expect((await talk(server.port, order())).text).toContain('LOGIN=1100001');
    expect(server.accounts()).toHaveLength(1);
  });

  it('opens the account although the bonus was not booked', async () => {
    const server = await gateway();
    const { text } = await talk(server.port, order({ BALANCE: '10', CREDITWAY: '1' }));
    expect([text, server.accounts().length]).toEqual(['OK\r\nLOGIN=100001\r\nmiss BNSCODE\r\nend', 1]);
  });

  it('checks logins and passwords', async () => {
    const server = await gateway();
    await talk(server.port, order({ LOGIN: '42' }));
    const ask = async (verb: string, rest: string) =>
      (await talk(server.port, `W${verb} MASTER=m4ster|${rest}\nQUIT\n`)).text;
    expect(await ask('CHKACCOUNT', 'LOGIN=42')).toBe('OK\r\nuser check successful\r\nend');
    expect(await ask('CHKACCOUNT', 'LOGIN=43')).toBe('ERROR\r\nuser check failed\r\nend');
    expect(await ask('CHKACCOUNT', '')).toBe('ERROR\r\nmiss LOGIN\r\nend');
    expect(await ask('CHECKPASS', 'LOGIN=42|PASSWORD=Master77|INVESTOR=0')).toMatch(/^OK\r\npassword is right/);
    expect(await ask('CHECKPASS', 'LOGIN=42|PASSWORD=Inv88x|INVESTOR=0')).toContain('password is wrong');
  });

  it.each([
    ['refuses', { accountCheck: 'refused' }, 'CHKACCOUNT', 'ERROR\r\ninvalid CMD\r\nend'],
    ['refuses', { passwordCheck: 'refused' }, 'CHECKPASS', 'ERROR\r\ninvalid CMD\r\nend'],
    ['answers', { passwordCheck: 'refused' }, 'CHKACCOUNT', 'ERROR\r\nuser check failed\r\nend'],
    ['is silent about', { accountCheck: 'silent' }, 'CHKACCOUNT', 'silent'],
  ] as const)('as an older one %s a question: %j, %s', async (_, options, verb, answer) => {
    const server = await gateway(options);
    const asked = talk(server.port, `W${verb} MASTER=m4ster|LOGIN=1|PASSWORD=Master77|INVESTOR=0\nQUIT\n`);
    expect(
      await Promise.race([asked.then(({ text }) => text), sleep(answer === 'silent' ? 150 : 5_000, 'silent')]),
    ).toBe(answer);
  });

  it('refuses a client that is not listed, and ends its answer as configured', async () => {
    const strict = await gateway({ allowedAddresses: ['192.0.2.1'] });
    expect((await talk(strict.port, order())).text).toBe('ERROR\r\nillegal IP\r\nend');
    const [line, none] = [await gateway({ end: 'line' }), await gateway({ end: 'none' })];
    expect((await talk(line.port, order())).text).toBe('OK\r\nLOGIN=100001\r\nend\r\n');
    expect((await talk(none.port, order())).text).toBe('OK\r\nLOGIN=100001\r\n');
  });
});

describe('A fault', () => {
  /** How the answer begins, and how many accounts there are at once and in the end. */
  it.each([
    ['reply_lost', {}, /^$/, 1, 1],
    ['session_dropped', {}, /^$/, 0, 0],
    ['garbage', {}, /^(?!OK|ERROR)./s, 1, 1],
    ['late', { ms: 150, ending: 'orderly' }, /^$/, 0, 1],
    ['late', { ms: 150, ending: 'reset' }, /^$/, 0, 1],
  ] as const)('%s %j', async (kind, details, answer, atOnce, inTheEnd) => {
    const server = await start();
    server.faults.set({ kind, times: 1, ...details });
    const { text, failed } = await talk(server.port, command());
    expect(text).toMatch(answer);
    if ('ending' in details) expect(failed).toBe(details.ending === 'reset');
    expect(server.accounts()).toHaveLength(atOnce);
    await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(inTheEnd);
    expect(server.commands).toBe(1);
  });

  it.each([
    ['throttled', undefined, 'IP is blocked. Please wait 20 secs and try again.'],
    ['refused', undefined, 'illegal IP'],
    ['retcode', 1001, 'invalid MASTER'],
    ['retcode', 3006, 'simple password'],
    ['retcode', 9001, 'invalid LEVERAGE'],
    ['retcode', 9003, 'invalid PASSWORD'],
    ['retcode', 4711, 'account create failed'],
    ['retcode', undefined, 'account create failed'],
  ] as const)('%s %s is the error "%s", once, and no account', async (kind, code, reason) => {
    const server = await gateway();
    server.faults.set({ kind, times: 1, ...(code === undefined ? {} : { code }) });
    expect((await talk(server.port, order())).text).toBe(`ERROR\r\n${reason}\r\nend`);
    expect(server.accounts()).toEqual([]);
    expect((await talk(server.port, order())).text).toMatch(/^OK/);
  });

  it('down refuses connections as often as was asked or until it is cleared, then the same port answers', async () => {
    const server = await start();
    server.faults.set({ kind: 'down', times: 2, after: 1 });
    expect((await talk(server.port, command())).text).toMatch(/^OK/);
    for (let refused = 0; refused < 2; refused += 1) {
      expect(await talk(server.port, command({ IP: '2' }))).toEqual({ text: '', packets: 0, failed: true });
    }
    expect((await talk(server.port, command({ IP: '2' }))).text).toMatch(/^OK/);
    expect(server.commands).toBe(2);
    server.faults.set({ kind: 'down', times: 9 });
    expect((await talk(server.port, command({ IP: '3' }))).failed).toBe(true);
    server.faults.clear();
    expect((await talk(server.port, command({ IP: '3' }))).text).toMatch(/^OK/);
  });

  it('reply_lost waits for a command that opens an account', async () => {
    const server = await gateway();
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect((await talk(server.port, 'WCHKACCOUNT MASTER=m4ster|LOGIN=1\n')).text).toContain('user check failed');
    expect([(await talk(server.port, order())).text, server.accounts().length]).toEqual(['', 1]);
  });

  it.each([
    ['silence', {}],
    ['slow', { ms: 600_000 }],
  ] as const)('%s leaves the connection open until the server is closed', async (kind, details) => {
    const server = await start();
    server.faults.set({ kind, times: 1, ...details });
    const ended = talk(server.port, command()).then(() => 'ended');
    await expect.poll(() => server.commands).toBe(1);
    expect(await Promise.race([ended, sleep(150, 'open')])).toBe('open');
    await server.close();
    expect([await ended, server.accounts()]).toEqual(['ended', []]);
  });

  it('has no step to strike at: the protocol has commands alone', async () => {
    const server = await start();
    for (const step of ['tls', 'authentication'] as const) {
      expect(() => server.faults.set({ kind: 'silence', times: 1, step })).toThrow(RangeError);
    }
    expect(server.faults.list()).toEqual([]);
  });
});
