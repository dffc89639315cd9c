import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountCall, accountBody } from '../support/account-calls.ts';
import { CONNECTIONS, type ConnectionId } from '../support/account-connections.ts';
import { type AccountWorld, startAccountWorld } from '../support/account-world.ts';
import { accountBundles, type Bundles } from '../support/environments.ts';

/** Every call to the database is held up for so long: one that waited for another comes at least so much later. */
const HOLD_MS = 1_000;
const LEASE_MS = 6_000;

let bundles: Bundles;
let world: AccountWorld;
beforeAll(async () => {
  bundles = await accountBundles();
  const clients = [{ id: 'CLIENT01', email: 'annegret@mailbox.example', name: 'Annegret Leewarden' }];
  world = await startAccountWorld({ bundles, clients, settleSeconds: 0 });
  for (const on of ['tp5-live', 'tp5-range', 'reg-live', 'gw-live', 'gw-range'] as const)
    await world.ask({ body: accountBody(on) });
});
afterAll(async () => {
  await world.close();
  await bundles.close();
});

/** How many calls to the database stand one after the other before the first command to the platform, and what they are. */
async function beforeThePlatform(on: ConnectionId, call: Partial<AccountCall>) {
  const server = world.servers[CONNECTIONS[on].server];
  const [commands, calls] = [server.commands, world.database.calls.length];
  world.faults.dynamodb.set({ kind: 'slow', ms: HOLD_MS, times: 1_000 });
  const pending = world.send({ body: accountBody(on), ...call });
  let [seen, deep, roundFrom] = [calls, 0, Number.NEGATIVE_INFINITY];
  for (;;) {
    await sleep(2);
    // Whatever comes with it came after it.
    if (server.commands !== commands) break;
    if (world.database.calls.length === seen) continue;
    seen = world.database.calls.length;
    if (performance.now() - roundFrom < HOLD_MS) continue;
    roundFrom = performance.now();
    deep += 1;
  }
  const made = world.database.calls.slice(calls, seen).map(({ operation, table }) => `${operation} ${table}`);
  world.faults.dynamodb.clear();
  return { deep, made, answer: await pending.answer };
}

/** A login of the connection’s own is reserved beside the note that it will be sent. */
const RESERVING: readonly ConnectionId[] = ['tp5-range', 'gw-range'];

describe.each(['tp5-live', 'tp5-range', 'reg-live', 'gw-live', 'gw-range'] as const)('An opening on %s', (on) => {
  const reserved = RESERVING.includes(on) ? ['PutItem operations'] : [];

  it.each([undefined, 'once'])('makes two calls to the database one after the other before it: key %s', async (key) => {
    const { deep, made, answer } = await beforeThePlatform(on, key === undefined ? {} : { key: `${key}-${on}` });
    expect(answer?.status).toBe(200);
    expect(deep).toBe(2);
    // The first two side by side.
    expect(made.slice(0, 2).sort()).toEqual(['BatchGetItem crm', 'PutItem operations']);
    expect(made.slice(2).sort()).toEqual([...reserved, 'UpdateItem operations']);
  });

  it('takes one command to a platform that is known, on the session that stands', async () => {
    const server = world.servers[CONNECTIONS[on].server];
    const [commands, sessions] = [server.commands, world.servers.tp5.sessions];
    expect((await world.ask({ body: accountBody(on) })).status).toBe(200);
    expect(server.commands - commands).toBe(1);
    expect(world.servers.tp5.sessions).toBe(sessions);
  });

  it('makes six calls to the database in all, and one more where it reserves a login', async () => {
    const calls = world.database.calls.length;
    await world.ask({ body: accountBody(on), key: `all-${on}` });
    expect(
      world.database.calls
        .slice(calls)
        .map(({ operation, table }) => `${operation} ${table}`)
        .sort(),
    ).toEqual([
      'BatchGetItem crm',
      'PutItem accounts',
      'PutItem operations',
      ...reserved,
      'UpdateItem operations',
      'UpdateItem operations',
      'UpdateItem operations',
    ]);
  });

  it('that is answered again makes three and calls no platform', async () => {
    const server = world.servers[CONNECTIONS[on].server];
    const call = { body: accountBody(on), key: `again-${on}` };
    await world.ask(call);
    const [commands, calls] = [server.commands, world.database.calls.length];
    expect((await world.ask(call)).headers['idempotent-replayed']).toBe('true');
    expect(server.commands).toBe(commands);
    expect(world.database.calls.slice(calls).filter(({ table }) => table === 'operations')).toHaveLength(3);
  });
});

it('A retry that takes over from one that was killed makes three calls, one after the other, before the platform', async () => {
  const call = { body: accountBody('tp5-live'), key: 'killed', ms: LEASE_MS - 1_000 };
  const calls = world.database.calls.length;
  const pending = world.send(call);
  while (world.database.calls.length < calls + 2) await sleep(1);
  await pending.kill();
  await sleep(LEASE_MS);
  // Another environment, with a session that stands.
  await world.ask({ body: accountBody('tp5-live') });
  const { deep, made, answer } = await beforeThePlatform('tp5-live', { key: 'killed' });
  expect(answer?.status).toBe(200);
  expect(deep).toBeLessThanOrEqual(3);
  expect(made.filter((one) => one !== 'BatchGetItem crm').length).toBeLessThanOrEqual(3);
});
