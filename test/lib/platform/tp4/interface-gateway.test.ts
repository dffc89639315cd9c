import { describe, expect, it } from 'vitest';
import { ANY_TIME, failureOf, NEVER_ABORTED, outcomeOf } from '../../../support/outcomes.ts';
import {
  anOrder,
  aServer,
  commandsOf,
  openTextAccount,
  SHORT_TIMEOUTS,
  scriptedTcpServer,
  textPlatform,
} from '../../../support/text-protocol.ts';

const gateway = 'interface-gateway';

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

  it('every field of an order is supported', () => {
    const order = anOrder({ login: 5, readonly: true, deposit: 100, group: 'standard' });
    expect(textPlatform(gateway, 1).unsupported(order)).toEqual([]);
    expect(textPlatform(gateway, 1).unsupported(anOrder({ login: 2 ** 31 }))).toMatchObject([{ pointer: '#/login' }]);
  });
});

describe('an opening with a login', () => {
  it('is one command, like an opening without a login', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    await platform.open(anOrder({ login: 777 }), ANY_TIME, NEVER_ABORTED);
    expect(server.commands).toBe(2);
  });

  it.each([
    ['that is refused for our rights', 'ERROR\r\nillegal IP\r\nend\r\n'],
    ['that is refused for its content', 'ERROR\r\ninvalid GROUP\r\nend\r\n'],
  ])(
    'is refused for its content if that is followed by a repeat with the new master password %s',
    async (_, answer) => {
      const answers = ['ERROR\r\ninvalid data\r\nend\r\n', answer];
      const { port } = await scriptedTcpServer((socket) => void socket.end(answers.shift() ?? ''));
      const platform = textPlatform(gateway, port, { nextMaster: 'next' });
      const failure = await failureOf(platform.open(anOrder({ login: 777 }), ANY_TIME, NEVER_ABORTED));
      expect([failure.proof, answers]).toEqual(['content', []]);
    },
  );

  it('is refused for its content if no repeat with the new master password can be sent', async () => {
    let time = 0;
    const { port } = await scriptedTcpServer((socket) => {
      time = 20;
      socket.end('ERROR\r\ninvalid data\r\nend\r\n');
    });
    const platform = textPlatform(gateway, port, { nextMaster: 'next', now: () => time });
    const failure = await failureOf(platform.open(anOrder({ login: 777 }), 10, NEVER_ABORTED));
    expect([failure.reason, failure.proof]).toEqual(['too_late_to_send', 'content']);
  });

  it('is reported as a login in use only after a look-up, because the gateway has one text for all failures', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    await platform.open(anOrder({ login: 777 }), ANY_TIME, NEVER_ABORTED);
    expect((await failureOf(platform.open(anOrder({ login: 777 }), ANY_TIME, NEVER_ABORTED))).kind).toBe('login_taken');
    expect(server.commands).toBe(3);
    server.faults.set({ kind: 'retcode', code: 3004, times: 1 });
    expect(await outcomeOf(platform.open(anOrder({ login: 778 }), ANY_TIME, NEVER_ABORTED))).toBe(
      'platform_refused account_create_failed',
    );
  });

  it('a disabled account counts as existing too', async () => {
    const server = await scriptedTcpServer((socket, text) => {
      socket.end(
        text.startsWith('WNEW') ? 'ERROR\r\naccount create failed\r\nend' : 'Disable\r\nuser check successful\r\nend',
      );
    });
    expect((await failureOf(openTextAccount(gateway, server, { login: 7 }))).kind).toBe('login_taken');
  });

  it('a gateway without WCHKACCOUNT still opens accounts with a login', async () => {
    const server = await aServer({ dialect: gateway, accountCheck: 'refused' });
    const platform = textPlatform(gateway, server.port);
    expect(await platform.open(anOrder({ login: 777 }), ANY_TIME, NEVER_ABORTED)).toEqual({ login: 777 });
    expect((await failureOf(platform.open(anOrder({ login: 777 }), ANY_TIME, NEVER_ABORTED))).kind).toBe(
      'platform_refused',
    );
  });

  it.each(['silence', 'session_dropped', 'garbage', 'throttled', 'refused', 'down'] as const)(
    'that failed has an unknown outcome if the look-up of the login ends with %s',
    async (kind) => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port, kind === 'silence' ? SHORT_TIMEOUTS : {});
      await platform.open(anOrder({ login: 777 }), ANY_TIME, NEVER_ABORTED);
      server.faults.set({ kind, times: 1, after: 1 });
      expect(await outcomeOf(platform.open(anOrder({ login: 777 }), ANY_TIME, NEVER_ABORTED))).toBe(
        'account_outcome_unknown account_create_failed',
      );
    },
  );
});

describe('looking at a gateway without creating anything', () => {
  it('operators see whether a login exists, if the gateway knows WCHKACCOUNT, and no list of logins', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    await platform.open(anOrder({ login: 500_000 }), ANY_TIME, NEVER_ABORTED);
    expect(await platform.look(500_000, '', NEVER_ABORTED)).toEqual({ is: 'unmarked' });
    expect(await platform.look(500_001, '', NEVER_ABORTED)).toEqual({ is: 'absent' });
    expect(await platform.logins()).toBeUndefined();
    const silent = await aServer({ dialect: gateway, accountCheck: 'refused' });
    expect(await textPlatform(gateway, silent.port).look(500_000, '', NEVER_ABORTED)).toEqual({ is: 'silent' });
  });

  it('a check needs the right master password and a listed address', async () => {
    const server = await aServer({ dialect: gateway });
    await textPlatform(gateway, server.port).check(NEVER_ABORTED);
    const wrong = textPlatform(gateway, server.port, { master: 'wrong' });
    expect(await failureOf(wrong.check(NEVER_ABORTED))).toMatchObject({ options: { reason: 'invalid_master' } });
    server.faults.set({ kind: 'refused', times: 1 });
    expect(await outcomeOf(textPlatform(gateway, server.port).check(NEVER_ABORTED))).toBe(
      'platform_refused illegal_ip',
    );
    expect(server.accounts()).toEqual([]);
  });
});
