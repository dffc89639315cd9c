import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { outliveReader } from '../../infra/closed-output.ts';
import { TABLES } from '../../infra/local/database.ts';
import type { StoredAccount } from '../../infra/local/platforms/simulated-server.ts';
import { processFolder } from '../../infra/local/process-folder.ts';
import type { Item } from '../../lib/aws/dynamodb.ts';
import { type AccountCall, accountBody } from '../support/account-calls.ts';
import { CONNECTIONS, type ConnectionId, type ServerName } from '../support/account-connections.ts';
import { type AccountWorld, newClient, WorldPool } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';
import { EVERYTHING, synthesizeFresh } from '../support/stack.ts';
import { storedResources } from './stored-resources.ts';

/**
 * What a released version has stored: `npm run release` writes `test/releases/<version>.json` with the functions as they
 * are now, and `<version>.stack.json` with the resources that hold data. `upgrade.test.ts` replays `1.x.json`, which the
 * functions of 1.1.0 have written; `test/infra/updates.test.ts` compares the stacks with that of today. A released version
 * is never written again.
 */

const FOLDER = new URL('.', import.meta.url);
/** Longer than the lease of a function that was killed, in milliseconds. */
const LEASE_OVER_MS = 31_000;

/** One request of a caller, repeated after the upgrade. */
export interface Story {
  name: string;
  call: AccountCall;
  answer: Answered;
}
/** What the released version answers to the same request again. Absent members are not compared. */
interface Answered {
  status: number;
  login?: unknown;
  master_password?: unknown;
  investor_password?: unknown;
  type?: unknown;
}

/** The tables, the trading servers and the requests of a released version. */
export interface Release {
  /** Epoch milliseconds. */
  at: number;
  /** By table. The addresses of trading servers are `{{tp5}}`, `{{reg}}`, `{{gw}}`. */
  items: Partial<Record<keyof typeof TABLES, Item[]>>;
  accounts: Record<ServerName, StoredAccount[]>;
  stories: Story[];
}

/** Worlds with all functions of this version. @param skewMs by how much their clocks differ from the machine's */
export async function releaseWorlds(folder: string, skewMs = 0): Promise<WorldPool> {
  const bundles = await bundleInto(folder, 'settle-operations');
  return new WorldPool(1, { bundles, skewMs: () => skewMs });
}

/** Repeats a request. */
export async function repeatStory(world: AccountWorld, { call }: Story): Promise<Answered> {
  const { status, body } = await world.ask(call);
  const { login, master_password, investor_password, type } = body;
  return status === 200 ? { status, login, master_password, investor_password } : { status, type };
}

/** Puts the state of a release into an empty world. */
export async function restoreRelease(world: AccountWorld, { items, accounts }: Release): Promise<void> {
  const text = JSON.stringify(items).replace(/\{\{(\w+)\}\}/g, (_, name: ServerName) => addressOf(world, name));
  for (const [table, list] of Object.entries(JSON.parse(text) as Record<keyof typeof TABLES, Item[]>)) {
    await world.put(table as keyof typeof TABLES, list);
  }
  // The connections lead to the servers of this world.
  await world.shareServers(world);
  for (const [name, list] of Object.entries(accounts)) {
    for (const account of list) world.servers[name as ServerName].add(account);
  }
}

function addressOf({ servers }: AccountWorld, name: ServerName): string {
  return `127.0.0.1:${servers[name].port}`;
}

/** Everything that the world holds, with the addresses of its servers by name. */
async function dump(world: AccountWorld): Promise<Pick<Release, 'items' | 'accounts'>> {
  const tables = Object.keys(TABLES) as (keyof typeof TABLES)[];
  const items = Object.fromEntries(await Promise.all(tables.map(async (name) => [name, await world.items(name)])));
  const names = Object.keys(world.servers) as ServerName[];
  const text = names.reduce((so, name) => so.replaceAll(addressOf(world, name), `{{${name}}}`), JSON.stringify(items));
  const accounts = names.map((name) => {
    const server = world.servers[name];
    return [name, server.accounts().map(({ login }) => server.find(login))];
  });
  return { items: JSON.parse(text), accounts: Object.fromEntries(accounts) };
}

type Unanswered = Omit<Story, 'answer'>;

/** Requests whose operations are left in every state. */
async function openAccounts(world: AccountWorld): Promise<Unanswered[]> {
  const stories: Unanswered[] = [];
  const call = async (name: string, on: ConnectionId, more: Record<string, unknown> = {}) => {
    const { id: userId } = await newClient(world);
    const one = { name, call: { userId, body: accountBody(on, more), key: `key-${userId}` } };
    stories.push(one);
    return one.call;
  };
  const faultsOf = (on: ConnectionId) => world.faults[CONNECTIONS[on].server];
  const kill = async (one: AccountCall, isReached: () => boolean) => {
    const pending = world.send(one);
    while (!isReached()) await new Promise((resolve) => setTimeout(resolve, 1));
    await pending.kill();
  };
  const given = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };

  for (const on of Object.keys(CONNECTIONS) as ConnectionId[]) await world.ask(await call(`done on ${on}`, on));
  await world.ask(await call('done, with given passwords', 'gw-live', given));
  await world.ask(await call('done, with a login of the caller', 'tp5-live', { login: 900_001 }));
  for (const on of ['tp5-live', 'gw-live'] as const) {
    const lost = await call(`sent on ${on}, with lost answers`, on);
    faultsOf(on).set({ kind: 'garbage', times: 1_000 });
    await world.ask({ ...lost, ms: 9_000 });
    world.clearFaults();
  }
  const undecided = await call('undecided', 'reg-live');
  faultsOf('reg-live').set({ kind: 'reply_lost', times: 1 });
  await world.ask(undecided);
  world.clearFaults();
  const claimed = await call('claimed, when its function was killed', 'tp5-live');
  const calls = world.database.calls.length;
  await kill(claimed, () => world.database.calls.length - calls >= 2);
  const sent = await call('sent, when its function was killed', 'tp5-live');
  const { commands } = world.servers.tp5;
  await kill(sent, () => world.servers.tp5.commands > commands);
  const open = await call('open, without its event', 'tp5-live');
  world.faults.events.set({ kind: 'refused', times: 1_000 });
  await world.ask(open);
  world.clearFaults();
  return stories;
}

/** What the functions of today store, and answer to every request again. @param folder for their bundles */
export async function makeRelease(folder: string): Promise<Release> {
  const pool = await releaseWorlds(folder);
  const made = await pool.use(async (world) => {
    const unanswered = await openAccounts(world);
    await world.clock.pass(LEASE_OVER_MS);
    const release = { at: world.clock.now(), ...(await dump(world)) };
    const stories: Story[] = [];
    for (const story of unanswered) {
      const asked = { ...story, answer: { status: 0 } } as Story;
      stories.push({ ...asked, answer: await repeatStory(world, asked) });
    }
    return { ...release, stories };
  });
  await pool.close();
  return made;
}

async function writeRelease(version: string): Promise<void> {
  const release = await makeRelease(processFolder('functions').folder);
  await writeFile(new URL(`${version}.json`, FOLDER), `${JSON.stringify(release, null, 1)}\n`);
  for (const { name, answer } of release.stories) process.stdout.write(`${JSON.stringify(answer)}  ${name}\n`);
}

if (import.meta.main) {
  outliveReader();
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  const stack = new URL(`${version}.stack.json`, FOLDER);
  if (existsSync(stack)) {
    process.stderr.write(`Version ${version} is released. The next version in package.json comes first.\n`);
    process.exitCode = 1;
  } else {
    await writeRelease(version);
    await writeFile(stack, `${JSON.stringify(storedResources(synthesizeFresh(EVERYTHING).toJSON()), null, 1)}\n`);
  }
}
