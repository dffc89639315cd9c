import { connect } from 'node:net';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { BASIC, command, start, talk } from '../../../support/text-server.ts';

describe('web-registration', () => {
  it('an account is opened in the group of this index, with a login of the server’s choice', async () => {
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

  it('a deposit is made in demo groups only', async () => {
    const server = await start();
    await talk(server.port, command({ GROUP: '1', DEPOSIT: '250' }));
    expect(server.accounts()).toMatchObject([{ group: 'standard', balance: 0 }]);
  });

  it('a value injects: the first KEY= of the line counts, wherever it stands', async () => {
    const server = await start();
    await talk(server.port, command({ NAME: 'x|LEVERAGE=500|', IP: '1' }));
    await talk(server.port, command({ NAME: 'LEVERAGE=700', IP: '2' }));
    await talk(server.port, command({ NAME: 'Ann\nQUIT', IP: '3' }));
    expect(server.accounts()).toMatchObject([
      { name: 'x', leverage: 500 },
      { name: 'LEVERAGE=700', leverage: 700 },
    ]);
  });

  it('a password for the phone that stands first is taken for the password', async () => {
    const server = await start();
    const { PASSWORD, ...rest } = BASIC;
    const line = `PHONE_PASSWORD=Phone99|${Object.entries({ ...rest, PASSWORD, LEVERAGE: '1' })
      .map((pair) => pair.join('='))
      .join('|')}`;
    await talk(server.port, `WNEWACCOUNT ${line}\nQUIT\n`);
    expect(server.access(100_001, 'Phone99')).toBe('master');
  });

  it('the second byte of a letter injects too', async () => {
    const server = await start({ codePage: 'shift_jis' });
    await talk(server.port, iconv.encode(command({ NAME: 'ポLEVERAGE=900', LEVERAGE: undefined }), 'shift_jis'));
    expect(server.accounts()).toMatchObject([{ leverage: 900 }]);
    expect(server.accounts()[0]?.name).not.toContain('ポ');
  });

  it('values are cut without a word', async () => {
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

  it('country, phone and the wish for statements are kept and cut, but not listed', async () => {
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

  it('text ends with its first NUL', async () => {
    const server = await start();
    expect((await talk(server.port, command({ NAME: 'Ann\0Lee' }))).text).toContain('simple password');
  });
});

describe('what web-registration refuses', () => {
  it.each([
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

  it.each([
    ['lower and upper case', 'abcDE'],
    ['lower case and digits', 'abc12'],
    ['upper case and digits', 'ABC12'],
  ])('%s make a password', async (_, password) => {
    const server = await start();
    expect((await talk(server.port, command({ PASSWORD: password }))).text).toMatch(/^OK/);
  });

  it('one address opens one account in a while; refused commands do not count', async () => {
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

  it('another command, or a client that is not listed, is closed in silence', async () => {
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
});

describe('the bytes of web-registration', () => {
  it('a command may come byte by byte', async () => {
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

  it('an answer is split over packets', async () => {
    const server = await start();
    expect((await talk(server.port, command())).packets).toBeGreaterThan(3);
    const whole = await start({ packetBytes: 1_000 });
    expect((await talk(whole.port, command())).packets).toBe(1);
  });
});
