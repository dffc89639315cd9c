import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type AccountCall, accountBody } from '../support/account-calls.ts';
import { CONNECTIONS, type ConnectionId } from '../support/account-connections.ts';
import { type AccountWorld, startAccountWorld } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';

const LEASE_MS = 6_000;

let world: AccountWorld;
beforeAll(async () => {
  const bundles = await bundleInto(inject('bundles'));
  const clients = [{ id: 'CLIENT01', email: 'annegret@mailbox.example', name: 'Annegret Leewarden' }];
  world = await startAccountWorld({ bundles, clients, settleSeconds: 0 });
  for (const on of ['tp5-live', 'tp5-range', 'reg-live', 'gw-live', 'gw-range'] as const)
    await world.ask({ body: accountBody(on) });
});
afterAll(async () => {
  await world.close();
});

/**
 * Holds the calls to the database up until so many wait at once, round by round: a call that waited for another of its
 * round would never come.
 * @returns the calls of each round, and whether the platform's first command came before any further call
 */
async function inRounds(on: ConnectionId, call: Partial<AccountCall>, sizes: readonly number[]) {
  const server = world.servers[CONNECTIONS[on].server];
  const [commands, calls] = [server.commands, world.database.calls.length];
  const newCalls = () => world.database.calls.slice(calls).filter(({ repeated }) => repeated !== true);
  const held: (() => void)[] = [];
  let isHolding = true;
  let commandsThen: number | undefined;
  world.faults.dynamodb.onCall = () => {
    // On a busy machine a client may ask for the same once more.
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
  const made = newCalls()
    .slice(0, passed)
    .map(({ operation, table }) => `${operation} ${table}`);
  return { made, answer, isCommandNext: (commandsThen ?? 0) > commands };
}

/** A login of the connection’s own is reserved beside the note that it will be sent. */
const RESERVING: readonly ConnectionId[] = ['tp5-range', 'gw-range'];

describe.each(['tp5-live', 'tp5-range', 'reg-live', 'gw-live', 'gw-range'] as const)('An opening on %s', (on) => {
  const reserved = RESERVING.includes(on) ? ['PutItem operations'] : [];

  it.each([undefined, 'once'])('makes two calls to the database one after the other before it: key %s', async (key) => {
    const sizes = [2, 1 + reserved.length];
    const { made, answer, isCommandNext } = await inRounds(on, key === undefined ? {} : { key: `${key}-${on}` }, sizes);
    expect(answer?.status).toBe(200);
    expect(isCommandNext).toBe(true);
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
  const { made, answer, isCommandNext } = await inRounds('tp5-live', { key: 'killed' }, [2, 1, 1]);
  expect(answer?.status).toBe(200);
  expect(isCommandNext).toBe(true);
  expect(made.slice(2)).toEqual(['UpdateItem operations', 'UpdateItem operations']);
});
