import { describe, expect, it } from 'vitest';
import { readAccountRecord } from '../../../infra/ops/account-records.ts';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import { rebuildLedger, unrecordedLogins } from '../../../lib/openings/rebuild.ts';
import { GATEWAY, LIVE, PLUG_IN } from '../../support/crm-example.ts';
import { scanItems } from '../../support/database.ts';
import { ANSWERS, OpeningScene } from '../../support/opening-scene.ts';

const NEVER = AbortSignal.timeout(600_000);
const DAY_MS = 24 * 3_600_000;

/** A table of a scene, as the operators' command opens it. */
function tableOf({ database }: OpeningScene, name: 'accounts' | 'operations' | 'logins') {
  const table = database.tables[name];
  const keyOf = ({ pk, sk }: Item): Record<string, string> =>
    name === 'accounts' ? { pk: String(pk), sk: String(sk) } : { pk: String(pk) };
  return {
    async *pages() {
      yield await scanItems(database.client, name);
    },
    get: (keys: Item[]) => table.getMany(keys.map(keyOf), NEVER),
    async add(item: Item) {
      await table.put(item, NEVER);
      return true;
    },
    async put(item: Item) {
      await table.put(item, NEVER);
    },
  };
}

async function lose(scene: OpeningScene, name: 'operations' | 'logins'): Promise<void> {
  for (const { pk } of await scanItems(scene.database.client, name))
    await scene.database.tables[name].delete({ pk: String(pk) }, NEVER);
}

function rebuild(scene: OpeningScene, dryRun = false) {
  const names = ['accounts', 'operations', 'logins'] as const;
  const [accounts, operations, logins] = names.map((name) => tableOf(scene, name));
  if (accounts === undefined || operations === undefined || logins === undefined)
    throw new Error('A table is missing.');
  const tables = { accounts, operations, logins };
  return rebuildLedger(tables, [scene.connection], readAccountRecord, { now: scene.now, dryRun });
}

describe.each([LIVE, { ...GATEWAY, demo: false }, PLUG_IN])(
  'After a loss of both tables, on $protocol',
  (connection) => {
    it('every key is answered with its account, the events of two days are due again, and nothing is opened', async () => {
      const scene = await OpeningScene.create(connection);
      const old = await scene.open('old');
      await scene.hours(72);
      const recent = await scene.open('recent');
      const { commands } = scene.server;
      const before = await scene.reservations();
      await lose(scene, 'operations');
      await lose(scene, 'logins');
      expect(await rebuild(scene, true)).toMatchObject({ reservations: 2, operations: 2, due: 1 });
      expect(await scene.reservations()).toEqual({});
      const report = await rebuild(scene);
      expect(report).toMatchObject({ reservations: 2, operations: 2, due: 1, conflicts: [], unplaced: [] });
      expect(await scene.reservations()).toEqual(before);
      scene.published.length = 0;
      await scene.settle(0);
      expect(scene.published).toEqual([expect.objectContaining({ login: recent })]);
      expect([await scene.open('old'), await scene.open('recent')]).toEqual([old, recent]);
      expect([scene.server.commands, scene.server.accounts.size]).toEqual([commands, 2]);
      expect(await rebuild(scene)).toMatchObject({ reservations: 0, operations: 0 });
    });
  },
);

describe('A rebuilt ledger', () => {
  it('knows words, corrections and closed logins', async () => {
    const scene = await OpeningScene.create({ ...LIVE, strict: true });
    scene.server.shows = 'existence';
    scene.server.answers.push(ANSWERS.lost, ANSWERS.lost);
    await scene.open('key');
    await scene.say({ say: 'none' });
    await scene.open('key');
    const life = await scene.life();
    const login = life?.at === 'undecided' ? (life.login ?? 0) : 0;
    await scene.say({ say: 'login', login });
    const [before] = await scene.operations();
    await lose(scene, 'operations');
    await lose(scene, 'logins');
    await rebuild(scene);
    const [after] = await scene.operations();
    expect(after).toMatchObject({ life: { at: 'open', login, word: true }, closed: before?.closed, event: 1 });
    expect(Object.keys(await scene.reservations())).toHaveLength(2);
    expect(await scene.say({ say: 'undecided' })).toMatchObject({ is: 'settled' });
  });

  it('keeps an operation that is left, and reserves what it holds', async () => {
    const scene = await OpeningScene.create();
    scene.server.answers.push(ANSWERS.lost);
    scene.server.isDown = true;
    await scene.open('key');
    await lose(scene, 'logins');
    expect(await rebuild(scene)).toMatchObject({ reservations: 1, operations: 0 });
    scene.server.isDown = false;
    expect(typeof (await scene.open('key'))).toBe('number');
    expect(scene.server.accounts.size).toBe(1);
  });

  it('gives an operation that was set back its account, and leaves every deposit to an operator', async () => {
    const scene = await OpeningScene.create({ ...LIVE, demo: true });
    scene.accountType = { id: 'ATDEMO01', platform: 'tp5', deposit: 100 };
    await scene.open('key');
    const [item] = await scanItems(scene.database.client, 'operations');
    const { operations } = scene.database.tables;
    await operations.put({ ...item, life: { at: 'claimed' }, lease_until: 0 }, NEVER);
    expect(await rebuild(scene)).toMatchObject({ operations: 1, due: 1 });
    expect(await scene.life()).toMatchObject({ at: 'open', deposit: 'unpaid' });
    await operations.put({ ...item, life: { ...(item?.life as object), deposit: 'sent' } }, NEVER);
    await rebuild(scene);
    expect(await scene.life()).toMatchObject({ deposit: 'unpaid' });
  });

  it('names what two operations claim, and what cannot be placed', async () => {
    const scene = await OpeningScene.create();
    const login = await scene.open('key');
    const { logins, accounts } = scene.database.tables;
    await logins.put({ pk: `tp5#${login}`, operation_id: 'another' }, NEVER);
    await accounts.put({ pk: 'CLIENT09', sk: 'tp4#gone#7', operation_id: 'x' }, NEVER);
    const { conflicts, unplaced } = await rebuild(scene);
    expect(conflicts).toEqual([{ login: `tp5#${login}`, holder: 'another', wants: expect.any(String) }]);
    expect(unplaced).toEqual([expect.stringContaining('CLIENT09')]);
  });

  it('reserves what records of 1.x name, which say nothing of their operations', async () => {
    const scene = await OpeningScene.create();
    const login = await scene.open('key');
    const [record] = await scene.records();
    const { origin: _, ...older } = record ?? {};
    await scene.database.tables.accounts.put(older, NEVER);
    await lose(scene, 'operations');
    await lose(scene, 'logins');
    expect(await rebuild(scene)).toMatchObject({ reservations: 1, operations: 0 });
    // The key names the same login again, and the comment shows whose the account is.
    expect(await scene.open('key')).toBe(login);
    await scene.settle(DAY_MS);
    expect(scene.server.accounts.size).toBe(1);
  });
});

it('The logins of a server that no record names are those of our ranges alone', () => {
  const recorded = new Map([['tp5-live-1', new Set([500_001])]]);
  expect(unrecordedLogins(LIVE, [499_999, 500_001, 500_002, 599_999, 600_000], recorded)).toEqual([500_002, 599_999]);
});
