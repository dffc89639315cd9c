import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { atOnce } from '../../../support/departures.ts';
import {
  anOrder,
  aScript,
  aServer,
  commandsOf,
  failureOf,
  forever,
  HASTY,
  textPlatform,
} from '../../../support/text-protocol.ts';

const gateway = 'interface-gateway';

/** What a server on this port answers to a command. */
async function exchange(port: number, command: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.write(command);
  return text(socket);
}

describe('interface-gateway', () => {
  it('the whole command, word for word', async () => {
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

  it('the whole command of an order with the least, word for word', async () => {
    expect(await commandsOf(gateway, { group: 'standard' })).toEqual([
      'WNEWACCOUNT MASTER=c2VjcmV0IG9mIHRoZSBwbHVnLWlu==|IP=10.58.118.213|GROUP=standard|NAME=Ann Lee' +
        '|PASSWORD=Master77|INVESTOR=Invest88|EMAIL=ann@example.com|COUNTRY=|STATE=|CITY=|ADDRESS=' +
        '|COMMENT=6f1d8a52-5c1c-4f0e-9d3e-000000000001|PHONE=|PHONE_PASSWORD=|STATUS=|ZIPCODE=|ID=' +
        '|LEVERAGE=100|AGENT=|SEND_REPORTS=1|READONLY=0',
    ]);
  });

  it('everything that can be asked for is supported', () => {
    const order = anOrder({ login: 5, readonly: true, deposit: 100, group: 'standard' });
    expect(textPlatform(gateway, 1).unsupported(order)).toEqual([]);
    expect(textPlatform(gateway, 1).unsupported(anOrder({ login: 2 ** 31 }))).toMatchObject([{ pointer: '#/login' }]);
  });

  it('login, read-only and deposit take effect', async () => {
    const server = await aServer({ dialect: gateway });
    const order = anOrder({ login: 777, readonly: true, deposit: 2_500 });
    await expect(textPlatform(gateway, server.port).open(order, atOnce, forever)).resolves.toEqual({ login: 777 });
    expect(server.accounts()).toMatchObject([{ login: 777, readonly: true, balance: 2_500 }]);
  });
});

describe('an opening with a login', () => {
  it('is one command, as without', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    await platform.open(anOrder(), atOnce, forever);
    await platform.open(anOrder({ login: 777 }), atOnce, forever);
    expect(server.commands).toBe(2);
  });

  it('the same order with a login, sent again, opens no second account', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    const order = anOrder({ login: 777 });
    await platform.open(order, atOnce, forever);
    for (let time = 0; time < 3; time += 1) {
      expect((await failureOf(platform.open(order, atOnce, forever))).kind).toBe('login_taken');
    }
    expect(server.accounts()).toHaveLength(1);
  });

  it('that the gateway reports as failed, and has opened all the same, is ours where nobody else can have the login', async () => {
    const server = await aServer({ dialect: gateway });
    const relay = await aScript(async (socket, command) => {
      const answer = await exchange(server.port, command);
      socket.end(command.startsWith('WNEW') ? 'ERROR\r\naccount create failed\r\nend' : answer);
    });
    const platform = textPlatform(gateway, relay.port);
    const order = anOrder({ login: 777, reserved: true });
    await expect(platform.open(order, atOnce, forever)).resolves.toEqual({ login: 777 });
    const stranger = anOrder({ login: 777, reserved: true, masterPassword: 'Another11' });
    expect((await failureOf(platform.open(stranger, atOnce, forever))).kind).toBe('login_taken');
    expect(server.accounts()).toHaveLength(1);
  });

  it('a login in use is told from other reasons of a failed opening by asking for it', async () => {
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

  it('a disabled account has its login too', async () => {
    const server = await aScript((socket, text) => {
      socket.end(
        text.startsWith('WNEW') ? 'ERROR\r\naccount create failed\r\nend' : 'Disable\r\nuser check successful\r\nend',
      );
    });
    const { kind } = await failureOf(textPlatform(gateway, server.port).open(anOrder({ login: 7 }), atOnce, forever));
    expect(kind).toBe('login_taken');
  });

  it('a gateway without WCHKACCOUNT opens accounts with a login all the same', async () => {
    const server = await aServer({ dialect: gateway, accountCheck: 'refused' });
    const platform = textPlatform(gateway, server.port);
    await expect(platform.open(anOrder({ login: 777 }), atOnce, forever)).resolves.toEqual({ login: 777 });
    expect((await failureOf(platform.open(anOrder({ login: 777 }), atOnce, forever))).kind).toBe('platform_refused');
    await expect(platform.find(anOrder({ login: 777 }), forever)).resolves.toEqual({ kind: 'cannot_tell' });
  });

  it.each(['silence', 'session_dropped', 'garbage', 'throttled', 'refused', 'down'] as const)(
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
});

describe('looking at a gateway without creating anything', () => {
  it('a range of logins is looked at in twenty places, its ends among them', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    for (const login of [500_000, 599_999]) await platform.open(anOrder({ login }), atOnce, forever);
    const inspection = await platform.inspectRange({ from: 500_000, to: 599_999 }, forever);
    expect(inspection).toEqual({ looked: 20, taken: 2 });
  });

  it('a gateway without WCHKACCOUNT tells nothing of a range of logins', async () => {
    const server = await aServer({ dialect: gateway, accountCheck: 'refused' });
    const inspection = await textPlatform(gateway, server.port).inspectRange({ from: 1, to: 1_000 }, forever);
    expect(inspection).toEqual({ looked: 0, taken: 0 });
  });

  it('a check needs the right master password and a listed address', async () => {
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
