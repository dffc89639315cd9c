import { describe, expect, it } from 'vitest';
import { ANY_TIME, failureOf, NEVER_ABORTED, outcomeOf } from '../../../support/outcomes.ts';
import { closedPort } from '../../../support/servers.ts';
import { anOrder, aServer, DIALECTS, openTextAccount, textPlatform } from '../../../support/text-protocol.ts';

describe.each(DIALECTS)('%s', (protocol) => {
  it('a demo account is funded by the command that opens it, and funding it again does nothing', async () => {
    const server = await aServer({ dialect: protocol });
    const platform = textPlatform(protocol, server.port);
    const order = anOrder({ deposit: 10_000.5 });
    await platform.open(order, ANY_TIME, NEVER_ABORTED);
    await platform.fund();
    expect(server.accounts()[0]?.balance).toBe(10_000.5);
    expect(server.commands).toBe(1);
  });

  it('a command whose deadline has passed on the wall clock is not sent', async () => {
    const server = await aServer({ dialect: protocol });
    const platform = textPlatform(protocol, server.port, { now: () => 1_000 });
    expect(await outcomeOf(platform.open(anOrder(), 999, NEVER_ABORTED))).toBe('platform_unavailable too_late_to_send');
    expect(server.commands).toBe(0);
    await platform.open(anOrder(), 1_000, NEVER_ABORTED);
    expect(server.accounts()).toHaveLength(1);
  });
});

describe.each(DIALECTS)('nothing is sent to %s', (protocol) => {
  it('connection refused', async () => {
    expect(await failureOf(openTextAccount(protocol, { port: await closedPort() }))).toMatchObject({
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
    expect(await outcomeOf(openTextAccount(protocol, server, {}, { code_page: page }))).toBe(
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
  ])('a master password that no command can express: %j', async (master, reason) => {
    const server = await aServer({ dialect: protocol });
    expect(await failureOf(openTextAccount(protocol, server, {}, { master }))).toMatchObject({
      kind: 'platform_refused',
      options: { reason },
    });
    expect(server.commands).toBe(0);
  });

  it.each(['pass|word1', 'LEVERAGE=9', 'Pass\nword1', 'Päss word1', 'Passwörd1', 'Ľarge12', 'Ab1'.repeat(6)])(
    'a password that no command can express: %j',
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
      expect(await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED))).toMatchObject({
        kind: 'validation_failed',
        options: { errors },
      });
      expect(server.commands).toBe(0);
    },
  );
});
