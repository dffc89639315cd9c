import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { failureOf, NEVER_ABORTED, outcomeOf } from '../../../support/outcomes.ts';
import { tcpRelay } from '../../../support/tcp-relay.ts';
import {
  answeringTextServer,
  aServer,
  DIALECTS,
  openTextAccount,
  SHORT_TIMEOUTS,
  scriptedTcpServer,
} from '../../../support/text-protocol.ts';

/** Longer than a test may take. */
const PATIENT = { answerTimeoutMs: 600_000 };
const NOT_UNDERSTOOD = 'account_outcome_unknown answer_not_understood';
const CLOSED = 'account_outcome_unknown closed_without_answer';
const NONE = 'account_outcome_unknown no_answer';

/**
 * Opens an account on a server with this script, over a relay. If packets are lost, the kernel sends them again for
 * minutes, also after an orderly end of the connection. Only a reset stops it: without one a server may execute a
 * command minutes later. @returns the outcome, and how the connection was ended
 */
async function exchange(
  protocol: (typeof DIALECTS)[number],
  script: Parameters<typeof scriptedTcpServer>[0],
  limits = {},
  signal = NEVER_ABORTED,
): Promise<unknown[]> {
  const relay = await tcpRelay((await scriptedTcpServer(script)).port);
  const result = await outcomeOf(openTextAccount(protocol, relay, {}, limits, signal));
  await expect.poll(() => relay.endings).toHaveLength(1);
  return [result, ...relay.endings];
}

/** Answers with this text, byte by byte, and ends the connection or leaves it open. */
const saying =
  (text: string, close = true) =>
  (socket: Socket): void => {
    for (const byte of text) socket.write(byte, 'latin1');
    if (close) socket.end();
  };

describe.each(DIALECTS)('an answer of %s', (protocol) => {
  it.each([
    ['as documented', 'OK\r\nLOGIN=123\r\nend\r\n'],
    ['without a line end after end', 'OK\r\nLOGIN=123\r\nend'],
    ['with bare line feeds', 'OK\nLOGIN=123\nend\n'],
    ['of a partial success', 'OK\r\nLOGIN=123\r\nmiss BNSCODE\r\nend'],
    ['with a line before the login', 'OK\r\nwelcome\r\nLOGIN=123\r\nend\r\n'],
    ['without end, closed', 'OK\r\nLOGIN=123\r\n'],
    ['without end, on a connection that stays open', 'OK\r\nLOGIN=123\r\n', false],
  ])('%s: the account is open, and the connection ends in order', async (_, text, close = true) => {
    expect(await exchange(protocol, saying(text, close), PATIENT)).toEqual([{ login: 123 }, 'orderly']);
  });

  it.each<[string, Parameters<typeof scriptedTcpServer>[0], string, 'orderly' | 'reset', limits?: object]>([
    ['a login that may be cut', saying('OK\r\nLOGIN=123'), NOT_UNDERSTOOD, 'reset'],
    ['a login without its line feed', saying('OK\r\nLOGIN=123\r'), NOT_UNDERSTOOD, 'reset'],
    [
      'a login that may be cut, and stays open',
      saying('OK\r\nLOGIN=12', false),
      NOT_UNDERSTOOD,
      'reset',
      SHORT_TIMEOUTS,
    ],
    ['OK alone', saying('OK\r\nend\r\n', false), NOT_UNDERSTOOD, 'orderly'],
    ['OK and something else', saying('OK\r\nmiss BNSCODE\r\nend\r\n'), NOT_UNDERSTOOD, 'orderly'],
    ['a login that is no number', saying('OK\r\nLOGIN=12x\r\nend\r\n'), NOT_UNDERSTOOD, 'orderly'],
    ['login 0', saying('OK\r\nLOGIN=0\r\nend\r\n'), NOT_UNDERSTOOD, 'orderly'],
    ['half a word', saying('O'), CLOSED, 'reset'],
    ['a reason that may be cut', saying('ERROR\r\nsimple pass'), NOT_UNDERSTOOD, 'reset'],
    ['nothing', saying(''), CLOSED, 'reset'],
    ['end alone', saying('end\r\n'), NONE, 'orderly'],
    ['another protocol', saying('HTTP/1.1 400 Bad Request\r\n\r\n', false), NOT_UNDERSTOOD, 'reset', SHORT_TIMEOUTS],
    ['more than any answer', saying('A'.repeat(20_000)), NONE, 'reset'],
    ['silence', () => {}, NONE, 'reset', SHORT_TIMEOUTS],
  ])('that is %s leaves the outcome unknown', async (_, script, reason, ending, limits) => {
    expect(await exchange(protocol, script, limits)).toEqual([reason, ending]);
  });

  it('that never ends is not read to the end', async () => {
    const endlessAnswer = (socket: Socket) => {
      const writeMore = () => {
        while (socket.writable && socket.write('x'.repeat(65_536)));
      };
      socket.on('drain', writeMore);
      writeMore();
    };
    expect(await exchange(protocol, endlessAnswer)).toEqual([NONE, 'reset']);
  });

  it('that does not arrive before the caller’s deadline, or is a reset, leaves the outcome unknown', async () => {
    const caller = new AbortController();
    const late = () => caller.abort();
    expect(await exchange(protocol, late, PATIENT, caller.signal)).toEqual([NONE, 'reset']);
    const reset = await scriptedTcpServer((socket) => socket.resetAndDestroy());
    expect(await outcomeOf(openTextAccount(protocol, reset))).toMatch(/^account_outcome_unknown /);
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
    const server = await answeringTextServer(`ERROR\r\n${text === '' ? '' : `${text}\r\n`}end\r\n`);
    const failure = await failureOf(openTextAccount(protocol, server));
    expect(`${failure.kind} ${failure.options.reason}`).toBe(expected);
    expect(JSON.stringify(failure)).not.toContain('ann@');
  });

  it.each([
    ['IP is blocked. Please wait 37 secs and try again.', { retryAfterSeconds: 37 }],
    ['invalid LEVERAGE', { errors: [{ pointer: '#/leverage', rule: 'not_offered' }] }],
  ])('with the error "%s" says more', async (text, options) => {
    const server = await answeringTextServer(`ERROR\r\n${text}\r\nend\r\n`);
    expect(await failureOf(openTextAccount(protocol, server))).toMatchObject({ options });
  });

  it('to an unknown group opens nothing', async () => {
    const server = await aServer({ dialect: protocol });
    for (const group of ['nope', 'constructor', 'a group of more than 15 bytes', 'standard|', ''])
      expect((await failureOf(openTextAccount(protocol, server, { group }))).kind).toBe('group_not_found');
    expect(server.accounts()).toEqual([]);
  });
});

it('A gateway is not asked for a group that its connection does not list', async () => {
  const server = await aServer({ dialect: 'interface-gateway' });
  const open = (group: string) => openTextAccount('interface-gateway', server, { group }, { groups: ['standard'] });
  expect((await failureOf(open('demoforex'))).kind).toBe('group_not_found');
  expect(server.commands).toBe(0);
  await open('standard');
  expect(server.accounts()).toMatchObject([{ group: 'standard' }]);
});
