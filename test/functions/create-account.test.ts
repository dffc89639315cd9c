import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type AccountAnswer, type AccountCall, accountBody, CALLER } from '../support/account-calls.ts';
import { CONNECTIONS, type ConnectionId, firstRange, isKeyed } from '../support/account-connections.ts';
import { type AccountWorld, startAccountWorld } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';
import { marksOf } from '../support/secret-search.ts';

const ANN = {
  id: 'CLIENT01',
  email: 'annegret@mailbox.example',
  name: 'Annegret Leewarden',
  phone: { country_code: '44', number: '7400123456' },
  country: 'GB',
  language: 'de',
};
const CLIENTS = [ANN, { id: 'CLIENT02', email: 'ignatius@mailbox.example', name: 'Ignatius Pérezmarín' }];
const ALL = Object.keys(CONNECTIONS) as ConnectionId[];
const KEYED = ALL.filter(isKeyed);
/** One connection of each protocol. */
const LIVE = ['tp5-live', 'reg-live', 'gw-live'] as const;
const GIVEN = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };

let world: AccountWorld;
beforeAll(async () => {
  world = await startAccountWorld({ bundles: await bundleInto(inject('bundles')), clients: CLIENTS });
});
afterAll(async () => {
  await world.close();
});

const ask = (on: ConnectionId, more: Record<string, unknown> = {}, call: Partial<AccountCall> = {}) =>
  world.ask({ body: accountBody(on, more), ...call });
const serverOf = (on: ConnectionId) => world.servers[CONNECTIONS[on].server];
const accountOf = (on: ConnectionId, { body }: AccountAnswer) =>
  serverOf(on)
    .accounts()
    .find(({ login }) => login === body.login);
/** The rights of the two passwords of an answer. */
const access = (on: ConnectionId, { body }: AccountAnswer) =>
  (['master_password', 'investor_password'] as const).map((name) =>
    serverOf(on).access(Number(body.login), String(body[name])),
  );

describe.each(ALL)('An account on %s', (on) => {
  const { version, group, account_type_id } = CONNECTIONS[on];

  it('is opened with the data of the request and its client, and is recorded', async () => {
    const answer = await ask(on, { leverage: 500, enable_rebate: true, rebate_user_id: 'CLIENT02' });
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/./),
      },
    });
    expect(answer.headers).not.toHaveProperty('idempotent-replayed');
    expect(answer.body).toEqual({
      login: expect.any(Number),
      master_password: expect.stringMatching(/^[\x21-\x7e]{12}$/),
      investor_password: expect.stringMatching(/^[\x21-\x7e]{12}$/),
    });
    expect(access(on, answer)).toEqual(['master', 'investor']);
    const account = accountOf(on, answer);
    const balance = { 'tp5-demo': 10_000, 'reg-demo': 5_000, 'gw-demo': 5_000 }[on as string] ?? 0;
    const { name, email } = ANN;
    expect(account).toMatchObject({ group, leverage: 500, name, email, readonly: false, balance });
    const { login } = answer.body;
    if (isKeyed(on)) {
      const { from, to } = firstRange(on);
      expect(login).toBeGreaterThanOrEqual(from);
      expect(login).toBeLessThanOrEqual(to);
    }
    const record = (await world.records('CLIENT01')).find((one) => one.login === login && one.connection_id === on);
    expect(record).toEqual({
      pk: 'CLIENT01',
      sk: `${version}#${on}#${login}`,
      user_id: 'CLIENT01',
      version,
      connection_id: on,
      login,
      group,
      leverage: 500,
      ...(account_type_id === undefined ? {} : { account_type_id }),
      enable_readonly: false,
      enable_rebate: true,
      rebate_user_id: 'CLIENT02',
      operation_id: account?.comment,
      caller: CALLER,
      opened_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
  });
});

describe.each(KEYED)('On %s', (on) => {
  it('the caller may choose the login and disable trading', async () => {
    const login = 700_123 + KEYED.indexOf(on);
    const answer = await ask(on, { login, enable_readonly: true });
    expect(answer).toMatchObject({ status: 200, body: { login } });
    expect(accountOf(on, answer)).toMatchObject({ readonly: true });
    expect(await ask(on, { login })).toMatchObject({ status: 409, body: { type: 'login_taken' } });
  });

  it('the login of a stranger’s account is taken, and nothing is sent', async () => {
    serverOf(on).populate({ group: 'standard', from: 800_000, count: 10 });
    const { commands } = serverOf(on);
    expect(await ask(on, { login: 800_005 })).toMatchObject({ status: 409, body: { type: 'login_taken' } });
    expect(
      serverOf(on)
        .accounts()
        .map(({ login }) => login),
    ).not.toContain(800_005);
    // One look-up; a gateway is also asked for the password.
    expect(serverOf(on).commands - commands).toBeLessThanOrEqual(2);
  });
});

it('A key belongs to its caller and its client', async () => {
  const call = { body: accountBody('tp5-live'), key: randomUUID() };
  const calls = [call, { ...call, caller: 'arn:aws:iam::000000000000:user/other' }, { ...call, userId: 'CLIENT02' }];
  const logins: unknown[] = [];
  for (const one of [...calls, ...calls]) logins.push((await world.ask(one)).body.login);
  expect(new Set(logins.slice(0, 3)).size).toBe(3);
  expect(logins.slice(3)).toEqual(logins.slice(0, 3));
});

/**
 * Holds the calls to the database until this many wait, round after round: a call that waits for another one of its
 * round would never come.
 * @returns the calls, and whether the command came before any further call
 */
async function inRounds(on: ConnectionId, call: Partial<AccountCall>, sizes: readonly number[]) {
  const server = serverOf(on);
  const [commands, calls] = [server.commands, world.database.calls.length];
  const newCalls = () => world.database.calls.slice(calls).filter(({ repeated }) => repeated !== true);
  const held: (() => void)[] = [];
  let isHolding = true;
  let commandsThen: number | undefined;
  world.faults.dynamodb.onCall = () => {
    // On a busy machine a client repeats a call.
    if (world.database.calls.at(-1)?.repeated === true) return undefined;
    if (isHolding) return new Promise<void>((resolve) => void held.push(resolve));
    commandsThen ??= server.commands;
    return undefined;
  };
  const pending = world.send({ body: accountBody(on), ...call });
  let passed = 0;
  for (const [index, size] of sizes.entries()) {
    while (held.length < size) await sleep(1);
    passed += size;
    isHolding = index < sizes.length - 1;
    for (const release of held.splice(0)) release();
  }
  const answer = await pending.answer;
  world.faults.dynamodb.onCall = () => undefined;
  const all = newCalls().map(({ operation, table }) => `${operation} ${table}`);
  const rest = all.slice(passed);
  return { first: all.slice(0, passed), rest, answer, isCommandNext: (commandsThen ?? 0) > commands };
}

describe.each(LIVE)('An opening on %s', (on) => {
  it('that is answered again makes three calls, and none to the server; its key is its client’s alone', async () => {
    const call = { body: accountBody(on, GIVEN), key: `again-${on}` };
    const first = await world.ask(call);
    expect(first.body).toMatchObject(GIVEN);
    const [commands, calls] = [serverOf(on).commands, world.database.calls.length];
    expect(await world.ask(call)).toMatchObject({ body: first.body, headers: { 'idempotent-replayed': 'true' } });
    expect(serverOf(on).commands).toBe(commands);
    expect(world.database.calls.slice(calls)).toHaveLength(3);
    const other = await world.ask({ ...call, userId: 'CLIENT02' });
    expect(accountOf(on, other)).toMatchObject({ name: 'Ignatius Pérezmarín' });
  });

  it.each([undefined, 'once'])('makes two trips to the database before its one command, key: %s', async (key) => {
    await ask(on);
    const [commands, sessions] = [serverOf(on).commands, world.servers.tp5.sessions];
    const call = key === undefined ? {} : { key: `${key}-${on}-trips` };
    const { first, rest, answer, isCommandNext } = await inRounds(on, call, [2, 1]);
    expect(answer?.status).toBe(200);
    expect(isCommandNext).toBe(true);
    expect(first.slice(0, 2).toSorted()).toEqual(['BatchGetItem crm', 'PutItem operations']);
    const reservation = 'TransactWriteItems operations,logins';
    const state = 'UpdateItem operations';
    expect(first.slice(2)).toEqual([isKeyed(on) ? reservation : state]);
    // The plug-in chooses the login: it is reserved with the answer.
    expect(rest.toSorted()).toEqual(['PutItem accounts', isKeyed(on) ? state : reservation, state].toSorted());
    expect(serverOf(on).commands - commands).toBe(1);
    expect(world.servers.tp5.sessions).toBe(sessions);
  });
});

it('In the end no password and no secret is in a table, a log line, a message or a refusal, and no client’s data in a log line or a refusal', async () => {
  await ask('tp5-live', { send_email: true, send_pop_up: true });
  await ask('tp5-live', { leverage: 0 });
  // There is something to find.
  const { tables, log, messages, refusals } = await world.written();
  expect(tables).toContain('"done"');
  expect(log).toMatch(/AccountOpened[\s\S]*CloudWatchMetrics/);
  for (const mark of marksOf(ANN)) expect(tables).toContain(mark);
  expect(messages).toContain('annegret@mailbox.example');
  expect(refusals).toContain('validation_failed');
  expect(world.passwords.size).toBeGreaterThan(30);
  expect(await world.leaks()).toEqual([]);
});
