import { describe, expect, it } from 'vitest';
import type { AnswerStyle } from '../../../../infra/local/platforms/text-server.ts';
import { ANY_TIME, failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import {
  anOrder,
  answeringTextServer,
  aServer,
  DIALECTS,
  GROUPS,
  openTextAccount,
  scriptedTcpServer,
  textPlatform,
} from '../../../support/text-protocol.ts';

const gateway = 'interface-gateway';
const LOGIN = 777;
const ID = '6f1d8a52-5c1c-8f0e-9d3e-000000000009';

const STYLES: AnswerStyle[] = [
  ...(['byte_order_mark', 'small_letters', 'spaces', 'one_line', 'banner', 'full_stop'] as const),
  ...(['no_end', 'partial'] as const),
];

describe.each(STYLES)('A gateway that answers with: %s', (answers) => {
  it('opens accounts, shows them, and refuses with certainty', async () => {
    const server = await aServer({ dialect: gateway, answers });
    const platform = textPlatform(gateway, server.port);
    const open = (changes = {}) => platform.open(anOrder({ login: LOGIN, ...changes }), ANY_TIME, NEVER_ABORTED);
    expect(await open()).toEqual({ login: LOGIN });
    expect(await platform.look(LOGIN, ID, NEVER_ABORTED)).toEqual({ is: 'unmarked' });
    expect(await platform.look(778, ID, NEVER_ABORTED)).toEqual({ is: 'absent' });
    expect((await failureOf(open())).kind).toBe('login_taken');
    server.faults.set({ kind: 'retcode', code: 3006, times: 1 });
    expect(await failureOf(open({ login: 778 }))).toMatchObject({ kind: 'password_rejected', proof: 'content' });
    server.faults.set({ kind: 'retcode', code: 1012, times: 1 });
    expect(await failureOf(open({ login: 778 }))).toMatchObject({ reason: 'illegal_ip', proof: 'not_served' });
  });
});

describe.each(DIALECTS)('An answer of %s in an unusual form', (protocol) => {
  it.each([
    'OK LOGIN=123\r\nend\r\n',
    'ok\r\nlogin = 123\r\nend',
    'Ok.\r\nLogin=123.\r\nEND\r\n',
    'welcome\r\nOK LOGIN = 123\r\n',
    '\xef\xbb\xbfOK\nLOGIN=123\nend',
  ])('is a success: %j', async (text) => {
    expect(await openTextAccount(protocol, await answeringTextServer(text))).toEqual({ login: 123 });
  });

  it.each([
    ['ERROR invalid data\r\n', 'platform_refused invalid_data', 'content'],
    ['ERROR: simple password.\r\nend', 'password_rejected simple_password', 'content'],
    ['error\r\nInvalid Data.\r\nend', 'platform_refused invalid_data', 'content'],
    ['welcome\r\nERROR\r\ninvalid MASTER\r\nend', 'platform_refused invalid_master', 'not_served'],
    ['ERROR\r\nMT is disconnected\r\nend', 'platform_unavailable platform_disconnected', 'nothing'],
    ['ERROR No connection\r\nend', 'platform_unavailable platform_disconnected', 'nothing'],
    ['ERROR\r\ncommon error.\r\nend', 'platform_unavailable platform_disconnected', 'nothing'],
    ['ERROR\r\nsomething new\r\nend', 'account_outcome_unknown unknown_error', 'nothing'],
  ])('is a refusal: %j is %s, and proves: %s', async (text, expected, proof) => {
    const failure = await failureOf(openTextAccount(protocol, await answeringTextServer(text)));
    expect([`${failure.kind} ${failure.reason}`, failure.proof]).toEqual([expected, proof]);
  });

  it.each([
    'OK LOGIN=12',
    'OK 123\r\nend\r\n',
    'OKLOGIN=123\r\nend\r\n',
    'one\r\ntwo\r\nOK\r\nLOGIN=123\r\nend\r\n',
    'LOGIN=123\r\nend\r\n',
    'ERRORS of today\r\nend\r\n',
  ])('proves nothing: %j', async (text) => {
    const failure = await failureOf(openTextAccount(protocol, await answeringTextServer(text)));
    expect(failure).toMatchObject({ kind: 'account_outcome_unknown', proof: 'nothing' });
  });
});

describe('What a failed opening proves', () => {
  it('nothing if a gateway’s flood guard answers: it may have seen a repeated command', async () => {
    const server = await aServer({ dialect: gateway });
    server.faults.set({ kind: 'throttled', times: 1 });
    const failure = await failureOf(openTextAccount(gateway, server, { login: LOGIN }));
    expect(failure).toMatchObject({ kind: 'platform_unavailable', reason: 'blocked', proof: 'nothing' });
  });

  it('nothing if the plug-in’s flood guard answers: each operation is a visitor of its own, so it has opened an account', async () => {
    const server = await aServer({ dialect: 'web-registration' });
    server.faults.set({ kind: 'executed_twice', times: 1 });
    const failure = await failureOf(openTextAccount('web-registration', server));
    expect(failure).toMatchObject({ kind: 'platform_unavailable', reason: 'blocked', proof: 'nothing' });
    expect(server.accounts()).toHaveLength(1);
  });

  it.each([
    ['no connection', {}, undefined, 'platform_unavailable', 'unsent'],
    ['too late', { now: () => 1 }, 0, 'platform_unavailable', 'unsent'],
    ['a group that is not offered', { groups: { standard: 1 } }, undefined, 'group_not_found', 'unsent'],
    ['a master password that cannot be sent', { master: 'a|b' }, undefined, 'platform_refused', 'not_served'],
  ] as const)('that it was not sent: %s', async (what, changes, deadline, kind, proof) => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port, changes);
    if (what === 'no connection') await server.close();
    const failure = await failureOf(platform.open(anOrder({ login: LOGIN }), deadline ?? ANY_TIME, NEVER_ABORTED));
    expect(failure).toMatchObject({ kind, proof });
    expect(server.commands).toBe(0);
  });
});

describe('A gateway with numbers of groups', () => {
  const groups = Object.fromEntries(GROUPS.map((name, place) => [name, place + 1]));

  it('opens accounts with a login and with the plug-in’s deposit', async () => {
    const server = await aServer({ dialect: gateway, groupNumbers: true });
    const platform = textPlatform(gateway, server.port, { groups });
    const order = anOrder({ login: LOGIN, deposit: 250, country: 'GB' });
    expect(await platform.open(order, ANY_TIME, NEVER_ABORTED)).toEqual({ login: LOGIN });
    expect(server.accounts()).toMatchObject([{ login: LOGIN, group: 'demoforex', balance: 250 }]);
    expect(server.details(LOGIN)).toMatchObject({ country: 'United Kingdom' });
    expect((await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED))).kind).toBe('login_taken');
    expect(await platform.look(LOGIN, ID, NEVER_ABORTED)).toEqual({ is: 'unmarked' });
  });

  it('has no read-only accounts, and deposits in groups of demos alone', () => {
    const platform = textPlatform(gateway, 1, { groups });
    const order = anOrder({ login: LOGIN, group: 'standard', readonly: true, deposit: 250 });
    expect(platform.unsupported(order)).toMatchObject([
      { pointer: '#/enable_readonly', rule: 'not_supported' },
      { pointer: '#/account_type_id', rule: 'not_supported' },
    ]);
  });

  it('is not asked for a group without a number', async () => {
    const server = await scriptedTcpServer(() => {});
    const failure = await failureOf(openTextAccount(gateway, server, { group: 'nope' }, { groups }));
    expect(failure).toMatchObject({ kind: 'group_not_found', proof: 'unsent' });
    expect(server.received).toEqual([]);
  });
});

describe('A server whose commands begin with Z', () => {
  it.each(DIALECTS)('opens accounts on a connection with that prefix, and none without: %s', async (dialect) => {
    const server = await aServer({ dialect, prefix: 'Z' });
    const order = dialect === gateway ? { login: LOGIN } : {};
    expect(await failureOf(openTextAccount(dialect, server, order))).toMatchObject({ reason: 'closed_without_answer' });
    expect(server.accounts()).toEqual([]);
    expect(await openTextAccount(dialect, server, order, { prefix: 'Z' })).toEqual({ login: expect.any(Number) });
    expect(server.accounts()).toHaveLength(1);
  });

  it('is asked for logins with that prefix', async () => {
    const server = await aServer({ dialect: gateway, prefix: 'Z' });
    const platform = textPlatform(gateway, server.port, { prefix: 'Z' });
    await platform.open(anOrder({ login: LOGIN }), ANY_TIME, NEVER_ABORTED);
    expect(await platform.look(LOGIN, ID, NEVER_ABORTED)).toEqual({ is: 'unmarked' });
    expect(await platform.look(778, ID, NEVER_ABORTED)).toEqual({ is: 'absent' });
  });

  it.each([
    [{ prefix: 'Z' }, {}, 'wants_prefix_z'],
    [{ prefix: 'Z', master: 'another' }, {}, 'wants_prefix_z'],
    [{}, { prefix: 'Z' }, 'wants_prefix_w'],
  ] as const)('is recognized by the check of a connection: %j with %j', async (options, changes, reason) => {
    const server = await aServer({ dialect: gateway, ...options });
    const failure = await failureOf(textPlatform(gateway, server.port, changes).check(NEVER_ABORTED));
    expect(failure).toMatchObject({ kind: 'platform_refused', reason });
  });

  it('is not suspected where no prefix gets an answer', async () => {
    const server = await scriptedTcpServer((socket) => socket.end());
    const failure = await failureOf(textPlatform(gateway, server.port).check(NEVER_ABORTED));
    expect(failure.reason).toBe('closed_without_answer');
    expect(server.received.map((text) => text.slice(0, 11))).toEqual(['WCHKACCOUNT', 'ZCHKACCOUNT']);
  });
});

it.each(['gbk', 'gb18030'])('Names are sent in %s', async (codePage) => {
  const server = await aServer({ dialect: gateway, codePage });
  await openTextAccount(gateway, server, { name: '王小明', login: LOGIN }, { code_page: codePage });
  expect(server.accounts()).toMatchObject([{ name: '王小明' }]);
});

it.each([
  ['name', 'United Kingdom'],
  ['code', 'GB'],
] as const)('The country is sent as a %s: %s', async (country_format, country) => {
  const server = await aServer({ dialect: gateway });
  await openTextAccount(gateway, server, { country: 'GB', login: LOGIN }, { country_format });
  expect(server.details(LOGIN)).toMatchObject({ country });
});
