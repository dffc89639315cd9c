import { describe, expect, it } from 'vitest';
import type { ManagerRights } from '../../../../infra/local/platforms/web-api-accounts.ts';
import type { Mark, PlatformFailure } from '../../../../lib/platform/platform.ts';
import { ANY_TIME, failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import { anOrder, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

const LOGIN = 70_000;
const OTHERS_ID = '00000000-0000-4000-8000-000000000000';

/** An account at the login, whose comment and password are changed since; and what its operation knows. */
async function opened({ comment, rights = {} }: { comment?: string; rights?: ManagerRights }) {
  const server = await testServer({ rights });
  const platform = platformOn(server);
  const order = anOrder({ login: LOGIN });
  await platform.open(order, ANY_TIME, NEVER_ABORTED);
  if (comment !== undefined) server.edit(LOGIN, { comment });
  const { operationId, masterPassword: password } = order;
  const isOperation = async (id: string) => id === OTHERS_ID;
  const mark: Mark = { operationId, login: LOGIN, generated: { role: 'master', password }, isOperation };
  return { server, mark, look: (changes: Partial<Mark> = {}) => platform.look({ ...mark, ...changes }, NEVER_ABORTED) };
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
  ] as const)(
    'with %s asks for a generated password, and a refused password proves nothing',
    async (_, changes, owner) => {
      const { server, look } = await opened(changes);
      expect(await look()).toBe('ours');
      // The opening, the account, the password, and another one, which must be refused.
      expect(server.commands).toBe(4);
      expect(await look({ generated: { role: 'investor', password: 'Inve5tor#wd' } })).toBe('ours');
      expect(await look({ generated: { role: 'master', password: 'An0ther#one' } })).toBe(owner);
      expect(await look({ generated: undefined })).toBe(owner);
    },
  );

  it.each([
    ['throttled', 'platform_unavailable'],
    ['refused', 'unmarked'],
  ] as const)('with a check of the password that is %s ends with %s', async (kind, outcome) => {
    const { server, look } = await opened({ comment: '' });
    server.faults.set({ kind, times: 1, after: 1 });
    expect(await look().catch((failure: PlatformFailure) => failure.kind)).toBe(outcome);
  });

  it.each([
    ['accepts any password', ['0 Done', '0 Done'], 'unmarked'],
    ['refuses any', ['3006 Invalid password', '3006 Invalid password'], 'unmarked'],
    ['accepts ours alone', ['0 Done', '3006 Invalid password'], 'ours'],
    ['accepts ours, and does not know the second time', ['0 Done', '10 No link'], 'platform_unavailable'],
    ['does not know the first time', ['10 No link', '0 Done'], 'platform_unavailable'],
    ['accepts ours, and lacks the command the second time', ['0 Done', '404'], 'unmarked'],
    ['lacks the command', ['404', '0 Done'], 'unmarked'],
    ['accepts ours, and is silent the second time', ['0 Done', 'silence'], 'platform_unavailable'],
    ['is silent the first time', ['silence', '0 Done'], 'platform_unavailable'],
  ])('where the check of passwords %s: %j is %s', async (_, answers, expected) => {
    const left = [...answers];
    const server = await scriptedServer(({ path }, response) => {
      if (path.startsWith('/api/user/get')) {
        return void response.end(`{"retcode":"0 Done","answer":{"Login":"${LOGIN}","Comment":"VIP"}}`);
      }
      const next = left.shift() ?? '';
      if (next === 'silence') return;
      if (next === '404') return void response.writeHead(404).end();
      response.end(JSON.stringify({ retcode: next }));
    });
    const mark: Mark = { operationId: OTHERS_ID, login: LOGIN, generated: { role: 'master', password: 'Ma5ter#word' } };
    const seen = platformOn(server, { commandMs: 300 }).look(mark, NEVER_ABORTED);
    expect(await seen.catch((failure: PlatformFailure) => failure.kind)).toBe(expected);
  });

  it('does without a check of the password that the server forbids', async () => {
    const server = await testServer({ forbiddenPaths: ['/api/user/check_password'] });
    const platform = platformOn(server);
    const { operationId, masterPassword: password } = anOrder();
    await platform.open(anOrder({ login: LOGIN }), ANY_TIME, NEVER_ABORTED);
    server.edit(LOGIN, { comment: '' });
    expect(
      await platform.look({ operationId, login: LOGIN, generated: { role: 'master', password } }, NEVER_ABORTED),
    ).toBe('unmarked');
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
    const mark = { operationId: OTHERS_ID, login: LOGIN };
    expect((await failureOf(platformOn(server).look(mark, NEVER_ABORTED))).kind).toBe('platform_unavailable');
  });
});

describe('A comment', () => {
  const ID = '6f1d8a52-5c1c-4f0e-9d3e-000000000001';

  it.each([
    [ID, 'ours'],
    [ID.slice(0, 31), 'ours'],
    [`${ID}-0123456789abcdef`, 'ours'],
    [OTHERS_ID, 'foreign'],
    // A whole mark belongs to what is judged, a cut one does not.
    [`${OTHERS_ID}-0123456789abcdef`, 'unmarked'],
    [`${OTHERS_ID}-0123456789abcde`, 'foreign'],
    ['018f3c1e-7a1b-7c3d-9e4f-5a6b7c8d9e0f', 'unmarked'],
    [OTHERS_ID.slice(0, 31), 'unmarked'],
    ['', 'unmarked'],
    ['VIP client', 'unmarked'],
    [`${ID} VIP`, 'ours'],
    [`VIP ${ID.toUpperCase()}`, 'ours'],
    [`moved from ${OTHERS_ID} to ${ID}`, 'ours'],
    [`VIP ${ID.slice(0, 25)}`, 'ours'],
    [`VIP ${OTHERS_ID}, gold`, 'foreign'],
    [`018f3c1e-7a1b-7c3d-9e4f-5a6b7c8d9e0f, ${OTHERS_ID}`, 'foreign'],
    [`${ID.slice(0, 25)} VIP`, 'unmarked'],
    ['6f1d8a52', 'unmarked'],
  ] as const)('%s is %s', async (comment, owner) => {
    const { look } = await opened({ comment });
    expect(await look({ operationId: ID, generated: undefined })).toBe(owner);
  });
});

describe('Operators', () => {
  it('see whether a login exists, and all logins of all groups', async () => {
    const server = await testServer({ groups: [{ name: 'plain' }, { name: 'a=b|c\\d' }] });
    server.populate({ group: 'real\\standard', from: 1_000_000, count: 100_000 });
    const platform = platformOn(server);
    for (const group of ['plain', 'a=b|c\\d']) await platform.open(anOrder({ group }), ANY_TIME, NEVER_ABORTED);
    expect(await platform.exists(5_001, NEVER_ABORTED)).toBe(true);
    expect(await platform.exists(5_003, NEVER_ABORTED)).toBe(false);
    const logins = await platform.logins(NEVER_ABORTED);
    expect(logins).toHaveLength(100_002);
    expect(logins).toEqual(expect.arrayContaining([5_001, 5_002, 1_099_999]));
  });

  it('are refused if the manager may not look', async () => {
    const server = await testServer({ forbiddenPaths: ['/api/user/get', '/api/user/logins'] });
    const platform = platformOn(server);
    expect((await failureOf(platform.exists(5_001, NEVER_ABORTED))).kind).toBe('platform_refused');
    expect((await failureOf(platform.logins(NEVER_ABORTED))).kind).toBe('platform_refused');
  });

  it('are not shown logins of an answer that cannot be read', async () => {
    const server = await scriptedServer((_, response) => response.end('{"retcode":"0 Done","answer":["1","x"]}'));
    expect((await failureOf(platformOn(server).logins(NEVER_ABORTED))).kind).toBe('platform_unavailable');
  });
});
