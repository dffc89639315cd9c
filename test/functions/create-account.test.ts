import { describe, expect, it } from 'vitest';
import { AccountCaller, ALL, CLIENTS } from '../support/account-caller.ts';
import { accountBody } from '../support/account-calls.ts';
import { CONNECTIONS } from '../support/account-connections.ts';
import { marksOf } from '../support/secret-search.ts';

const GIVEN = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };
const DEMO = ['tp5-demo', 'reg-demo', 'gw-demo'] as const;
const LIVE = ['tp5-live', 'reg-live', 'gw-live'] as const;
const caller = new AccountCaller();
const { ask, serverOf, accountOf, access } = caller;

describe.each(ALL)('An account on %s', (connection) => {
  const { version, group } = CONNECTIONS[connection];

  it('is opened: 200 with login and both passwords, and nothing else', async () => {
    const answer = await ask(connection);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      login: expect.any(Number),
      master_password: expect.stringMatching(/^[\x21-\x7e]{12}$/),
      investor_password: expect.stringMatching(/^[\x21-\x7e]{12}$/),
    });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'strict-transport-security': 'max-age=63072000',
      'x-request-id': expect.stringMatching(/./),
    });
    expect(answer.headers).not.toHaveProperty('idempotent-replayed');
  });

  it('has the group, the leverage and the client’s name and e-mail address', async () => {
    const answer = await ask(connection, { leverage: 500 });
    expect(accountOf(connection, answer)).toMatchObject({
      group,
      leverage: 500,
      name: 'Annegret Leewarden',
      email: 'annegret@mailbox.example',
      readonly: false,
    });
  });

  it('carries the operation’s id in its comment, as the record does', async () => {
    const { comment, login } = accountOf(connection, await ask(connection));
    expect(comment).toMatch(/^[0-9a-f-]{36}$/);
    const records = await caller.world.records('CLIENT01');
    expect(records.find((record) => record.operation_id === comment)).toMatchObject({ login, version });
  });

  it('lets its generated passwords in, each as what it is', async () => {
    expect(access(connection, await ask(connection))).toEqual(['master', 'investor']);
  });

  it('lets the given passwords in, and answers with them', async () => {
    const answer = await ask(connection, GIVEN);
    expect(answer.body).toMatchObject(GIVEN);
    expect(access(connection, answer)).toEqual(['master', 'investor']);
  });

  it('is recorded with who may earn from it', async () => {
    const answer = await ask(connection, { enable_rebate: true, rebate_user_id: 'CLIENT02' });
    const record = (await caller.world.records('CLIENT01')).find(
      ({ login, connection_id }) => login === answer.body.login && connection_id === connection,
    );
    expect(record).toEqual({
      pk: 'CLIENT01',
      sk: `${version}#${connection}#${answer.body.login}`,
      user_id: 'CLIENT01',
      version,
      connection_id: connection,
      login: answer.body.login,
      group,
      leverage: 100,
      ...(CONNECTIONS[connection].account_type_id === undefined
        ? {}
        : { account_type_id: CONNECTIONS[connection].account_type_id }),
      enable_readonly: false,
      enable_rebate: true,
      rebate_user_id: 'CLIENT02',
      operation_id: accountOf(connection, answer).comment,
      opened_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
  });

  it.each([
    ['the request’s language', { language: 'fr-CA' }, 'fr'],
    ['the client’s language where the request names none', {}, 'de'],
  ])('is told of by mail and popup in %s, without passwords', async (_, more, language) => {
    caller.world.outbox.clear();
    const { body } = await ask(connection, { send_email: true, send_pop_up: true, ...more });
    expect(
      caller.world.outbox
        .list()
        .map(({ kind, to, language: written }) => [kind, to, written])
        .sort(),
    ).toEqual([
      ['email', 'annegret@mailbox.example', language],
      ['popup', 'CLIENT01', language],
    ]);
    const sent = JSON.stringify(caller.world.outbox.list());
    expect(sent).toContain(String(body.login));
    expect(sent).not.toContain(JSON.stringify(body.master_password).slice(1, -1));
    expect(sent).not.toContain(JSON.stringify(body.investor_password).slice(1, -1));
  });

  it('is not told of where nobody asked', async () => {
    caller.world.outbox.clear();
    await ask(connection);
    await ask(connection, { send_email: false, send_pop_up: false, language: 'fr' });
    expect(caller.world.outbox.list()).toEqual([]);
  });

  it('is opened once for an Idempotency-Key, and answered again with the same passwords', async () => {
    const key = `once-${connection}`;
    const first = await ask(connection, {}, { key });
    const count = serverOf(connection).accounts().length;
    const again = await ask(connection, {}, { key });
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'idempotent-replayed': 'true' } });
    expect(serverOf(connection).accounts()).toHaveLength(count);
    expect(access(connection, again)).toEqual(['master', 'investor']);
    const other = await ask(connection, { leverage: 50 }, { key });
    expect(other).toMatchObject({ status: 422, body: { type: 'idempotency_key_reused' } });
  });

  it('of another client is another one, also with the same key', async () => {
    const key = `shared-${connection}`;
    const [one, two] = [await ask(connection, {}, { key }), await ask(connection, {}, { key, userId: 'CLIENT02' })];
    expect(one.body.login).not.toBe(two.body.login);
    expect(accountOf(connection, two)).toMatchObject({
      name: 'Ignatius Pérezmarín',
      email: 'ignatius@mailbox.example',
    });
  });
});

describe('A demo account', () => {
  it.each(DEMO)('on %s is funded with the deposit of its type, once', async (connection) => {
    const deposit = connection === 'tp5-demo' ? 10_000 : 5_000;
    const key = `deposit-${connection}`;
    const answer = await ask(connection, {}, { key });
    await ask(connection, {}, { key });
    expect(accountOf(connection, answer).balance).toBe(deposit);
  });

  it.each(DEMO)('on %s needs an account type', async (connection) => {
    const { account_type_id: _, ...body } = accountBody(connection);
    const answer = await caller.world.ask({ body, version: CONNECTIONS[connection].version });
    expect(answer).toMatchObject({ status: 400, body: { type: 'account_type_required' } });
  });

  it.each(DEMO)('on %s of a type without a deposit is empty', async (connection) => {
    const account_type_id = connection === 'tp5-demo' ? 'ATLIVE05' : 'ATLIVE04';
    expect(accountOf(connection, await ask(connection, { account_type_id })).balance).toBe(0);
  });

  it('on the registration plug-in cannot be funded in a group that is none for demos', async () => {
    const answer = await ask('reg-demo', { group: 'standard' });
    expect(answer).toMatchObject({
      status: 400,
      body: { type: 'not_supported_by_connection', errors: [{ pointer: '#/account_type_id' }] },
    });
  });
});

it.each(LIVE)('A live account on %s is not funded, whatever its type', async (connection) => {
  const account_type_id = connection === 'tp5-live' ? 'ATDEMO05' : 'ATDEMO04';
  expect(accountOf(connection, await ask(connection, { account_type_id })).balance).toBe(0);
});

describe('What is not there is answered with its own word', () => {
  it.each([
    ['tp5', 'nowhere', 'tp5_connection_not_found'],
    ['tp5', 'gw-live', 'tp5_connection_not_found'],
    ['tp4', 'nowhere', 'tp4_connection_not_found'],
    ['tp4', 'tp5-live', 'tp4_connection_not_found'],
  ] as const)('on %s the connection %s: %s', async (version, connection_id, type) => {
    const body = { connection_id, group: 'standard', leverage: 100 };
    const answer = await caller.world.ask({ version, body });
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.body).toEqual({
      type,
      title: expect.any(String),
      status: 400,
      request_id: answer.headers['x-request-id'],
    });
  });

  it('the user: 404 user_not_found', async () => {
    const answer = await ask('tp5-live', {}, { userId: 'NOBODY00' });
    expect(answer).toMatchObject({ status: 404, body: { type: 'user_not_found' } });
  });

  it('the rebate user: rebate_user_not_found', async () => {
    const answer = await ask('tp5-live', { rebate_user_id: 'NOBODY00' });
    expect(answer).toMatchObject({ status: 400, body: { type: 'rebate_user_not_found' } });
  });

  it.each(['NOTYPE00', 'ATLIVE04'])('the account type %s: account_type_not_found', async (account_type_id) => {
    const answer = await ask('tp5-live', { account_type_id });
    expect(answer).toMatchObject({ status: 400, body: { type: 'account_type_not_found' } });
  });

  it.each(LIVE)('the group on %s: group_not_found', async (connection) => {
    const answer = await ask(connection, { group: 'nothing' });
    expect(answer).toMatchObject({ status: 400, body: { type: 'group_not_found' } });
  });

  it('the permission for a group: platform_refused', async () => {
    const answer = await ask('tp5-live', { group: 'real\\closed' });
    expect(answer).toMatchObject({ status: 502, body: { type: 'platform_refused' } });
  });
});

describe('A request that breaks rules', () => {
  it('is told all of them at once, path and header too, and reaches nothing', async () => {
    caller.world.database.calls.length = 0;
    const answer = await caller.world.ask({
      userId: 'short',
      key: '',
      version: 'tp5',
      body: { group: 'real\\standard', leverage: 0, master_password: 'weak', enable_readonly: 'yes', extra: 1 },
    });
    expect(answer).toMatchObject({ status: 400, body: { type: 'validation_failed' } });
    const places = (answer.body.errors as Record<string, string>[]).map(
      ({ pointer, parameter, header }) => pointer ?? parameter ?? header,
    );
    expect(new Set(places)).toEqual(
      new Set([
        'user_id',
        'Idempotency-Key',
        '#/connection_id',
        '#/leverage',
        '#/master_password',
        '#/enable_readonly',
        '#/extra',
      ]),
    );
    expect(caller.world.database.calls).toEqual([]);
  });

  it.each(['', '{', '[]', 'null', '"text"'])('as %j is malformed_json', async (body) => {
    expect(await caller.world.ask({ version: 'tp5', body })).toMatchObject({
      status: 400,
      body: { type: 'malformed_json' },
    });
  });
});

it('After all of this no password, given or generated, and no secret of ours stands in a table, a log line, a metric, a message or a refusal, and no name, e-mail address or phone number of a client in a log line, a metric or a refusal', async () => {
  await ask('tp5-live', { send_email: true, send_pop_up: true });
  // There is something to search in: finished operations, records, events with their metrics, mails, refusals.
  const { tables, log, messages, refusals } = await caller.world.written();
  expect(tables).toContain('finished');
  expect(log).toMatch(/AccountOpened[\s\S]*CloudWatchMetrics/);
  for (const mark of marksOf(CLIENTS[0])) expect(tables).toContain(mark);
  expect(messages).toContain('annegret@mailbox.example');
  expect(refusals).toContain('validation_failed');
  expect(caller.world.passwords.size).toBeGreaterThan(100);
  // As every world does at its end.
  expect(await caller.world.leaks()).toEqual([]);
});
