import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { type AccountAnswer, type AccountCall, accountBody } from '../support/account-calls.ts';
import { CONNECTIONS, type ConnectionId, type KeyedConnectionId, RANGES } from '../support/account-connections.ts';
import { type AccountWorld, newClient, type WorldClient, WorldPool } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';
import { runHistories } from '../support/never-twice/run.ts';
import { CONNECTIONS_BY_KIND, type Kind } from '../support/never-twice/steps.ts';

/**
 * Never a second account, a second deposit or a stranger's account: directed cases, and a few random histories. The
 * consequence of each fact is in `test/lib/openings/drive.test.ts`, every order of them in `test/model`, and what operators
 * decide in `test/infra/ops/operations.test.ts`.
 */

/** Longer than the lease of a function that was killed, in milliseconds. */
const LEASE_OVER_MS = 31_000;
const DEPOSITS: Partial<Record<ConnectionId, number>> = { 'tp5-demo': 10_000, 'gw-demo': 5_000, 'reg-demo': 5_000 };
const GIVEN = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };
const WORLDS = 6;

vi.setConfig({ maxConcurrency: WORLDS, testTimeout: 300_000 });

let bundles: string;
let pool: WorldPool;
beforeAll(async () => {
  bundles = await bundleInto(inject('bundles'), 'settle-operations', 'operator');
  pool = new WorldPool(WORLDS, { bundles });
});
afterAll(async () => {
  await pool.close();
});

/** One client's request, and its account on the server. */
class Request {
  readonly world: AccountWorld;
  readonly client: WorldClient;
  readonly on: ConnectionId;
  readonly call: AccountCall;

  constructor(world: AccountWorld, client: WorldClient, on: ConnectionId, more: Record<string, unknown> = {}) {
    this.world = world;
    this.client = client;
    this.on = on;
    this.call = { userId: client.id, body: accountBody(on, more), key: `key-${client.id}` };
  }

  get server() {
    return this.world.servers[CONNECTIONS[this.on].server];
  }

  get faults() {
    return this.world.faults[CONNECTIONS[this.on].server];
  }

  accounts() {
    return this.server.accounts().filter(({ email }) => email === this.client.email);
  }

  ask(): Promise<AccountAnswer> {
    return this.world.ask(this.call);
  }

  /** The server executes the commands, and its answers cannot be read. */
  async loseAnswer(): Promise<void> {
    this.faults.set({ kind: 'garbage', times: 1_000 });
    const answer = await this.world.ask({ ...this.call, ms: 9_000 });
    expect(answer).toMatchObject({ status: 504, body: { type: 'account_outcome_unknown' } });
    this.faults.clear();
  }

  /** The function is killed when this command arrives. */
  async dieAtCommand(count = 1): Promise<void> {
    const { commands } = this.server;
    await this.#dieWhen(() => this.server.commands - commands >= count);
  }

  /** The function is killed when this database call arrives. */
  async dieAtCall(count: number): Promise<void> {
    const calls = this.world.database.calls.length;
    await this.#dieWhen(() => this.world.database.calls.length - calls >= count);
  }

  async #dieWhen(isReached: () => boolean): Promise<void> {
    const pending = this.world.send(this.call);
    let isOver = false;
    pending.outcome.then(() => {
      isOver = true;
    });
    while (!isReached() && !isOver) await sleep(1);
    await pending.kill();
    expect((await pending.outcome).kind).toBe('killed');
    await this.world.clock.pass(LEASE_OVER_MS);
  }

  /** A retry is answered with the one account, which is recorded, paid and published once. */
  async checkOpened(): Promise<number> {
    const answer = await this.ask();
    expect(answer.status).toBe(200);
    const { login, master_password, investor_password } = answer.body;
    expect(this.accounts()).toMatchObject([{ login, balance: DEPOSITS[this.on] ?? 0 }]);
    expect(this.server.access(Number(login), String(master_password))).toBe('master');
    expect(this.server.access(Number(login), String(investor_password))).toBe('investor');
    expect((await this.ask()).body).toEqual(answer.body);
    const [record, ...others] = await this.world.records(this.client.id);
    expect(record).toMatchObject({ login });
    expect(others).toEqual([]);
    expect(this.world.published()).toContain(record?.operation_id);
    return Number(login);
  }
}

/** In a separate world for the time of the test. */
const request = (on: ConnectionId, more: Record<string, unknown>, work: (one: Request) => Promise<void>) =>
  pool.use(async (world) => {
    const one = new Request(world, await newClient(world), on, more);
    // Undoes the edits of earlier tests.
    world.rights.personalData = true;
    world.environments.jump(0);
    try {
      await work(one);
    } finally {
      world.environments.jump(0);
    }
  });

describe.concurrent('A function that is killed', () => {
  it.each<[string, ConnectionId, (one: Request) => Promise<void>]>([
    ['at the claim', 'tp5-live', (one) => one.dieAtCall(2)],
    ['at the reservation', 'tp5-live', (one) => one.dieAtCall(3)],
    ['at the command', 'tp5-live', (one) => one.dieAtCommand()],
    ['at the command to a gateway', 'gw-live', (one) => one.dieAtCommand()],
    ['at the record', 'tp5-live', (one) => one.dieAtCall(4)],
    ['at the last state', 'tp5-live', (one) => one.dieAtCall(6)],
    ['at the deposit', 'tp5-demo', (one) => one.dieAtCommand(2)],
  ])('%s leaves a request whose retry gets the one account', (_, on, die) =>
    request(on, {}, async (one) => {
      await die(one);
      await one.checkOpened();
    }),
  );

  it('while a server executes the command late leaves one account, at the same login', () =>
    request('tp5-live', {}, async (one) => {
      one.faults.set({ kind: 'late', times: 1, ms: 200_000 });
      await one.dieAtCommand();
      const login = await one.checkOpened();
      await one.world.clock.pass(200_000);
      expect(await one.checkOpened()).toBe(login);
    }));
});

describe.concurrent('After a lost answer the ledger decides whose the account is', () => {
  const edit = (changes: { comment?: string; group?: string }) => async (one: Request) => {
    for (const { login } of one.accounts()) one.server.edit(login, changes);
  };
  const range = (logins: { from: number; to: number }) => (one: Request) =>
    one.world.writeConnection(one.on as KeyedConnectionId, { logins });
  const see = (personalData: boolean | 'names') => async (one: Request) => {
    one.world.rights.personalData = personalData;
  };
  const EDITS: [string, (one: Request) => Promise<void>][] = [
    ['the client is renamed', (one) => one.world.writeClients([{ ...one.client, name: 'Renatina Featherstone' }])],
    ['the range is edited', range({ from: 506_000, to: 507_999 })],
    ['the range is edited to one of another connection', range({ from: 500_000, to: 513_999 })],
    ['the server hides comments', see(false)],
    ['the server shows names alone', see('names')],
    ['people change the comment', edit({ comment: 'VIP client' })],
    ['people delete the comment', edit({ comment: '' })],
    ['the account is moved to another group', edit({ group: 'vip' })],
    ['the clock of a retry is a day ahead', async ({ world }) => world.environments.jump(25 * 60 * 60_000)],
    [
      'the server is restored without the account',
      async (one) => {
        for (const { login } of one.accounts()) one.server.remove(login);
      },
    ],
  ];

  describe.concurrent.each(['tp5-demo', 'gw-demo'] as const)('on %s', (on) => {
    it.each(EDITS)('although %s, a retry gets the one account with one deposit', (_, change) =>
      request(on, on === 'gw-demo' ? GIVEN : {}, async (one) => {
        await one.loseAnswer();
        await change(one);
        await one.checkOpened();
        await one.world.writeConnection(on, { logins: RANGES[on] });
      }),
    );
  });

  it('although a CRM writes a UUID of its own into the comment', () =>
    request('tp5-live', GIVEN, async (one) => {
      await one.loseAnswer();
      await edit({ comment: randomUUID() })(one);
      await one.checkOpened();
    }));

  it('so a login that another client names by another connection, with the same passwords, is taken', () =>
    request('tp5-live', { login: 504_777, ...GIVEN }, async (one) => {
      const body = { ...(one.call.body as object), connection_id: 'tp5-list' };
      const other = new Request(one.world, await newClient(one.world), 'tp5-list', body);
      // After the look-up.
      await one.dieAtCommand(2);
      expect(await other.ask()).toMatchObject({ status: 409, body: { type: 'login_taken' } });
      await one.checkOpened();
      expect(other.accounts()).toEqual([]);
    }));
});

describe.concurrent('A ledger that is lost', () => {
  /** A retry gets the same login and passwords, and the account is recorded once. */
  async function checkSame(one: Request, lose: () => Promise<void>): Promise<void> {
    const { body } = await one.ask();
    await lose();
    expect(await one.ask()).toMatchObject({ status: 200, body });
    expect(await one.checkOpened()).toBe(body.login);
  }

  it.each<[string, ConnectionId, ('operations' | 'logins' | 'accounts')[]]>([
    ['whole', 'tp5-live', ['operations', 'logins', 'accounts']],
    ['whole, on a gateway', 'gw-live', ['operations', 'logins', 'accounts']],
    ['without its reservations', 'tp5-live', ['operations', 'accounts']],
    ['but for the record, on a plug-in', 'reg-live', ['operations', 'logins']],
  ])('%s, opens no second account', (_, on, tables) =>
    request(on, {}, (one) => checkSame(one, () => one.world.lose(...tables))),
  );

  it.each<[ConnectionId, string, Record<string, unknown>]>(
    (['tp5-live', 'tp5-demo', 'gw-live', 'gw-demo', 'reg-live'] as const).flatMap(
      (on): [ConnectionId, string, Record<string, unknown>][] => [
        [on, 'generated', {}],
        [on, 'given', GIVEN],
      ],
    ),
  )(
    'opens no second account, although another operation has reserved the login since: %s, %s passwords',
    (on, _, passwords) =>
      request(on, passwords, async (one) => {
        const { world } = one;
        const rival = { operation_id: randomUUID(), incarnation: randomUUID() };
        const reservation = async () =>
          (await world.items('logins')).find(({ operation_id }) => operation_id === rival.operation_id);
        await checkSame(one, async () => {
          const held = await world.items('logins');
          await world.lose('operations', 'logins');
          await world.put(
            'logins',
            held.map((item) => ({ ...item, ...rival })),
          );
        });
        expect(await reservation()).toMatchObject(rival);
      }),
  );

  it('for another one, next to the same trading servers, opens no second account', () =>
    request('tp5-live', {}, (one) =>
      pool.use(async (other) => {
        await other.writeClients([one.client]);
        await other.shareServers(one.world);
        const { body } = await one.ask();
        expect(await other.ask(one.call)).toMatchObject({ status: 200, body });
        expect(one.accounts()).toMatchObject([{ login: body.login }]);
        await other.shareServers(other);
      }),
    ));
});

/** `npm run never-twice` runs any number of them. */
const RUNS = 8;

describe.concurrent('Random requests, retries, kills, pauses, faults and edits', () => {
  it.each(Object.keys(CONNECTIONS_BY_KIND) as Kind[])('keep every promise: %s', async (kind) => {
    const { counts, violations } = await runHistories({ bundles, kind, runs: RUNS, lanes: 4, seed: 5 });
    expect(violations).toEqual([]);
    expect(counts.get('histories')).toBe(RUNS);
    expect(counts.get('requests')).toBeGreaterThan(2 * RUNS);
    expect(counts.get('writes')).toBeGreaterThan(RUNS);
  });
});
