import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import iconv from 'iconv-lite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTextServer, type TextServerOptions } from '../../../../infra/local/platforms/text-server.ts';

/** A simulated plug-in (or gateway) that ends with the test. */
async function start(options: Partial<TextServerOptions> = {}) {
  const groups = [{ name: 'standard' }, { name: 'demoforex' }, { name: 'secret', permitted: false }];
  const server = await startTextServer({ dialect: 'web-registration', master: 'm4ster', groups, ...options });
  onTestFinished(() => server.close());
  return server;
}

/** Sends raw bytes and reads until the server closes. */
function talk(port: number, text: string | Buffer): Promise<{ text: string; failed: boolean }> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const answer = { text: '', failed: false };
    socket.on('data', (bytes) => {
      answer.text += bytes.toString('latin1');
    });
    socket.on('error', () => {
      answer.failed = true;
    });
    socket.on('close', () => resolve(answer));
    socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
  });
}

/** A line that opens an account, with these changes; `undefined` leaves a parameter out. */
function command(changes: Changes = {}, verb = 'NEWACCOUNT'): string {
  const basic = { MASTER: 'm4ster', IP: '10.0.0.1', GROUP: '2', NAME: 'Ann Lee', PASSWORD: 'Master77' };
  const parameters = Object.entries({ ...basic, INVESTOR: 'Inv88x', LEVERAGE: '100', ...changes });
  const text = parameters.filter(([, value]) => value !== undefined).map(([key, value]) => `${key}=${value}`);
  return `W${verb} ${text.join('|')}\nQUIT\n`;
}

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
    await talk(server.port, command().replace('MASTER=', 'PHONE_PASSWORD=Phone99|MASTER='));
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
    const more = { COUNTRY: 'C'.repeat(40), PHONE: `+${'4'.repeat(40)}` };
    await talk(server.port, command({ ...long, ...more, PASSWORD: `Ab1${'x'.repeat(20)}` }));
    expect(server.accounts()).toMatchObject([
      { name: 'n'.repeat(127), email: 'e'.repeat(47), comment: 'c'.repeat(63) },
    ]);
    expect(server.access(100_001, `Ab1${'x'.repeat(12)}`)).toBe('master');
    expect(server.details(100_001)).toMatchObject({ country: 'C'.repeat(31), phone: `+${'4'.repeat(30)}` });
  });

  it('limits how often an address opens an account; refused commands do not count', async () => {
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

  it('closes silently for another command, a long line, and a client that is not listed', async () => {
    const server = await start();
    for (const text of [command({}, 'CHKACCOUNT'), 'hello\n', 'x'.repeat(3_000)]) {
      expect(await talk(server.port, text)).toMatchObject({ text: '', failed: false });
    }
    server.faults.set({ kind: 'refused', times: 1 });
    expect([(await talk(server.port, command())).text, server.accounts()]).toEqual(['', []]);
  });
});

describe('interface-gateway', () => {
  it('gives a login once, and never one that exists', async () => {
    const server = await gateway({ firstLogin: 42 });
    server.populate({ group: 'standard', from: 800_000, count: 1_000 });
    await talk(server.port, order({ LOGIN: '42' }));
    for (const LOGIN of ['42', '800999', '2147483648']) {
      expect((await talk(server.port, order({ LOGIN }))).text).toBe('ERROR\r\naccount create failed\r\nend');
    }
    expect((await talk(server.port, order())).text).toContain('LOGIN=43');
    expect(server.accounts().map(({ login }) => login)).toEqual([42, 43]);
  });

  it.each([
    ['checks logins', {}, 'CHKACCOUNT', 'LOGIN=42', 'OK\r\nuser check successful\r\nend'],
    ['checks logins', {}, 'CHKACCOUNT', 'LOGIN=43', 'ERROR\r\nuser check failed\r\nend'],
    ['checks logins', {}, 'CHKACCOUNT', '', 'ERROR\r\nmiss LOGIN\r\nend'],
    ['checks passwords', {}, 'CHECKPASS', 'LOGIN=42|PASSWORD=Master77', 'OK\r\npassword is right\r\nend'],
    ['checks passwords', {}, 'CHECKPASS', 'LOGIN=42|PASSWORD=Inv88x', 'ERROR\r\npassword is wrong\r\nend'],
    ['may refuse', { accountCheck: 'refused' }, 'CHKACCOUNT', 'LOGIN=42', 'ERROR\r\ninvalid CMD\r\nend'],
    ['may refuse', { passwordCheck: 'refused' }, 'CHECKPASS', 'LOGIN=42|PASSWORD=x', 'ERROR\r\ninvalid CMD\r\nend'],
    ['may be silent', { accountCheck: 'silent' }, 'CHKACCOUNT', 'LOGIN=42', 'silent'],
  ] as const)('%s: %j, %s %s', async (_, options, verb, parameters, answer) => {
    const server = await gateway(options);
    await talk(server.port, order({ LOGIN: '42' }));
    const asked = talk(server.port, `W${verb} MASTER=m4ster|${parameters}\nQUIT\n`).then(({ text }) => text);
    expect(await Promise.race([asked, sleep(answer === 'silent' ? 150 : 5_000, 'silent')])).toBe(answer);
  });
});

describe('A fault', () => {
  it.each(['orderly', 'reset'] as const)(
    'late closes the connection, %s, and executes the command afterwards',
    async (ending) => {
      const server = await start();
      server.faults.set({ kind: 'late', times: 1, ms: 150, ending });
      expect(await talk(server.port, command())).toMatchObject({ text: '', failed: ending === 'reset' });
      expect(server.accounts()).toEqual([]);
      await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(1);
    },
  );

  it('reply_lost waits for a command that opens an account', async () => {
    const server = await gateway();
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect((await talk(server.port, 'WCHKACCOUNT MASTER=m4ster|LOGIN=1\n')).text).toContain('user check failed');
    expect([(await talk(server.port, order())).text, server.accounts().length]).toEqual(['', 1]);
  });
});
