import { describe, expect, it } from 'vitest';
import {
  ANY_TIME,
  anOrder,
  answering,
  aScript,
  aServer,
  DIALECTS,
  failureOf,
  forever,
  GROUPS,
  HASTY,
  textPlatform,
} from '../../../support/text-protocol.ts';

/** Longer than a test may take. */
const PATIENT = { answerTimeoutMs: 600_000 };

describe.each(DIALECTS)('answers of %s', (protocol) => {
  it.each([
    ['as documented', 'OK\r\nLOGIN=123\r\nend\r\n'],
    ['without a line end after end', 'OK\r\nLOGIN=123\r\nend'],
    ['with bare line feeds', 'OK\nLOGIN=123\nend\n'],
    ['of a partial success', 'OK\r\nLOGIN=123\r\nmiss BNSCODE\r\nend'],
    ['with a line before the login', 'OK\r\nwelcome\r\nLOGIN=123\r\nend\r\n'],
    ['without end, closed', 'OK\r\nLOGIN=123\r\n'],
  ])('%s: the account is open', async (_, text) => {
    const server = await answering(text);
    await expect(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever)).resolves.toEqual({
      login: 123,
    });
  });

  it('without end, on a connection that stays open: the account is open, without waiting for the end', async () => {
    const server = await answering('OK\r\nLOGIN=123\r\n', { close: false });
    const platform = textPlatform(protocol, server.port, PATIENT);
    await expect(platform.open(anOrder(), ANY_TIME, forever)).resolves.toEqual({ login: 123 });
  });
});

describe.each(DIALECTS)('an undocumented answer to %s', (protocol) => {
  it.each([
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
    const { kind } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever));
    expect(kind).toBe('account_outcome_unknown');
  });

  it('an endless answer is not read to its end', async () => {
    const server = await aScript((socket) => {
      const pour = () => {
        while (socket.writable && socket.write('x'.repeat(65_536)));
      };
      socket.on('drain', pour);
      pour();
    });
    const platform = textPlatform(protocol, server.port);
    const { kind } = await failureOf(platform.open(anOrder(), ANY_TIME, forever));
    expect(kind).toBe('account_outcome_unknown');
  });

  it('silence: the outcome is unknown when the time is up', async () => {
    const server = await aScript(() => {});
    const platform = textPlatform(protocol, server.port, HASTY);
    const { kind, options } = await failureOf(platform.open(anOrder(), ANY_TIME, forever));
    expect(kind).toBe('account_outcome_unknown');
    expect(options).toMatchObject({ reason: 'no_answer' });
  });

  it('a reset after the write: the outcome is unknown', async () => {
    const server = await aScript((socket) => socket.resetAndDestroy());
    const { kind } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever));
    expect(kind).toBe('account_outcome_unknown');
  });

  it('the signal ends the wait: the outcome is unknown', async () => {
    const caller = new AbortController();
    const server = await aScript(() => caller.abort());
    const platform = textPlatform(protocol, server.port, PATIENT);
    const { kind } = await failureOf(platform.open(anOrder(), ANY_TIME, caller.signal));
    expect(kind).toBe('account_outcome_unknown');
  });
});

describe.each(DIALECTS)('errors of %s', (protocol) => {
  it.each([
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
    const failure = await failureOf(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever));
    expect(failure).toMatchObject({ kind, options: { reason } });
    expect(JSON.stringify(failure)).not.toContain('ann@');
  });

  it('a blocked address says when to come back', async () => {
    const server = await answering('ERROR\r\nIP is blocked. Please wait 37 secs and try again.\r\nend\r\n');
    const failure = await failureOf(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever));
    expect(failure).toMatchObject({ kind: 'platform_unavailable', options: { retryAfterSeconds: 37 } });
  });

  it('a refused leverage names the field', async () => {
    const server = await answering('ERROR\r\ninvalid LEVERAGE\r\nend\r\n');
    const { options } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever));
    expect(options.errors).toMatchObject([{ pointer: '#/leverage', rule: 'not_offered' }]);
  });

  it('an error without a reason leaves the outcome unknown', async () => {
    const server = await answering('ERROR\r\nend\r\n');
    const failure = await failureOf(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever));
    expect(failure).toMatchObject({ kind: 'account_outcome_unknown', options: { reason: 'error_without_reason' } });
  });

  it('a wrong master password is an operator’s matter', async () => {
    const server = await aServer({ dialect: protocol });
    const platform = textPlatform(protocol, server.port, { master: 'wrong' });
    const { kind } = await failureOf(platform.open(anOrder(), ANY_TIME, forever));
    expect(kind).toBe('platform_refused');
  });

  it('a group’s own password rule', async () => {
    const server = await aServer({
      dialect: protocol,
      groups: GROUPS.map((name) => ({ name, minPasswordLength: 9 })),
    });
    const { kind } = await failureOf(textPlatform(protocol, server.port).open(anOrder(), ANY_TIME, forever));
    expect(kind).toBe('password_rejected');
  });

  it('an unknown group', async () => {
    const server = await aServer({ dialect: protocol });
    for (const group of ['nope', 'constructor', 'a group of more than 15 bytes', 'standard|', '']) {
      const { kind } = await failureOf(textPlatform(protocol, server.port).open(anOrder({ group }), ANY_TIME, forever));
      expect(kind).toBe('group_not_found');
    }
    expect(server.accounts()).toEqual([]);
  });
});

it('a gateway is not asked for a group that its connection does not list', async () => {
  const server = await aServer({ dialect: 'interface-gateway' });
  const platform = textPlatform('interface-gateway', server.port, { groups: ['standard'] });
  const { kind } = await failureOf(platform.open(anOrder({ group: 'demoforex' }), ANY_TIME, forever));
  expect([kind, server.commands]).toEqual(['group_not_found', 0]);
  await platform.open(anOrder({ group: 'standard' }), ANY_TIME, forever);
  expect(server.accounts()).toMatchObject([{ group: 'standard' }]);
});
