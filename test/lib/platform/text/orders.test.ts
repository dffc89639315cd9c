import { describe, expect, it } from 'vitest';
import { ANY_TIME, failureOf, forever, outcome } from '../../../support/outcomes.ts';
import { scriptedTcp } from '../../../support/scripted-tcp.ts';
import { anOrder, answering, aServer, DIALECTS, opening, textPlatform } from '../../../support/text-protocol.ts';

describe.each(DIALECTS)('%s', (protocol) => {
  it('an account is opened with group, leverage, names, passwords and the operation id in the comment', async () => {
    const server = await aServer({ dialect: protocol, firstLogin: 5_001 });
    const order = anOrder({ leverage: 500, group: 'standard', name: 'Zoë Ærø', phone: '+447400123456', country: 'GB' });
    await expect(textPlatform(protocol, server.port).open(order, ANY_TIME, forever)).resolves.toEqual({ login: 5_001 });
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
    expect(server.details(5_001)).toMatchObject({ country: 'GB', phone: '+447400123456', send_reports: '1' });
    expect(server.access(5_001, 'Master77')).toBe('master');
    expect(server.access(5_001, 'Invest88')).toBe('investor');
  });

  it('a demo account is funded by the command that opens it, and funding it again does nothing', async () => {
    const server = await aServer({ dialect: protocol });
    const platform = textPlatform(protocol, server.port);
    const order = anOrder({ deposit: 10_000.5 });
    await platform.open(order, ANY_TIME, forever);
    await platform.fund();
    expect(server.accounts()[0]?.balance).toBe(10_000.5);
    expect(server.commands).toBe(1);
  });

  it('every key occurs once, and before each key that ends with it', async () => {
    const server = await answering('OK\r\nLOGIN=7\r\nend\r\n');
    const login = protocol === 'interface-gateway' ? { login: 7_777, readonly: true } : {};
    await opening(protocol, server, { deposit: 5, ...login });
    expect(server.received).toHaveLength(1);
    for (const line of server.received) {
      const keys = [...line.matchAll(/[ |]([A-Z_]+)=/g)].map((match) => match[1] ?? '');
      expect(new Set(keys).size).toBe(keys.length);
      for (const key of keys) expect(line.indexOf(`${key}=`)).toBe(line.search(new RegExp(`[ |]${key}=`)) + 1);
    }
  });

  it('a command whose deadline has passed on the wall clock is not sent', async () => {
    const server = await aServer({ dialect: protocol });
    const platform = textPlatform(protocol, server.port, { now: () => 1_000 });
    expect(await outcome(platform.open(anOrder(), 999, forever))).toBe('platform_unavailable too_late_to_send');
    expect(server.commands).toBe(0);
    await platform.open(anOrder(), 1_000, forever);
    expect(server.accounts()).toHaveLength(1);
  });

  it('twenty accounts are opened at once', async () => {
    const server = await aServer({ dialect: protocol });
    const platform = textPlatform(protocol, server.port);
    const logins = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const { login } = await platform.open(anOrder({ leverage: index + 1 }), ANY_TIME, forever);
        expect(server.accounts().find((account) => account.login === login)?.leverage).toBe(index + 1);
        return login;
      }),
    );
    expect(new Set(logins).size).toBe(20);
  });
});

describe.each(DIALECTS)('nothing is sent to %s', (protocol) => {
  it('connection refused', async () => {
    const server = await scriptedTcp(() => {});
    await server.close();
    expect(await failureOf(opening(protocol, server))).toMatchObject({
      kind: 'platform_unavailable',
      options: { reason: 'connect_ECONNREFUSED', retryAfterSeconds: 10 },
    });
  });

  it('the time is up before connecting', async () => {
    const server = await aServer({ dialect: protocol });
    const platform = textPlatform(protocol, server.port);
    expect((await failureOf(platform.open(anOrder(), ANY_TIME, AbortSignal.abort()))).kind).toBe(
      'platform_unavailable',
    );
    expect(server.commands).toBe(0);
  });

  it.each(['utf-16', 'utf7', 'hex', 'base64', 'no-such-page'])('the code page %s cannot be used', async (page) => {
    const server = await aServer({ dialect: protocol });
    expect(await outcome(opening(protocol, server, {}, { code_page: page }))).toBe(
      'platform_refused unknown_code_page',
    );
    expect(server.commands).toBe(0);
  });

  it.each([
    ['a|b', 'master_not_transmittable'],
    ['a\nb', 'master_not_transmittable'],
    ['x'.repeat(255), 'master_not_transmittable'],
    ['xLEVERAGE=500', 'master_holds_a_key'],
    ['AAID=', 'master_holds_a_key'],
    ['READONLY=1', 'master_holds_a_key'],
  ])('a master password that no command can carry: %j', async (master, reason) => {
    const server = await aServer({ dialect: protocol });
    expect(await failureOf(opening(protocol, server, {}, { master }))).toMatchObject({
      kind: 'platform_refused',
      options: { reason },
    });
    expect(server.commands).toBe(0);
  });

  it.each(['pass|word1', 'LEVERAGE=9', 'Pass\nword1', 'Päss word1', 'Passwörd1', 'Ľarge12', 'Ab1'.repeat(6)])(
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
      expect(await failureOf(platform.open(order, ANY_TIME, forever))).toMatchObject({
        kind: 'validation_failed',
        options: { errors },
      });
      expect(server.commands).toBe(0);
    },
  );
});
