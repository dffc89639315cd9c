import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { startTextServer, type TextServerOptions } from '../../../../infra/local/platforms/text-server.ts';
import type { AccountOrder } from '../../../../lib/platform/platform.ts';
import { atOnce, noting } from '../../../support/departures.ts';
import { type ScriptedTcp, scriptedTcp } from '../../../support/scripted-tcp.ts';
import { anOrder, failureOf, forever, GROUPS, HASTY, MASTER, textPlatform } from '../../../support/text-protocol.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function aServer(options: Partial<TextServerOptions> & Pick<TextServerOptions, 'dialect'>) {
  const server = await startTextServer({ master: MASTER, groups: GROUPS.map((name) => ({ name })), ...options });
  closing.push(() => server.close());
  return server;
}

async function aScript(script: (socket: Socket, text: string) => void): Promise<ScriptedTcp> {
  const server = await scriptedTcp(script);
  closing.push(() => server.close());
  return server;
}

/** A server that answers every command with this text, byte by byte, and closes (or leaves the connection open). */
function answering(text: string, { close = true } = {}): Promise<ScriptedTcp> {
  return aScript((socket) => {
    for (const byte of text) socket.write(byte, 'latin1');
    if (close) socket.end();
  });
}

/** The command lines that an order comes to, without `QUIT`. */
async function commandsOf(protocol: (typeof dialects)[number], changes: Partial<AccountOrder>): Promise<string[]> {
  const server = await aScript((socket, text) => {
    socket.end(text.startsWith('WNEW') ? 'OK\r\nLOGIN=7\r\nend\r\n' : 'ERROR\r\nuser check failed\r\nend');
  });
  const operationId = '6f1d8a52-5c1c-4f0e-9d3e-000000000001';
  await textPlatform(protocol, server.port).open(anOrder({ operationId, ...changes }), atOnce, forever);
  for (const text of server.received) expect(text).toMatch(/^[^\n]+\nQUIT\n$/);
  return server.received.map((text) => text.replace('\nQUIT\n', ''));
}

const dialects = ['web-registration', 'interface-gateway'] as const;

describe.each(dialects)('%s', (protocol) => {
  test('an account is opened with group, leverage, names, passwords and the operation id in the comment', async () => {
    const server = await aServer({ dialect: protocol, firstLogin: 5_001 });
    const order = anOrder({ leverage: 500, group: 'standard', name: 'Zoë Ærø', phone: '+447400123456', country: 'GB' });
    await expect(textPlatform(protocol, server.port).open(order, atOnce, forever)).resolves.toEqual({ login: 5_001 });
    expect(server.accounts()).toEqual([
      {
        login: 5_001,
        group: 'standard',
        leverage: 500,
        name: 'Zoë Ærø',
        email: 'ann@example.com',
        readonly: false,
        balance: 0,
        comment: order.operationId,
      },
    ]);
    expect(server.details(5_001)).toEqual({ country: 'GB', phone: '+447400123456', sendReports: true });
    expect(server.access(5_001, 'Master77')).toBe('master');
    expect(server.access(5_001, 'Invest88')).toBe('investor');
  });

  test('a client without phone and country has an account all the same', async () => {
    const server = await aServer({ dialect: protocol });
    const { login } = await textPlatform(protocol, server.port).open(anOrder(), atOnce, forever);
    expect(server.details(login)).toEqual({ country: '', phone: '', sendReports: true });
  });

  test('a demo account is funded by the command that opens it, and funding it again does nothing', async () => {
    const server = await aServer({ dialect: protocol });
    const platform = textPlatform(protocol, server.port);
    const order = anOrder({ deposit: 10_000.5 });
    const { login } = await platform.open(order, atOnce, forever);
    await platform.fund(order, login, atOnce, forever);
    expect(server.accounts()[0]?.balance).toBe(10_000.5);
    expect(server.commands).toBe(1);
  });

  test('a command is one line and QUIT, in one connection', async () => {
    const server = await answering('OK\r\nLOGIN=7\r\nend\r\n');
    await textPlatform(protocol, server.port).open(anOrder(), atOnce, forever);
    expect(server.received).toHaveLength(1);
    expect(server.received[0]).toMatch(/^WNEWACCOUNT MASTER=[^|\n]+\|IP=10\.\d+\.\d+\.\d+\|GROUP=[^\n]+\nQUIT\n$/);
  });

  test('every key stands once, and before each key that ends with it', async () => {
    const server = await answering('OK\r\nLOGIN=7\r\nend\r\n');
    const login = protocol === 'interface-gateway' ? { login: 7_777, readonly: true } : {};
    await textPlatform(protocol, server.port).open(anOrder({ deposit: 5, ...login }), atOnce, forever);
    expect(server.received).toHaveLength(1);
    for (const line of server.received) {
      const keys = [...line.matchAll(/[ |]([A-Z_]+)=/g)].map((match) => match[1] ?? '');
      expect(new Set(keys).size).toBe(keys.length);
      for (const key of keys) expect(line.indexOf(`${key}=`)).toBe(line.search(new RegExp(`[ |]${key}=`)) + 1);
    }
  });

  test('the departure is noted when the connection stands and before any byte has left', async () => {
    const server = await answering('OK\r\nLOGIN=7\r\nend\r\n');
    let receivedBefore: number | undefined;
    await textPlatform(protocol, server.port).open(
      anOrder(),
      noting(async () => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        receivedBefore = server.received.join('').length;
      }),
      forever,
    );
    expect(receivedBefore).toBe(0);
    expect(server.received.join('')).not.toBe('');
  });

  test('when the note throws, nothing is sent', async () => {
    const server = await aServer({ dialect: protocol });
    const stop = new Error('stop');
    const opening = textPlatform(protocol, server.port).open(
      anOrder(),
      noting(() => Promise.reject(stop)),
      forever,
    );
    await expect(opening).rejects.toBe(stop);
    expect(server.commands).toBe(0);
  });

  test('a process that was paused after its last check sends nothing, if its time is over by the wall clock', async () => {
    const server = await aServer({ dialect: protocol });
    let time = 1_000_000;
    const platform = textPlatform(protocol, server.port, { now: () => time });
    const pausedFor = (ms: number) => ({
      note: async () => {
        time += ms;
      },
      notAfter: time + 17_000,
    });
    expect(await failureOf(platform.open(anOrder(), pausedFor(150_000), forever))).toMatchObject({
      kind: 'platform_unavailable',
      options: { reason: 'too_late_to_send' },
    });
    expect({ commands: server.commands, accounts: server.accounts().length }).toEqual({ commands: 0, accounts: 0 });
    await platform.open(anOrder(), pausedFor(17_000), forever);
    expect(server.accounts()).toHaveLength(1);
  });

  test('twenty accounts are opened at once', async () => {
    const server = await aServer({ dialect: protocol });
    const platform = textPlatform(protocol, server.port);
    const logins = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const { login } = await platform.open(anOrder({ leverage: index + 1 }), atOnce, forever);
        expect(server.accounts().find((account) => account.login === login)?.leverage).toBe(index + 1);
        return login;
      }),
    );
    expect(new Set(logins).size).toBe(20);
  });

  describe('answers', () => {
    test.each([
      ['as documented', 'OK\r\nLOGIN=123\r\nend\r\n'],
      ['without a line end after end', 'OK\r\nLOGIN=123\r\nend'],
      ['with bare line feeds', 'OK\nLOGIN=123\nend\n'],
      ['of a partial success', 'OK\r\nLOGIN=123\r\nmiss BNSCODE\r\nend'],
      ['with a line before the login', 'OK\r\nwelcome\r\nLOGIN=123\r\nend\r\n'],
      ['without end, closed', 'OK\r\nLOGIN=123\r\n'],
    ])('%s: the account is open', async (_, text) => {
      const server = await answering(text);
      await expect(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever)).resolves.toEqual({
        login: 123,
      });
    });

    test('without end, on a connection that stays open: the account is open, without a long wait', async () => {
      const server = await answering('OK\r\nLOGIN=123\r\n', { close: false });
      const platform = textPlatform(protocol, server.port);
      const startedAt = Date.now();
      await expect(platform.open(anOrder(), atOnce, forever)).resolves.toEqual({ login: 123 });
      expect(Date.now() - startedAt).toBeLessThan(2_000);
    });

    test.each([
      ['a login that may be cut', 'OK\r\nLOGIN=123'],
      ['a login without its line feed', 'OK\r\nLOGIN=123\r'],
      ['OK alone', 'OK\r\nend\r\n'],
      ['OK and something else', 'OK\r\nmiss BNSCODE\r\nend\r\n'],
      ['a login that is no number', 'OK\r\nLOGIN=12x\r\nend\r\n'],
      ['login 0', 'OK\r\nLOGIN=0\r\nend\r\n'],
      ['half a word', 'O'],
      ['a reason that may be cut', 'ERROR\r\nsimple pass'],
      ['nothing', ''],
      ['end alone', 'end\r\n'],
      ['another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
      ['more than any answer', 'A'.repeat(20_000)],
    ])('%s: the outcome is unknown', async (_, text) => {
      const server = await answering(text);
      const { kind } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever));
      expect(kind).toBe('account_outcome_unknown');
    });

    test('an endless answer is not read to its end', async () => {
      const server = await aScript((socket) => {
        const pour = () => {
          while (socket.writable && socket.write('x'.repeat(65_536)));
        };
        socket.on('drain', pour);
        pour();
      });
      const platform = textPlatform(protocol, server.port);
      const { kind } = await failureOf(platform.open(anOrder(), atOnce, forever));
      expect(kind).toBe('account_outcome_unknown');
    });

    test('silence: the outcome is unknown when the time is up', async () => {
      const server = await aScript(() => {});
      const platform = textPlatform(protocol, server.port, HASTY);
      const { kind, options } = await failureOf(platform.open(anOrder(), atOnce, forever));
      expect(kind).toBe('account_outcome_unknown');
      expect(options).toMatchObject({ reason: 'no_answer' });
    });

    test('a reset after the write: the outcome is unknown', async () => {
      const server = await aScript((socket) => socket.resetAndDestroy());
      const { kind } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever));
      expect(kind).toBe('account_outcome_unknown');
    });

    test('the signal ends the wait: the outcome is unknown', async () => {
      const server = await aScript(() => {});
      const platform = textPlatform(protocol, server.port);
      const startedAt = Date.now();
      const { kind } = await failureOf(platform.open(anOrder(), atOnce, AbortSignal.timeout(100)));
      expect(kind).toBe('account_outcome_unknown');
      expect(Date.now() - startedAt).toBeLessThan(2_000);
    });
  });

  describe('errors', () => {
    test.each([
      ['invalid data', 'platform_refused', 'invalid_data'],
      ['simple password', 'password_rejected', 'simple_password'],
      ['invalid PASSWORD', 'password_rejected', 'simple_password'],
      ['account create failed', 'platform_refused', 'account_create_failed'],
      ['invalid GROUP', 'group_not_found', 'invalid_group'],
      ['invalid LEVERAGE', 'validation_failed', 'invalid_leverage'],
      ['invalid NAME', 'platform_refused', 'invalid_name'],
      ['miss NAME', 'platform_refused', 'miss_name'],
      ['miss PASSWORD', 'platform_refused', 'miss_password'],
      ['miss INVESTOR', 'platform_refused', 'miss_investor'],
      ['miss MASTER', 'platform_refused', 'miss_master'],
      ['invalid MASTER', 'platform_refused', 'invalid_master'],
      ['illegal IP', 'platform_refused', 'illegal_ip'],
      ['invalid CMD', 'platform_refused', 'invalid_cmd'],
      ['MT is disconnected', 'platform_unavailable', 'platform_disconnected'],
      ['ann@example.com is on the black list', 'account_outcome_unknown', 'unknown_error'],
      ['account was created, deposit failed', 'account_outcome_unknown', 'unknown_error'],
    ])('%s', async (text, kind, reason) => {
      const server = await answering(`ERROR\r\n${text}\r\nend\r\n`);
      const failure = await failureOf(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever));
      expect(failure).toMatchObject({ kind, options: { reason } });
      expect(JSON.stringify(failure)).not.toContain('ann@');
    });

    test('a blocked address says when to come back', async () => {
      const server = await answering('ERROR\r\nIP is blocked. Please wait 37 secs and try again.\r\nend\r\n');
      const failure = await failureOf(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever));
      expect(failure).toMatchObject({ kind: 'platform_unavailable', options: { retryAfterSeconds: 37 } });
    });

    test('a refused leverage names the field', async () => {
      const server = await answering('ERROR\r\ninvalid LEVERAGE\r\nend\r\n');
      const { options } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever));
      expect(options.errors).toMatchObject([{ pointer: '#/leverage', rule: 'not_offered' }]);
    });

    test('an error without a reason says nothing of what was done', async () => {
      const server = await answering('ERROR\r\nend\r\n');
      const { kind } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever));
      expect(kind).toBe('account_outcome_unknown');
    });

    test('a wrong master password is an operator’s matter', async () => {
      const server = await aServer({ dialect: protocol });
      const platform = textPlatform(protocol, server.port, { master: 'wrong' });
      const { kind } = await failureOf(platform.open(anOrder(), atOnce, forever));
      expect(kind).toBe('platform_refused');
    });

    test('a group’s own password rule', async () => {
      const server = await aServer({
        dialect: protocol,
        groups: GROUPS.map((name) => ({ name, minPasswordLength: 9 })),
      });
      const { kind } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever));
      expect(kind).toBe('password_rejected');
    });

    test('an unknown group', async () => {
      const server = await aServer({ dialect: protocol });
      for (const group of ['nope', 'constructor', 'a group of more than 15 bytes', 'standard|', '']) {
        const { kind } = await failureOf(textPlatform(protocol, server.port).open(anOrder({ group }), atOnce, forever));
        expect(kind).toBe('group_not_found');
      }
      expect(server.accounts()).toEqual([]);
    });
  });

  describe('nothing sent', () => {
    test('connection refused', async () => {
      const server = await scriptedTcp(() => {});
      await server.close();
      const failure = await failureOf(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever));
      expect(failure).toMatchObject({
        kind: 'platform_unavailable',
        options: { reason: 'connect_ECONNREFUSED', retryAfterSeconds: 10 },
      });
    });

    test('the server closes before the command', async () => {
      const server = await aServer({ dialect: protocol });
      const closeServer = async () => {
        await server.close();
        await new Promise((resolve) => setTimeout(resolve, 30));
      };
      const opening = textPlatform(protocol, server.port).open(anOrder(), noting(closeServer), forever);
      expect(await failureOf(opening)).toMatchObject({
        kind: 'platform_unavailable',
        options: { reason: 'closed_before_sending' },
      });
    });

    test('the time is up before connecting, or before sending', async () => {
      const server = await aServer({ dialect: protocol });
      const platform = textPlatform(protocol, server.port);
      expect((await failureOf(platform.open(anOrder(), atOnce, AbortSignal.abort()))).kind).toBe(
        'platform_unavailable',
      );
      const controller = new AbortController();
      const abort = noting(async () => controller.abort());
      expect((await failureOf(platform.open(anOrder(), abort, controller.signal))).kind).toBe('platform_unavailable');
      expect(server.commands).toBe(0);
    });

    test.each(['utf-16', 'utf7', 'hex', 'base64', 'no-such-page'])('the code page %s cannot be used', async (page) => {
      const server = await aServer({ dialect: protocol });
      const platform = textPlatform(protocol, server.port, { code_page: page });
      expect(await failureOf(platform.open(anOrder(), atOnce, forever))).toMatchObject({
        kind: 'platform_refused',
        options: { reason: 'unknown_code_page' },
      });
      expect(server.commands).toBe(0);
    });

    test.each([
      ['a|b', 'master_not_transmittable'],
      ['a\nb', 'master_not_transmittable'],
      ['x'.repeat(255), 'master_not_transmittable'],
      ['xLEVERAGE=500', 'master_holds_a_key'],
      ['AAID=', 'master_holds_a_key'],
      ['READONLY=1', 'master_holds_a_key'],
    ])('a master password that no command can carry: %j', async (master, reason) => {
      const server = await aServer({ dialect: protocol });
      const platform = textPlatform(protocol, server.port, { master });
      expect(await failureOf(platform.open(anOrder(), atOnce, forever))).toMatchObject({
        kind: 'platform_refused',
        options: { reason },
      });
      expect(server.commands).toBe(0);
    });

    test.each(['pass|word1', 'LEVERAGE=9', 'Pass\nword1', 'Päss word1', 'Passwörd1', 'Ľarge12', 'Ab1'.repeat(6)])(
      'a password that no command can carry: %j',
      async (password) => {
        const server = await aServer({ dialect: protocol });
        const platform = textPlatform(protocol, server.port, { code_page: 'utf-8' });
        const order = anOrder({ masterPassword: password, investorPassword: password });
        const rule = password.length > 15 ? 'length' : 'characters';
        const errors = [
          { pointer: '#/master_password', rule },
          { pointer: '#/investor_password', rule },
        ];
        expect(platform.unsupported(order)).toMatchObject(errors);
        expect(await failureOf(platform.open(order, atOnce, forever))).toMatchObject({
          kind: 'validation_failed',
          options: { errors },
        });
        expect(server.commands).toBe(0);
      },
    );
  });

  describe('faults of the simulated server', () => {
    test.each([
      ['throttled', {}, 'platform_unavailable', 0],
      ['refused', {}, protocol === 'interface-gateway' ? 'platform_refused' : 'account_outcome_unknown', 0],
      ['down', {}, 'platform_unavailable', 0],
      ['slow', { ms: 900 }, 'account_outcome_unknown', 1],
      ['reply_lost', {}, 'account_outcome_unknown', 1],
      ['session_dropped', {}, 'account_outcome_unknown', 0],
      ['silence', {}, 'account_outcome_unknown', 0],
      ['garbage', {}, 'account_outcome_unknown', 1],
      ['retcode', { code: 1001 }, 'platform_refused', 0],
      ['retcode', { code: 3006 }, 'password_rejected', 0],
      ['retcode', { code: 10 }, 'platform_unavailable', 0],
      ['retcode', { code: 9001 }, 'validation_failed', 0],
      ['retcode', { code: 9002 }, 'platform_refused', 0],
      ['retcode', { code: 9003 }, 'password_rejected', 0],
      ['retcode', { code: 9012 }, 'platform_refused', 0],
    ] as const)('%s %o: %s, and the next order is worked off', async (kind, more, expected, accounts) => {
      const server = await aServer({ dialect: protocol });
      const waits = kind === 'slow' || kind === 'silence';
      const platform = textPlatform(protocol, server.port, waits ? HASTY : {});
      server.faults.set({ kind, times: 1, ...more });
      expect((await failureOf(platform.open(anOrder(), atOnce, forever))).kind).toBe(expected);
      await expect.poll(() => server.accounts().length, { timeout: 5_000 }).toBe(accounts);
      await expect(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever)).resolves.toEqual({
        login: 100_001 + accounts,
      });
    });

    test('a leverage that is not offered can be brought about', async () => {
      const server = await aServer({ dialect: protocol });
      server.faults.set({ kind: 'retcode', code: 9001, times: 1 });
      const { options } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever));
      expect(options.errors).toMatchObject([{ pointer: '#/leverage', rule: 'not_offered' }]);
    });

    test('a slow answer that still comes in time is an account', async () => {
      const server = await aServer({ dialect: protocol });
      server.faults.set({ kind: 'slow', times: 1, ms: 150 });
      await expect(textPlatform(protocol, server.port).open(anOrder(), atOnce, forever)).resolves.toHaveProperty(
        'login',
      );
    });
  });
});

describe('web-registration', () => {
  test('the whole command, word for word', async () => {
    const contact = { name: 'Zoë Ærø', phone: '+447400123456', country: 'United Kingdom' };
    expect(await commandsOf('web-registration', { ...contact, leverage: 500, deposit: 2_500.5 })).toEqual([
      'WNEWACCOUNT MASTER=c2VjcmV0IG9mIHRoZSBwbHVnLWlu==|IP=10.58.118.213|GROUP=2|NAME=Zoë Ærø|PASSWORD=Master77' +
        '|INVESTOR=Invest88|EMAIL=ann@example.com|COUNTRY=United Kingdom|STATE=|CITY=|ADDRESS=' +
        '|COMMENT=6f1d8a52-5c1c-4f0e-9d3e-000000000001|PHONE=+447400123456|PHONE_PASSWORD=|STATUS=|ZIPCODE=|ID=' +
        '|LEVERAGE=500|AGENT=|SEND_REPORTS=1|DEPOSIT=2500.50',
    ]);
  });

  test('the whole command of an order with the least, word for word', async () => {
    expect(await commandsOf('web-registration', { group: 'standard' })).toEqual([
      'WNEWACCOUNT MASTER=c2VjcmV0IG9mIHRoZSBwbHVnLWlu==|IP=10.58.118.213|GROUP=1|NAME=Ann Lee|PASSWORD=Master77' +
        '|INVESTOR=Invest88|EMAIL=ann@example.com|COUNTRY=|STATE=|CITY=|ADDRESS=' +
        '|COMMENT=6f1d8a52-5c1c-4f0e-9d3e-000000000001|PHONE=|PHONE_PASSWORD=|STATUS=|ZIPCODE=|ID=' +
        '|LEVERAGE=100|AGENT=|SEND_REPORTS=1|DEPOSIT=0',
    ]);
  });

  test('a login, a read-only account, and a deposit outside the demo groups are not supported', () => {
    const platform = textPlatform('web-registration', 1);
    const order = anOrder({ login: 5, readonly: true, deposit: 100, group: 'standard' });
    expect(platform.unsupported(order)).toMatchObject([
      { pointer: '#/login', rule: 'not_supported' },
      { pointer: '#/enable_readonly', rule: 'not_supported' },
      { pointer: '#/account_type_id', rule: 'not_supported' },
    ]);
    expect(platform.unsupported(anOrder({ deposit: 100 }))).toEqual([]);
    expect(platform.unsupported(anOrder({ deposit: 100_000_001 }))).toMatchObject([{ pointer: '#/account_type_id' }]);
    expect(platform.unsupported(anOrder({ group: 'standard', deposit: 0 }))).toEqual([]);
  });

  test('what is not supported is not sent either', async () => {
    const server = await aServer({ dialect: 'web-registration' });
    const { kind } = await failureOf(
      textPlatform('web-registration', server.port).open(anOrder({ readonly: true }), atOnce, forever),
    );
    expect(kind).toBe('validation_failed');
    expect(server.commands).toBe(0);
  });

  test('a lost answer cannot be looked up', async () => {
    const server = await aServer({ dialect: 'web-registration' });
    const platform = textPlatform('web-registration', server.port);
    await expect(platform.find(anOrder(), forever)).resolves.toEqual({ kind: 'cannot_tell' });
    expect(server.commands).toBe(0);
  });

  test('two accounts one after the other do not meet the flood guard, the same operation again does', async () => {
    const server = await aServer({ dialect: 'web-registration', floodSeconds: 60 });
    const platform = textPlatform('web-registration', server.port);
    await platform.open(anOrder(), atOnce, forever);
    const order = anOrder();
    await platform.open(order, atOnce, forever);
    expect(await failureOf(platform.open(order, atOnce, forever))).toMatchObject({
      kind: 'platform_unavailable',
      options: { retryAfterSeconds: 60 },
    });
  });

  test('a check sees whether the server can be reached, and sends nothing', async () => {
    const server = await aServer({ dialect: 'web-registration' });
    const platform = textPlatform('web-registration', server.port);
    await platform.check(forever);
    expect(await platform.inspectRange({ from: 1, to: 1_000 }, forever)).toEqual({ looked: 0, taken: 0 });
    expect(server.commands).toBe(0);
    await server.close();
    const { kind } = await failureOf(textPlatform('web-registration', server.port).check(forever));
    expect(kind).toBe('platform_unavailable');
  });
});

describe('interface-gateway', () => {
  const gateway = 'interface-gateway';

  test('the whole command, word for word', async () => {
    const contact = { name: 'Zoë Ærø', phone: '+447400123456', country: 'United Kingdom' };
    const rest = { leverage: 500, deposit: 2_500.5, readonly: true, login: 777 };
    expect(await commandsOf(gateway, { ...contact, ...rest })).toEqual([
      'WNEWACCOUNT MASTER=c2VjcmV0IG9mIHRoZSBwbHVnLWlu==|IP=10.58.118.213|GROUP=demoforex|LOGIN=777|NAME=Zoë Ærø' +
        '|PASSWORD=Master77|INVESTOR=Invest88|EMAIL=ann@example.com|COUNTRY=United Kingdom|STATE=|CITY=|ADDRESS=' +
        '|COMMENT=6f1d8a52-5c1c-4f0e-9d3e-000000000001|PHONE=+447400123456|PHONE_PASSWORD=|STATUS=|ZIPCODE=|ID=' +
        '|LEVERAGE=500|AGENT=|SEND_REPORTS=1|BALCOMMENT=6f1d8a52-5c1c-4f0e-9d3e-000000000001|BALANCE=2500.50' +
        '|READONLY=1',
    ]);
  });

  test('the whole command of an order with the least, word for word', async () => {
    expect(await commandsOf(gateway, { group: 'standard' })).toEqual([
      'WNEWACCOUNT MASTER=c2VjcmV0IG9mIHRoZSBwbHVnLWlu==|IP=10.58.118.213|GROUP=standard|NAME=Ann Lee' +
        '|PASSWORD=Master77|INVESTOR=Invest88|EMAIL=ann@example.com|COUNTRY=|STATE=|CITY=|ADDRESS=' +
        '|COMMENT=6f1d8a52-5c1c-4f0e-9d3e-000000000001|PHONE=|PHONE_PASSWORD=|STATUS=|ZIPCODE=|ID=' +
        '|LEVERAGE=100|AGENT=|SEND_REPORTS=1|READONLY=0',
    ]);
  });

  test('everything that can be asked for is supported', () => {
    const order = anOrder({ login: 5, readonly: true, deposit: 100, group: 'standard' });
    expect(textPlatform(gateway, 1).unsupported(order)).toEqual([]);
    expect(textPlatform(gateway, 1).unsupported(anOrder({ login: 2 ** 31 }))).toMatchObject([{ pointer: '#/login' }]);
  });

  test('login, read-only and deposit take effect', async () => {
    const server = await aServer({ dialect: gateway });
    const order = anOrder({ login: 777, readonly: true, deposit: 2_500 });
    await expect(textPlatform(gateway, server.port).open(order, atOnce, forever)).resolves.toEqual({ login: 777 });
    expect(server.accounts()).toMatchObject([{ login: 777, readonly: true, balance: 2_500 }]);
  });

  test('an opening is one command, with a login or without', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    await platform.open(anOrder(), atOnce, forever);
    await platform.open(anOrder({ login: 777 }), atOnce, forever);
    expect(server.commands).toBe(2);
  });

  test('the same order with a login, sent again, opens no second account', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    const order = anOrder({ login: 777 });
    await platform.open(order, atOnce, forever);
    for (let time = 0; time < 3; time += 1) {
      expect((await failureOf(platform.open(order, atOnce, forever))).kind).toBe('login_taken');
    }
    expect(server.accounts()).toHaveLength(1);
  });

  test('a login in use is told from other reasons of a failed opening by asking for it', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    await platform.open(anOrder({ login: 777 }), atOnce, forever);
    expect((await failureOf(platform.open(anOrder({ login: 777 }), atOnce, forever))).kind).toBe('login_taken');
    expect(server.commands).toBe(3);
    server.faults.set({ kind: 'retcode', code: 3004, times: 1 });
    expect(await failureOf(platform.open(anOrder({ login: 778 }), atOnce, forever))).toMatchObject({
      kind: 'platform_refused',
      options: { reason: 'account_create_failed' },
    });
  });

  test('a disabled account has its login too', async () => {
    const server = await aScript((socket, text) => {
      socket.end(
        text.startsWith('WNEW') ? 'ERROR\r\naccount create failed\r\nend' : 'Disable\r\nuser check successful\r\nend',
      );
    });
    const { kind } = await failureOf(textPlatform(gateway, server.port).open(anOrder({ login: 7 }), atOnce, forever));
    expect(kind).toBe('login_taken');
  });

  test('a gateway without WCHKACCOUNT opens accounts with a login all the same', async () => {
    const server = await aServer({ dialect: gateway, accountCheck: 'refused' });
    const platform = textPlatform(gateway, server.port);
    await expect(platform.open(anOrder({ login: 777 }), atOnce, forever)).resolves.toEqual({ login: 777 });
    expect((await failureOf(platform.open(anOrder({ login: 777 }), atOnce, forever))).kind).toBe('platform_refused');
    await expect(platform.find(anOrder({ login: 777 }), forever)).resolves.toEqual({ kind: 'cannot_tell' });
  });

  test.each(['silence', 'session_dropped', 'garbage', 'throttled', 'refused', 'down'] as const)(
    'when asking for the login after a failed opening comes to %s, the opening stays failed',
    async (kind) => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port, kind === 'silence' ? HASTY : {});
      await platform.open(anOrder({ login: 777 }), atOnce, forever);
      server.faults.set({ kind, times: 1, after: 1 });
      expect(await failureOf(platform.open(anOrder({ login: 777 }), atOnce, forever))).toMatchObject({
        kind: 'platform_refused',
        options: { reason: 'account_create_failed' },
      });
    },
  );

  describe('looking up', () => {
    test('an account with a login of our own is found after its answer was lost, with two commands', async () => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port);
      const order = anOrder({ login: 777 });
      await expect(platform.find(order, forever)).resolves.toEqual({ kind: 'absent' });
      server.faults.set({ kind: 'reply_lost', times: 1 });
      expect((await failureOf(platform.open(order, atOnce, forever))).kind).toBe('account_outcome_unknown');
      const before = server.commands;
      await expect(platform.find(order, forever)).resolves.toEqual({ kind: 'found', login: 777 });
      expect(server.commands - before).toBe(2);
    });

    test.each(['orderly', 'reset'] as const)(
      'a connection that the server ends, %s, proves nothing: the account may come later, and only once',
      async (ending) => {
        const server = await aServer({ dialect: gateway });
        const platform = textPlatform(gateway, server.port);
        const order = anOrder({ login: 777 });
        server.faults.set({ kind: 'late', times: 1, ms: 300, ending });
        expect((await failureOf(platform.open(order, atOnce, forever))).kind).toBe('account_outcome_unknown');
        await expect(platform.find(order, forever)).resolves.toEqual({ kind: 'absent' });
        await expect.poll(() => platform.find(order, forever)).toEqual({ kind: 'found', login: 777 });
        expect((await failureOf(platform.open(order, atOnce, forever))).kind).toBe('login_taken');
        expect(server.accounts()).toHaveLength(1);
      },
    );

    test('a login that our own table has reserved is ours as soon as it exists', async () => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port);
      const order = anOrder({ login: 777, reserved: true });
      await expect(platform.find(order, forever)).resolves.toEqual({ kind: 'absent' });
      await platform.open(order, atOnce, forever);
      const { masterPassword: _, ...trace } = order;
      await expect(platform.find(trace, forever)).resolves.toEqual({ kind: 'found', login: 777 });
      expect(server.commands).toBe(3);
    });

    test('an account of somebody else’s with this login is not ours', async () => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port);
      await platform.open(anOrder({ login: 777, masterPassword: 'Another11' }), atOnce, forever);
      await expect(platform.find(anOrder({ login: 777 }), forever)).resolves.toEqual({ kind: 'another' });
    });

    test('that a login exists does not say whose it is: without the password nothing can be told', async () => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port);
      const { masterPassword: _, ...trace } = anOrder({ login: 777 });
      await platform.open(anOrder({ login: 777 }), atOnce, forever);
      await expect(platform.find(trace, forever)).resolves.toEqual({ kind: 'cannot_tell' });
    });

    test.each([
      ['an error that speaks of the command', 'ERROR\r\ninvalid CMD\r\nend'],
      ['an error that speaks of the command’s name', 'ERROR\r\nCHECKPASSWORD is unknown\r\nend'],
      ['an error that misses a parameter', 'ERROR\r\nmiss PASSWORD\r\nend'],
      ['words that are no answer', 'Unknown command\r\n'],
      ['silence, and the end of the connection', ''],
      ['silence', undefined],
    ])('a gateway whose answer to WCHECKPASS is %s cannot tell whose an account is', async (_, answer) => {
      const server = await aScript((socket, text) => {
        if (text.startsWith('WCHKACCOUNT')) socket.end('OK\r\nuser check successful\r\nend');
        else if (answer !== undefined) socket.end(answer);
      });
      const platform = textPlatform(gateway, server.port, HASTY);
      await expect(platform.find(anOrder({ login: 5 }), forever)).resolves.toEqual({ kind: 'cannot_tell' });
    });

    test('a gateway that cannot be reached for WCHECKPASS may tell later', async () => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port);
      await platform.open(anOrder({ login: 777 }), atOnce, forever);
      server.faults.set({ kind: 'down', times: 1, after: 1 });
      expect((await failureOf(platform.find(anOrder({ login: 777 }), forever))).kind).toBe('platform_unavailable');
    });

    test('without a login of our own nothing can be told', async () => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port);
      await expect(platform.find(anOrder(), forever)).resolves.toEqual({ kind: 'cannot_tell' });
      expect(server.commands).toBe(0);
    });

    test.each([
      ['an error that speaks of the command', 'ERROR\r\ncommand not found\r\nend\r\n'],
      ['another error', 'ERROR\r\nsomething else\r\nend\r\n'],
      ['words that are no answer', 'Unknown command\r\n'],
      ['silence, and the end of the connection', ''],
      ['silence', undefined],
    ])('a gateway whose answer to WCHKACCOUNT was never more than %s cannot tell', async (_, answer) => {
      const server = await aScript((socket) => {
        if (answer !== undefined) socket.end(answer);
      });
      const finding = textPlatform(gateway, server.port, HASTY).find(anOrder({ login: 5 }), forever);
      await expect(finding).resolves.toEqual({ kind: 'cannot_tell' });
    });

    test.each(['silence', 'session_dropped', 'garbage', 'throttled', 'down'] as const)(
      'a gateway that knows WCHKACCOUNT and comes to %s may tell later',
      async (kind) => {
        const server = await aServer({ dialect: gateway });
        const platform = textPlatform(gateway, server.port, kind === 'silence' ? HASTY : {});
        const order = anOrder({ login: 777 });
        await platform.open(order, atOnce, forever);
        await platform.find(order, forever);
        server.faults.set({ kind, times: 1 });
        expect((await failureOf(platform.find(order, forever))).kind).toBe('platform_unavailable');
        await expect(platform.find(order, forever)).resolves.toEqual({ kind: 'found', login: 777 });
      },
    );
  });

  test('a range of logins is looked at in twenty places, its ends among them', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    for (const login of [500_000, 599_999]) await platform.open(anOrder({ login }), atOnce, forever);
    const inspection = await platform.inspectRange({ from: 500_000, to: 599_999 }, forever);
    expect(inspection).toEqual({ looked: 20, taken: 2 });
  });

  test('a gateway without WCHKACCOUNT tells nothing of a range of logins', async () => {
    const server = await aServer({ dialect: gateway, accountCheck: 'refused' });
    const inspection = await textPlatform(gateway, server.port).inspectRange({ from: 1, to: 1_000 }, forever);
    expect(inspection).toEqual({ looked: 0, taken: 0 });
  });

  test('a check needs the right master password and a listed address', async () => {
    const server = await aServer({ dialect: gateway });
    await textPlatform(gateway, server.port).check(forever);
    const wrong = textPlatform(gateway, server.port, { master: 'wrong' });
    expect(await failureOf(wrong.check(forever))).toMatchObject({ options: { reason: 'invalid_master' } });
    const strict = await aServer({ dialect: gateway, allowedAddresses: ['192.0.2.1'] });
    expect(await failureOf(textPlatform(gateway, strict.port).check(forever))).toMatchObject({
      kind: 'platform_refused',
      options: { reason: 'illegal_ip' },
    });
    expect(server.accounts()).toEqual([]);
  });
});
