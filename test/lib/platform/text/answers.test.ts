import { describe, expect, it } from 'vitest';
import { failureOf, outcome } from '../../../support/outcomes.ts';
import { answering, aScript, aServer, DIALECTS, HASTY, opening } from '../../../support/text-protocol.ts';

/** Longer than a test may take. */
const PATIENT = { answerTimeoutMs: 600_000 };
const UNKNOWN = expect.stringMatching(/^account_outcome_unknown /);

describe.each(DIALECTS)('an answer of %s', (protocol) => {
  it.each([
    ['as documented', 'OK\r\nLOGIN=123\r\nend\r\n'],
    ['without a line end after end', 'OK\r\nLOGIN=123\r\nend'],
    ['with bare line feeds', 'OK\nLOGIN=123\nend\n'],
    ['of a partial success', 'OK\r\nLOGIN=123\r\nmiss BNSCODE\r\nend'],
    ['with a line before the login', 'OK\r\nwelcome\r\nLOGIN=123\r\nend\r\n'],
    ['without end, closed', 'OK\r\nLOGIN=123\r\n'],
  ])('%s: the account is open', async (_, text) => {
    expect(await opening(protocol, await answering(text))).toEqual({ login: 123 });
  });

  it('without end, on a connection that stays open: the account is open, without waiting for the end', async () => {
    const server = await answering('OK\r\nLOGIN=123\r\n', { close: false });
    expect(await opening(protocol, server, {}, PATIENT)).toEqual({ login: 123 });
  });

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
  ])('that is %s leaves the outcome unknown', async (_, text) => {
    expect(await outcome(opening(protocol, await answering(text)))).toEqual(UNKNOWN);
  });

  it('that never ends is not read to the end', async () => {
    const server = await aScript((socket) => {
      const pour = () => {
        while (socket.writable && socket.write('x'.repeat(65_536)));
      };
      socket.on('drain', pour);
      pour();
    });
    expect(await outcome(opening(protocol, server))).toEqual(UNKNOWN);
  });

  it('that does not come leaves the outcome unknown: silence, a reset, the end of the caller’s time', async () => {
    const silent = await aScript(() => {});
    expect(await outcome(opening(protocol, silent, {}, HASTY))).toBe('account_outcome_unknown no_answer');
    const reset = await aScript((socket) => socket.resetAndDestroy());
    expect(await outcome(opening(protocol, reset))).toEqual(UNKNOWN);
    const caller = new AbortController();
    const late = await aScript(() => caller.abort());
    expect(await outcome(opening(protocol, late, {}, PATIENT, caller.signal))).toEqual(UNKNOWN);
  });

  it.each([
    ['invalid data', 'platform_refused invalid_data'],
    ['simple password', 'password_rejected simple_password'],
    ['invalid PASSWORD', 'password_rejected simple_password'],
    ['account create failed', 'platform_refused account_create_failed'],
    ['invalid GROUP', 'group_not_found invalid_group'],
    ['invalid LEVERAGE', 'validation_failed invalid_leverage'],
    ['invalid NAME', 'platform_refused invalid_name'],
    ['miss NAME', 'platform_refused miss_name'],
    ['miss PASSWORD', 'platform_refused miss_password'],
    ['miss INVESTOR', 'platform_refused miss_investor'],
    ['miss MASTER', 'platform_refused miss_master'],
    ['invalid MASTER', 'platform_refused invalid_master'],
    ['illegal IP', 'platform_refused illegal_ip'],
    ['invalid CMD', 'platform_refused invalid_cmd'],
    ['MT is disconnected', 'platform_unavailable platform_disconnected'],
    ['ann@example.com is on the black list', 'account_outcome_unknown unknown_error'],
    ['account was created, deposit failed', 'account_outcome_unknown unknown_error'],
    ['', 'account_outcome_unknown error_without_reason'],
  ])('with the error "%s" is %s', async (text, expected) => {
    const server = await answering(`ERROR\r\n${text === '' ? '' : `${text}\r\n`}end\r\n`);
    const failure = await failureOf(opening(protocol, server));
    expect(`${failure.kind} ${failure.options.reason}`).toBe(expected);
    expect(JSON.stringify(failure)).not.toContain('ann@');
  });

  it.each([
    ['IP is blocked. Please wait 37 secs and try again.', { retryAfterSeconds: 37 }],
    ['invalid LEVERAGE', { errors: [{ pointer: '#/leverage', rule: 'not_offered' }] }],
  ])('with the error "%s" says more', async (text, options) => {
    const server = await answering(`ERROR\r\n${text}\r\nend\r\n`);
    expect(await failureOf(opening(protocol, server))).toMatchObject({ options });
  });

  it('to an unknown group opens nothing', async () => {
    const server = await aServer({ dialect: protocol });
    for (const group of ['nope', 'constructor', 'a group of more than 15 bytes', 'standard|', ''])
      expect((await failureOf(opening(protocol, server, { group }))).kind).toBe('group_not_found');
    expect(server.accounts()).toEqual([]);
  });
});

it('A gateway is not asked for a group that its connection does not list', async () => {
  const server = await aServer({ dialect: 'interface-gateway' });
  const open = (group: string) => opening('interface-gateway', server, { group }, { groups: ['standard'] });
  expect((await failureOf(open('demoforex'))).kind).toBe('group_not_found');
  expect(server.commands).toBe(0);
  await open('standard');
  expect(server.accounts()).toMatchObject([{ group: 'standard' }]);
});
