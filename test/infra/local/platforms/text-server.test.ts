import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import iconv from 'iconv-lite';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Fault } from '../../../../infra/local/faults.ts';
import { startTextServer, type TextServerOptions } from '../../../../infra/local/platforms/text-server.ts';
import { answerBefore } from '../../../support/silence.ts';

/** A simulated plug-in (or gateway) that ends with the test. */
async function start(options: Partial<TextServerOptions> = {}) {
  const groups = [{ name: 'standard' }, { name: 'demoforex' }, { name: 'secret', permitted: false }];
  const server = await startTextServer({ dialect: 'web-registration', master: 'm4ster', groups, ...options });
  onTestFinished(() => server.close());
  return server;
}

/** Sends raw bytes and reads until the server closes. */
async function talk(port: number, sent: string | Buffer): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  socket.write(typeof sent === 'string' ? Buffer.from(sent, 'latin1') : sent);
  return (await buffer(socket)).toString('latin1');
}

/** Sends a command, and waits for the first byte, or the end, of the answer. */
function hears(port: number, sent: string): Promise<'an answer'> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  socket.on('error', () => {}).write(sent);
  return new Promise((resolve) => {
    const hear = () => resolve('an answer');
    socket.once('data', hear).once('end', hear);
  });
}

/** A line that opens an account, with these changes; `undefined` leaves a parameter out. */
function command(changes: Changes = {}, verb = 'NEWACCOUNT'): string {
  const basic = { MASTER: 'm4ster', IP: '10.0.0.1', GROUP: '2', NAME: 'Ann Lee', PASSWORD: 'Master77' };
  const parameters = Object.entries({ ...basic, INVESTOR: 'Inv88x', LEVERAGE: '100', ...changes });
  const text = parameters.filter(([, value]) => value !== undefined).map(([key, value]) => `${key}=${value}`);
  return `W${verb} ${text.join('|')}\nQUIT\n`;
}

type Changes = Record<string, string | undefined>;

/** Openings in each dialect, and the result: the account's members, or the error. A gateway names groups. */
const OPENINGS: Readonly<
  Record<TextServerOptions['dialect'], readonly [says: string, changes: Changes, account: object | string][]>
> = {
  'web-registration': [
    [
      'an email address and a deposit',
      { EMAIL: 'a@b.c', DEPOSIT: '250.5' },
      { group: 'demoforex', leverage: 100, name: 'Ann Lee', email: 'a@b.c', balance: 250.5, comment: '' },
    ],
    ['a login and a read-only flag, which it does not know', { LOGIN: '5', READONLY: '1' }, { login: 100_001 }],
    ['a deposit into a group that is not for demos', { GROUP: '1', DEPOSIT: '250' }, { balance: 0 }],
    ['a value that injects another', { NAME: 'x|LEVERAGE=500|' }, { name: 'x', leverage: 500 }],
    ['a key as a value', { NAME: 'LEVERAGE=700' }, { name: 'LEVERAGE=700', leverage: 700 }],
    ['a wrong master password', { MASTER: 'x' }, 'invalid data'],
    ['no address', { IP: undefined }, 'invalid data'],
    ['an index below the list', { GROUP: '0' }, 'invalid data'],
    ['an index beyond the list', { GROUP: '4' }, 'invalid data'],
    ['a group without permission', { GROUP: '3' }, 'invalid data'],
    ['no name', { NAME: '' }, 'invalid data'],
    ['leverage 0', { LEVERAGE: '0' }, 'invalid data'],
    ['a short password', { PASSWORD: 'Ab1x' }, 'simple password'],
    ['a password of one class', { PASSWORD: 'abcdefgh' }, 'simple password'],
  ],
  'interface-gateway': [
    [
      'a login, a read-only flag and a balance',
      { LOGIN: '42', READONLY: '1', BALANCE: '99.5', BALCOMMENT: 'x' },
      { login: 42, group: 'standard', readonly: true, balance: 99.5 },
    ],
    ['a wrong master password', { MASTER: 'x' }, 'invalid MASTER'],
    ['an unknown group', { GROUP: 'nope' }, 'invalid GROUP'],
    ['no investor password', { INVESTOR: undefined }, 'miss INVESTOR'],
    ['a simple password', { PASSWORD: 'abc' }, 'invalid PASSWORD'],
    ['an empty name', { NAME: '' }, 'invalid NAME'],
    ['leverage 0', { LEVERAGE: '0' }, 'invalid LEVERAGE'],
  ],
};

describe.each(['web-registration', 'interface-gateway'] as const)('An opening by %s', (dialect) => {
  it.each(OPENINGS[dialect])('with %s', async (_, changes, outcome) => {
    const server = await start({ dialect });
    const group = dialect === 'interface-gateway' ? { GROUP: 'standard' } : {};
    const text = await talk(server.port, command({ ...group, ...changes }));
    // Only the plug-in ends its last line.
    const end = dialect === 'interface-gateway' ? 'end' : 'end\r\n';
    if (typeof outcome === 'string') {
      expect([text, server.accounts()]).toEqual([`ERROR\r\n${outcome}\r\n${end}`, []]);
    } else {
      expect(text).toMatch(new RegExp(`^OK\r\nLOGIN=\\d+\r\n${end}$`));
      expect(server.accounts()).toMatchObject([outcome]);
    }
  });
});

describe('The plug-in', () => {
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

  it('closes silently for another command, a long line, and a client that is not listed', async () => {
    const server = await start();
    for (const text of [command({}, 'CHKACCOUNT'), 'hello\n', 'x'.repeat(3_000)]) {
      expect(await talk(server.port, text)).toBe('');
    }
    server.faults.set({ kind: 'refused', times: 1 });
    expect([await talk(server.port, command()), server.accounts()]).toEqual(['', []]);
  });
});

describe('The gateway', () => {
  const gateway = (options: Partial<TextServerOptions> = {}) => start({ dialect: 'interface-gateway', ...options });
  const order = (changes: Changes = {}) => command({ GROUP: 'standard', ...changes });

  it('gives every login once, and never an existing one', async () => {
    const server = await gateway();
    server.populate({ group: 'standard', from: 800_000, count: 1_000 });
    await talk(server.port, order({ LOGIN: '42' }));
    for (const LOGIN of ['42', '800999', '2147483648']) {
      expect(await talk(server.port, order({ LOGIN }))).toBe('ERROR\r\naccount create failed\r\nend');
    }
    expect(server.accounts().map(({ login }) => login)).toEqual([42]);
  });

  it.each([
    ['checks logins', {}, 'CHKACCOUNT', 'LOGIN=42', 'OK\r\nuser check successful\r\nend'],
    ['checks logins', {}, 'CHKACCOUNT', 'LOGIN=43', 'ERROR\r\nuser check failed\r\nend'],
    ['checks logins', {}, 'CHKACCOUNT', '', 'ERROR\r\nmiss LOGIN\r\nend'],
    ['may refuse', { accountCheck: 'refused' }, 'CHKACCOUNT', 'LOGIN=42', 'ERROR\r\ninvalid CMD\r\nend'],
  ] as const)('%s: %j, %s %s', async (_, options, verb, parameters, answer) => {
    const server = await gateway(options);
    await talk(server.port, order({ LOGIN: '42' }));
    expect(await talk(server.port, `W${verb} MASTER=m4ster|${parameters}\nQUIT\n`)).toBe(answer);
  });
});

describe('The gateway may be silent', () => {
  it.each<[string, Partial<TextServerOptions>, string, string[]]>([
    ['about accounts', { accountCheck: 'silent' }, 'CHKACCOUNT', ['silence', 'silence']],
  ])('%s', async (_, options, verb, expected) => {
    const server = await start({ dialect: 'interface-gateway', ...options });
    const later = () => talk(server.port, 'WNEWACCOUNT MASTER=m4ster\nQUIT\n');
    const seen = [];
    for (const _ of expected) {
      const ask = () => hears(server.port, `W${verb} MASTER=m4ster|LOGIN=42|PASSWORD=x\nQUIT\n`);
      seen.push((await answerBefore(server, ask, later)) ?? 'silence');
    }
    expect(seen).toEqual(expected);
  });
});

it('The fault reply_lost waits for a command that opens an account', async () => {
  const server = await start({ dialect: 'interface-gateway' });
  server.faults.set({ kind: 'reply_lost', times: 1 });
  expect(await talk(server.port, 'WCHKACCOUNT MASTER=m4ster|LOGIN=1\n')).toContain('user check failed');
  await expect(talk(server.port, command({ GROUP: 'standard' }))).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(server.accounts()).toHaveLength(1);
});

describe('A fault of a lying gateway', () => {
  const talkAfter = async (fault: Pick<Fault, 'kind' | 'code'>) => {
    const server = await start({ dialect: 'interface-gateway' });
    server.faults.set({ ...fault, times: 1 });
    expect(await talk(server.port, 'WCHKACCOUNT MASTER=m4ster|LOGIN=1\n')).toContain('user check failed');
    const answer = await talk(server.port, command({ GROUP: 'standard', LOGIN: '42' }));
    return [answer, ...server.accounts().map(({ login }) => login)];
  };

  it.each([
    [{ kind: 'executed_retcode', code: 10 }, 'ERROR\r\nMT is disconnected\r\nend', 42],
    [{ kind: 'executed_retcode', code: 3 }, 'ERROR\r\ninvalid data\r\nend', 42],
    [{ kind: 'executed_retcode', code: 9999 }, 'ERROR\r\ninternal error 9999\r\nend', 42],
    [{ kind: 'executed_twice' }, 'ERROR\r\naccount create failed\r\nend', 42],
    [{ kind: 'login_ignored' }, 'OK\r\nLOGIN=100001\r\nend', 100_001],
  ] as const)('executes the next opening: %j', async (fault, answer, login) => {
    expect(await talkAfter(fault)).toEqual([answer, login]);
  });
});
