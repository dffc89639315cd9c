import { describe, expect, it } from 'vitest';
import { ANY_TIME, failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import { anOrder, aServer, commandsOf, openTextAccount, textPlatform } from '../../../support/text-protocol.ts';

describe('web-registration', () => {
  it('the whole command, word for word', async () => {
    const contact = { name: 'Zoë Ærø', phone: '+447400123456', country: 'United Kingdom' };
    expect(await commandsOf('web-registration', { ...contact, leverage: 500, deposit: 2_500.5 })).toEqual([
      'WNEWACCOUNT MASTER=c2VjcmV0IG9mIHRoZSBwbHVnLWlu==|IP=10.58.118.213|GROUP=2|NAME=Zoë Ærø|PASSWORD=Master77' +
        '|INVESTOR=Invest88|EMAIL=ann@example.com|COUNTRY=United Kingdom|STATE=|CITY=|ADDRESS=' +
        '|COMMENT=6f1d8a52-5c1c-4f0e-9d3e-000000000001|PHONE=+447400123456|PHONE_PASSWORD=|STATUS=|ZIPCODE=|ID=' +
        '|LEVERAGE=500|AGENT=|SEND_REPORTS=1|DEPOSIT=2500.50',
    ]);
  });

  it('the whole command of an order with the least, word for word', async () => {
    expect(await commandsOf('web-registration', { group: 'standard' })).toEqual([
      'WNEWACCOUNT MASTER=c2VjcmV0IG9mIHRoZSBwbHVnLWlu==|IP=10.58.118.213|GROUP=1|NAME=Ann Lee|PASSWORD=Master77' +
        '|INVESTOR=Invest88|EMAIL=ann@example.com|COUNTRY=|STATE=|CITY=|ADDRESS=' +
        '|COMMENT=6f1d8a52-5c1c-4f0e-9d3e-000000000001|PHONE=|PHONE_PASSWORD=|STATUS=|ZIPCODE=|ID=' +
        '|LEVERAGE=100|AGENT=|SEND_REPORTS=1|DEPOSIT=0',
    ]);
  });

  it('a login, a read-only account, and a deposit outside the demo groups are not supported', () => {
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

  it('an unsupported order is not sent', async () => {
    const server = await aServer({ dialect: 'web-registration' });
    expect((await failureOf(openTextAccount('web-registration', server, { readonly: true }))).kind).toBe(
      'validation_failed',
    );
    expect(server.commands).toBe(0);
  });

  it('two accounts one after the other do not meet the flood guard, the same operation again does', async () => {
    const server = await aServer({ dialect: 'web-registration', floodSeconds: 60 });
    const platform = textPlatform('web-registration', server.port);
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    const order = anOrder();
    await platform.open(order, ANY_TIME, NEVER_ABORTED);
    expect(await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED))).toMatchObject({
      kind: 'platform_unavailable',
      options: { retryAfterSeconds: 60 },
    });
  });

  it('a check sees whether the server can be reached, and sends nothing', async () => {
    const server = await aServer({ dialect: 'web-registration' });
    const platform = textPlatform('web-registration', server.port);
    await platform.check(NEVER_ABORTED);
    expect(await platform.logins()).toBeUndefined();
    expect(server.commands).toBe(0);
    await server.close();
    expect((await failureOf(textPlatform('web-registration', server.port).check(NEVER_ABORTED))).kind).toBe(
      'platform_unavailable',
    );
  });
});

it.each([
  ['the plug-in', 'web-registration', {}, false],
  ['a gateway', 'interface-gateway', {}, true],
  ['a gateway that refuses us', 'interface-gateway', { master: 'another' }, true],
] as const)(
  'A connection to %s with the protocol of the plug-in leads to a gateway, or not',
  async (_, dialect, changes, is) => {
    const server = await aServer({ dialect });
    expect(await textPlatform('web-registration', server.port, changes).isGateway(NEVER_ABORTED)).toBe(is);
    expect(server.accounts()).toEqual([]);
  },
);
