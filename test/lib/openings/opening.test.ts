import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { TABLES } from '../../../infra/local/database.ts';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { deriveIdentity, operationComment } from '../../../lib/openings/derivation.ts';
import type { AccountDirectory, AccountType, Connection } from '../../../lib/records/crm-records.ts';
import { GATEWAY, LIVE, PLUG_IN } from '../../support/crm-example.ts';
import { scanItems, testDatabase } from '../../support/database.ts';
import { OpeningScene } from '../../support/opening-scene.ts';
import { CLIENT_ANN, derivationKeys } from '../../support/openings.ts';
import { directStep, failingSteps } from '../../support/step-faults.ts';
import { connectionTo, platformOn, testServer } from '../../support/web-api.ts';

/** Three batches of reservations. */
const SIZE = 300;
/** Opened before, for a short test. */
const USED = 250;
const OPENERS = 25;

describe('A login range', () => {
  it('of 300 gives 25 openers exactly its 300 accounts, then login_range_exhausted, with a notice before', async () => {
    const database = await testDatabase();
    const scene = new OpeningScene(database);
    scene.connection = { ...LIVE, logins: { from: 1, to: SIZE } };
    await scene.reserve(USED);
    let requests = 0;
    const answers: (number | string)[] = [];
    const openUntil = async (last: number) => {
      const opener = async () => {
        while (requests < last) {
          requests += 1;
          answers.push(await scene.open(`request ${requests}`));
        }
      };
      await Promise.all(Array.from({ length: OPENERS }, opener));
    };

    await openUntil(SIZE * 0.97 - USED);
    expect(scene.events.map(({ name }) => name)).toContain('LoginsScarce');
    await openUntil(SIZE - USED + OPENERS);
    expect(scene.accounts.size).toBe(SIZE);
    expect(new Set(answers.filter((one) => typeof one === 'number')).size).toBe(SIZE - USED);
    expect(answers.filter((one) => typeof one === 'string')).toEqual(Array(OPENERS).fill('login_range_exhausted'));
  });
});

describe('A request whose operation was lost', () => {
  it('gets its account at a login after logins that other operations have released since', async () => {
    const database = await testDatabase();
    const scene = new OpeningScene(database);
    const remove = (TableName: string, pk: string) =>
      database.client.send(new DeleteCommand({ TableName, Key: { pk } }));
    scene.connection = { ...LIVE, logins: { from: 1, to: SIZE } };
    await scene.reserve(SIZE - 1);
    expect(await scene.open('lost')).toBe(SIZE);
    const [operation] = await scanItems(database.client, TABLES.operations);
    await remove(TABLES.operations, String(operation?.pk));
    await Promise.all(Array.from({ length: SIZE - 1 }, (_, index) => remove(TABLES.logins, `tp5#${index + 1}`)));
    for (let login = 1; login < SIZE; login += 1) scene.accounts.delete(login);
    scene.sighting = 'ours';
    expect(await scene.open('lost')).toBe(SIZE);
    expect(scene.accounts.size).toBe(1);
  });

  it('gets its account, although the CRM has lost its account type and its rebate user since', async () => {
    const database = await testDatabase();
    const accountType: AccountType = { id: 'ATDEMO05', platform: 'tp5' };
    let found: object = { client: CLIENT_ANN, connection: LIVE, accountType, rebateUser: CLIENT_ANN };
    const directory = { readAccountRecords: async () => found } as unknown as AccountDirectory;
    const scene = new OpeningScene(database, { directory });
    const asked = { account_type_id: accountType.id, rebate_user_id: CLIENT_ANN.id };
    const login = await scene.open('lost', asked);
    for (const { pk } of await scanItems(database.client, TABLES.operations))
      await database.client.send(new DeleteCommand({ TableName: TABLES.operations, Key: { pk } }));
    found = { client: CLIENT_ANN, connection: LIVE };
    expect(await scene.open('another one', asked)).toBe('account_type_not_found');
    scene.sighting = 'unmarked';
    expect(await scene.open('lost', asked)).toBe(login);
  });

  it('gets the account of its record, although the reservations were lost too and the secret was rotated', async () => {
    const database = await testDatabase();
    const first = new OpeningScene(database);
    const login = await first.open('lost');
    for (const TableName of [TABLES.operations, TABLES.logins]) {
      const items = await scanItems(database.client, TableName);
      for (const { pk } of items) await database.client.send(new DeleteCommand({ TableName, Key: { pk } }));
    }
    const scene = new OpeningScene(database, { keys: async () => derivationKeys('2', '1') });
    scene.accounts.add(Number(login));
    scene.sighting = 'unmarked';
    expect(await scene.open('lost')).toBe(login);
    expect(scene.accounts.size).toBe(1);
  });
});

describe('A request whose key was forgotten, and whose login another operation has reserved since the reservations were lost', () => {
  /** An account of each request, whose login is another's now. */
  async function forgotten(connection: Connection, login?: number) {
    const database = await testDatabase();
    const scene = Object.assign(new OpeningScene(database), { connection });
    const opened = await scene.open('forgotten', login === undefined ? {} : { login });
    for (const { pk } of await scanItems(database.client, TABLES.operations))
      await database.client.send(new DeleteCommand({ TableName: TABLES.operations, Key: { pk } }));
    for (const item of await scanItems(database.client, TABLES.logins))
      await database.client.send(
        new PutCommand({ TableName: TABLES.logins, Item: { ...item, operation_id: 'rival' } }),
      );
    const holders = async () =>
      (await scanItems(database.client, TABLES.logins)).map(({ operation_id }) => operation_id);
    return { database, scene, opened, holders };
  }

  const ROWS = [LIVE, { ...GATEWAY, demo: false }, PLUG_IN].flatMap((connection) =>
    (['ours', 'unmarked', 'silent'] as const).map((sighting) => [connection.protocol, sighting, connection] as const),
  );
  it.each(ROWS)('gets its account, on %s that is %s; the other one keeps its reservation', async (...row) => {
    const [, sighting, connection] = row;
    const { scene, opened, holders } = await forgotten(connection);
    scene.sighting = sighting;
    expect(await scene.open('forgotten')).toBe(opened);
    expect(scene.accounts.size).toBe(1);
    expect(await holders()).toEqual(['rival']);
  });

  it('gets its account at its own login', async () => {
    const { scene, opened, holders } = await forgotten(LIVE, 500_007);
    scene.sighting = 'unmarked';
    expect(await scene.open('forgotten', { login: 500_007 })).toBe(opened);
    expect(await holders()).toEqual(['rival']);
  });

  it('gets its account after the secret was rotated', async () => {
    const { database, opened, holders } = await forgotten(LIVE);
    const scene = new OpeningScene(database, { keys: async () => derivationKeys('2', '1') });
    Object.assign(scene, { sighting: 'unmarked' });
    expect(await scene.open('forgotten')).toBe(opened);
    expect(scene.accounts.size).toBe(0);
    expect(await holders()).toEqual(['rival']);
  });

  it('is refused while the reservations cannot be read: under another key of the secret it would get wrong passwords', async () => {
    const { database, opened } = await forgotten({ ...GATEWAY, demo: false });
    const [record] = await scanItems(database.client, TABLES.accounts);
    const scene = new OpeningScene(database, { keys: async () => derivationKeys('2', '1') });
    Object.assign(scene, { connection: { ...GATEWAY, demo: false }, sighting: 'unmarked' });
    const throttled = new AwsFailure('ThrottlingException');
    scene.step = failingSteps({ 'logins.getMany': throttled, 'logins.findKeys': throttled });
    await expect(scene.open('forgotten')).rejects.toThrow(AwsFailure);
    scene.step = directStep;
    expect(await scene.open('forgotten')).toBe(opened);
    const [operation] = await scanItems(database.client, TABLES.operations);
    expect(operation?.operation_id).toBe(record?.operation_id);
  });

  it('is left to the operators if its account was deleted', async () => {
    const { scene } = await forgotten(LIVE);
    for (let retry = 0; retry < 2; retry += 1) expect(await scene.open('forgotten')).toBe('account_outcome_unknown');
    expect(scene.accounts.size).toBe(1);
  });
});

/** A command to the slow server takes this long, in milliseconds. */
const SLOW_MS = 700;

describe('A slow server', () => {
  it('with accounts of other operations at the first logins is asked for further logins by each retry, until a login is free', async () => {
    const server = await testServer();
    // Only the delays move the clock.
    let at = Date.now();
    server.faults.pause = async (ms) => {
      at += ms;
    };
    server.faults.set({ kind: 'slow', ms: SLOW_MS, times: 1_000 });
    const asked: number[] = [];
    server.faults.onCall = async ({ name, parameters }) => {
      if (name === '/api/user/add') asked.push(Number(parameters?.Login));
    };
    const platform = platformOn(server);
    const scene = new OpeningScene(await testDatabase(), { platform: async () => platform, now: () => at });
    const [from, to] = [1, 40];
    scene.connection = connectionTo(server, { groups: ['real\\standard'], logins: { from, to } });
    // Their reservations are lost: only the server shows whose they are.
    const keys = derivationKeys('1');
    for (let login = from; login < to; login += 1) {
      const comment = operationComment(keys, deriveIdentity(keys[0], `key#${login}`, '1.a'));
      const named = { login, group: 'real\\standard', leverage: 100, name: 'Kim', email: '', comment };
      server.add({ ...named, readonly: false, balance: 0, master: 'a', investor: 'b', details: {} });
    }

    const answers: (number | string)[] = [];
    while (answers.length < to && typeof answers.at(-1) !== 'number') answers.push(await scene.open('request 3'));
    expect(answers.at(-1)).toBe(to);
    const refused = answers.slice(0, -1);
    expect(refused.length).toBeGreaterThan(2);
    // The time ends after a login that is another's, or before that is known.
    for (const one of refused) expect(['platform_unavailable', 'account_outcome_unknown']).toContain(one);
    // No login was asked for twice.
    expect(asked).toHaveLength(new Set(asked).size);
    expect(asked.at(-1)).toBe(to);
  });
});
