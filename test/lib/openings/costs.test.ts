import * as v from 'valibot';
import { expect, it } from 'vitest';
import type { SimulatedServer } from '../../../infra/local/platforms/simulated-server.ts';
import type { AccountDependencies } from '../../../lib/openings/dependencies.ts';
import { deriveIdentity, derivePasswords, deriveSeed } from '../../../lib/openings/derivation.ts';
import type { HeldOperation, OperationPlan } from '../../../lib/openings/ledger.ts';
import type { Life } from '../../../lib/openings/life.ts';
import { storedServer } from '../../../lib/openings/reservation-key.ts';
import { settleOperations } from '../../../lib/openings/settler.ts';
import { platformConnections } from '../../../lib/platform/connections.ts';
import { dynamoAccounts } from '../../../lib/records/accounts.ts';
import { type Connection, ConnectionSchema, crmKey, dynamoAccountDirectory } from '../../../lib/records/crm-records.ts';
import { DUE_SHARDS, dueAttributes } from '../../../lib/records/due.ts';
import { dynamoRegistrations } from '../../../lib/records/registrations.ts';
import { publishPending } from '../../../lib/registration/confirmation.ts';
import { ACCOUNT_TYPES, CONNECTIONS, type ConnectionId, connectionRecords } from '../../support/account-connections.ts';
import { LIVE } from '../../support/crm-example.ts';
import { testDatabase } from '../../support/database.ts';
import { OpeningScene } from '../../support/opening-scene.ts';
import { DERIVATION_KEY, LedgerWorld, recordingTelemetry } from '../../support/openings.ts';
import { aServer, MASTER_PASSWORD } from '../../support/text-protocol.ts';
import { MANAGER, testServer } from '../../support/web-api.ts';

/** What the settler finds of an operation. */
interface Case {
  on: ConnectionId;
  life: (login: number) => Life;
  plan?: Partial<OperationPlan>;
  /** The account on the trading server, with the operation's id as its comment or with its password. Absent: none. */
  account?: 'marked' | 'by password';
  isDown?: boolean;
}

const sent = (login: number): Life => ({ at: 'sent', login, commands: 'many' });
const open =
  (deposit: (Life & { at: 'open' })['deposit'], recorded = true) =>
  (login: number): Life => ({
    ...{ at: 'open', login, opened_at: new Date().toISOString(), published: false },
    ...{ recorded, deposit },
  });
const demo = { deposit: 100, account_type_id: 'ATDEMO05' };

/** The rows of the page. */
const CASES: Record<string, Case> = {
  'sent, found by its comment | `web-api`': { on: 'tp5-live', life: sent, account: 'marked' },
  'sent, found by its password | `web-api`': { on: 'tp5-live', life: sent, account: 'by password' },
  'sent, found by its password | `interface-gateway`': { on: 'gw-live', life: sent, account: 'by password' },
  'sent, absent | `web-api`': { on: 'tp5-live', life: sent },
  'sent, absent | `interface-gateway`': { on: 'gw-live', life: sent },
  'sent, its server is down | `web-api`': { on: 'tp5-live', life: sent, isDown: true },
  'sent, its server is down | `interface-gateway`': { on: 'gw-live', life: sent, isDown: true },
  'sent | `web-registration`': {
    on: 'reg-live',
    life: () => ({ at: 'sent', commands: 'one' }),
    plan: { keyed: false },
  },
  'open, without record and event | every': { on: 'tp5-live', life: open('none', false) },
  'open, not paid | `web-api`': { on: 'tp5-demo', life: open('due'), plan: demo, account: 'marked' },
  'open, perhaps paid | `web-api`': { on: 'tp5-demo', life: open('sent'), plan: demo, account: 'marked' },
};

/** The calls of one run over this many equal operations: of the database, of the trading server, of the bus. */
async function callsOf({ on, life, plan = {}, account, isDown }: Case, count: number): Promise<number[]> {
  const database = await testDatabase();
  const servers = {
    tp5: await testServer(),
    reg: await aServer({ dialect: 'web-registration' }),
    gw: await aServer({ dialect: 'interface-gateway' }),
  };
  const server: SimulatedServer = servers[CONNECTIONS[on].server];
  const records = connectionRecords(servers.tp5 as { port: number; ca: string }, servers.reg, servers.gw);
  const connection: Connection = v.parse(ConnectionSchema, records[on]);
  const named = [
    ...ACCOUNT_TYPES.map((one) => [crmKey.accountType(one.id), one] as const),
    [crmKey.connection(on), connection] as const,
  ];
  const world = new LedgerWorld(database);
  for (const [pk, record] of named) await database.tables.crm.put({ pk, record }, world.signal());
  world.now = Date.now() - 60_000;
  for (let number = 0; number < count; number += 1) {
    const { version } = CONNECTIONS[on];
    const held = await world.claimed(`operation ${number}`, {
      version,
      connection_id: on,
      server: storedServer(connection),
      ...plan,
    });
    const login = 500_000 + number;
    if (account !== undefined) server.add(accountOf(held, login, account));
    const to = life(login);
    if (to.at === 'open') await world.ledger.write(held, sent(login), world.signal());
    await world.ledger.write(held, to, world.signal());
  }
  if (isDown) await server.close();
  world.now = Date.now();
  let published = 0;
  const dependencies = {
    ...{ ledger: world.ledger, now: () => world.now, keys: async () => [DERIVATION_KEY] },
    directory: dynamoAccountDirectory(database.tables.crm),
    accounts: dynamoAccounts(database.tables.accounts),
    registrations: dynamoRegistrations(database.tables.registrations),
    platform: platformConnections({
      readSecret: async () => JSON.stringify({ ...MANAGER, master: MASTER_PASSWORD }),
    }),
    events: {
      async publish() {
        published += 1;
      },
    },
  } as unknown as AccountDependencies & Parameters<typeof publishPending>[0];
  const [before, commands] = [database.calls.length, server.commands];
  const log = recordingTelemetry([]);
  await publishPending(dependencies, log, world.signal());
  await settleOperations(dependencies, log, world.now + 55_000);
  return [database.calls.length - before, server.commands - commands, published];
}

function accountOf(held: HeldOperation, login: number, known: Case['account']) {
  const { master, investor } = derivePasswords(deriveSeed([DERIVATION_KEY], held) ?? '', held.plan?.version ?? 'tp5');
  return {
    ...{ login, group: 'real\\standard', leverage: 100, name: 'Ann Lee', email: '', readonly: false, balance: 0 },
    ...{ comment: known === 'marked' ? held.operationId : 'VIP', master, investor, details: {} },
  };
}

/** For each operation: the calls of the database, of the trading server and of the bus. */
const CALLS_EACH = `
| sent, found by its comment | \`web-api\` | 4 | 1 | 1 |
| sent, found by its password | \`web-api\` | 4 | 3 | 1 |
| sent, found by its password | \`interface-gateway\` | 4 | 3 | 1 |
| sent, absent | \`web-api\` | 3 | 1 | 0 |
| sent, absent | \`interface-gateway\` | 3 | 1 | 0 |
| sent, its server is down | \`web-api\` | 2 | 0 | 0 |
| sent, its server is down | \`interface-gateway\` | 2 | 0 | 0 |
| sent | \`web-registration\` | 2 | 0 | 0 |
| open, without record and event | every | 3 | 0 | 1 |
| open, not paid | \`web-api\` | 4 | 1 | 1 |
| open, perhaps paid | \`web-api\` | 4 | 1 | 1 |`;

it('The settler makes few calls for an operation, in each state on each protocol', async () => {
  const runs: number[][] = [];
  const rows: string[] = [];
  for (const [name, one] of Object.entries(CASES)) {
    const [few, more] = [await callsOf(one, 2), await callsOf(one, 4)];
    const each = more.map((calls, at) => (calls - (few[at] ?? 0)) / 2);
    rows.push(`| ${name} | ${each.join(' | ')} |`);
    runs.push(few.map((calls, at) => calls - 2 * (each[at] ?? 0)));
  }
  expect(rows).toEqual(CALLS_EACH.trim().split('\n'));
  // The shards of two indexes, the operations, and the connection if one is asked.
  expect(new Set(runs.map(String))).toEqual(new Set(['10,0,0', '9,0,0']));
});

it('An account costs a read of its record more if another operation holds its first login', async () => {
  const database = await testDatabase();
  const scene = new OpeningScene(database);
  const [first, second] = [
    { from: 1, to: 1 },
    { from: 2, to: 1_000 },
  ];
  scene.connection = { ...LIVE, logins: [first, second] };
  const calls: number[] = [];
  for (const key of ['the first login is free', 'the first login is taken']) {
    const before = database.calls.length;
    await scene.open(key);
    calls.push(database.calls.length - before);
  }
  const [usual = 0, more] = calls;
  expect(more).toBe(usual + 1);
});

it('An account costs four entries of the index of due operations, whose shards are even', async () => {
  const database = await testDatabase();
  const scene = new OpeningScene(database);
  const shards = new Map<string, number>();
  let entries = 0;
  database.onWritten((changes) => {
    for (const { before, after } of changes) {
      const keys = [before, after].map((item) => item?.due_at && JSON.stringify([item.due_shard, item.due_at]));
      if (keys[0] === keys[1]) continue;
      entries += keys.filter((key) => key !== undefined).length;
    }
  });
  await scene.open('an account');
  expect(entries).toBe(4);
  for (let number = 0; number < 4_000; number += 1) {
    const shard = String(dueAttributes(deriveIdentity(DERIVATION_KEY, `${number}`, 'body').operationId, 0).due_shard);
    shards.set(shard, (shards.get(shard) ?? 0) + 1);
  }
  expect([...shards.keys()].toSorted()).toEqual(DUE_SHARDS);
  for (const count of shards.values()) expect(Math.abs(count - 1_000)).toBeLessThan(100);
});
