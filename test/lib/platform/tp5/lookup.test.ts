import { describe, expect, it } from 'vitest';
import type { ManagerRights } from '../../../../infra/local/platforms/web-api-accounts.ts';
import { compareComment } from '../../../../lib/platform/platform.ts';
import { ANY_TIME, failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import { anOrder, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

const LOGIN = 70_000;
const OTHERS_ID = '00000000-0000-8000-8000-000000000000';

/** An account at the login, whose comment is changed since. */
async function opened({ comment, rights = {} }: { comment?: string; rights?: ManagerRights }) {
  const server = await testServer({ rights });
  const platform = platformOn(server);
  const order = anOrder({ login: LOGIN });
  await platform.open(order, ANY_TIME, NEVER_ABORTED);
  if (comment !== undefined) server.edit(LOGIN, { comment });
  const look = ({ operationId = order.operationId, login = LOGIN } = {}) =>
    platform.look(login, operationId, NEVER_ABORTED).then(({ is }) => is);
  return { server, look };
}

describe('Looking at a login', () => {
  it('finds the operation by its id, with one command, also if the account has another group', async () => {
    const { server, look } = await opened({});
    server.edit(LOGIN, { group: 'vip' });
    expect(await look()).toBe('ours');
    expect(server.commands).toBe(2);
  });

  it.each([
    ['a changed comment', { comment: 'VIP client' }, 'unmarked'],
    ['no comment', { comment: '' }, 'unmarked'],
    ['hidden personal data', { rights: { personalData: false } }, 'unmarked'],
    ['shown names alone', { rights: { personalData: 'names' } }, 'unmarked'],
    ['the comment of another operation', { comment: OTHERS_ID }, 'foreign'],
  ] as const)('with %s asks nothing else', async (_, changes, owner) => {
    const { server, look } = await opened(changes);
    expect(await look()).toBe(owner);
    expect(server.commands).toBe(2);
  });

  it('finds no account', async () => {
    const { look } = await opened({});
    expect(await look({ login: 70_001 })).toBe('absent');
  });

  it('is repeated if the session was gone, but only once', async () => {
    const { server, look } = await opened({});
    server.faults.set({ kind: 'session_dropped', times: 1 });
    expect(await look()).toBe('ours');
    server.faults.set({ kind: 'session_dropped', times: 2 });
    expect((await failureOf(look())).kind).toBe('platform_unavailable');
  });

  it.each([
    ['throttled', undefined, { kind: 'platform_unavailable', reason: 'retcode_12' }],
    ['refused', undefined, { kind: 'platform_refused', reason: 'retcode_8' }],
    ['retcode', 1_012, { kind: 'platform_refused', reason: 'retcode_1012' }],
  ] as const)(
    'does not count a refusal as an absent account, and keeps its code: %s %s',
    async (kind, code, expected) => {
      const { server, look } = await opened({});
      server.faults.set({ kind, times: 1, ...(code === undefined ? {} : { code }) });
      expect(await failureOf(look())).toMatchObject(expected);
    },
  );

  it.each([
    '{"retcode":"0 Done"}',
    '{"retcode":"0 Done","answer":"none"}',
    '{"retcode":"0 Done","answer":{"Login":"x","Comment":""}}',
    '{"retcode":"0 Done","answer":{"Login":"70001","Comment":""}}',
    'garbage',
  ])('does not believe the answer %s', async (content) => {
    const server = await scriptedServer((_request, response) => response.end(content));
    expect((await failureOf(platformOn(server).look(LOGIN, OTHERS_ID, NEVER_ABORTED))).kind).toBe(
      'platform_unavailable',
    );
  });
});

describe('The first 36 characters of a comment', () => {
  const ID = '6f1d8a52-5c1c-8f0e-9d3e-000000000001';

  it.each([
    [ID, 'ours'],
    [ID.toUpperCase(), 'ours'],
    [`${ID}-0123456789abcdef`, 'ours'],
    [`${ID} VIP`, 'ours'],
    [OTHERS_ID, 'foreign'],
    [`${OTHERS_ID}-0123456789abcdef`, 'foreign'],
    [`${OTHERS_ID} ${ID}`, 'foreign'],
    // No operation has an id of another version.
    ['018f3c1e-7a1b-7c3d-9e4f-5a6b7c8d9e0f', 'unmarked'],
    [ID.slice(0, 31), 'unmarked'],
    [OTHERS_ID.slice(0, 31), 'unmarked'],
    ['', 'unmarked'],
    ['VIP client', 'unmarked'],
    [`VIP ${ID}`, 'unmarked'],
  ] as const)('%s are %s', (comment, is) => {
    expect(compareComment(comment, ID).is).toBe(is);
  });
});

describe('Operators', () => {
  it('see all logins of all groups', async () => {
    const server = await testServer({ groups: [{ name: 'plain' }, { name: 'a=b|c\\d' }] });
    server.populate({ group: 'real\\standard', from: 1_000_000, count: 100_000 });
    const platform = platformOn(server);
    for (const group of ['plain', 'a=b|c\\d']) await platform.open(anOrder({ group }), ANY_TIME, NEVER_ABORTED);
    const logins = await platform.logins(NEVER_ABORTED);
    expect(logins).toHaveLength(100_002);
    expect(logins).toEqual(expect.arrayContaining([5_001, 5_002, 1_099_999]));
  });

  it('are refused if the manager may not look', async () => {
    const server = await testServer({ forbiddenPaths: ['/api/user/get', '/api/user/logins'] });
    const platform = platformOn(server);
    expect((await failureOf(platform.look(5_001, '', NEVER_ABORTED))).kind).toBe('platform_refused');
    expect((await failureOf(platform.logins(NEVER_ABORTED))).kind).toBe('platform_refused');
  });

  it('are not shown logins of an answer that cannot be read', async () => {
    const server = await scriptedServer((_, response) => response.end('{"retcode":"0 Done","answer":["1","x"]}'));
    expect((await failureOf(platformOn(server).logins(NEVER_ABORTED))).kind).toBe('platform_unavailable');
  });
});
