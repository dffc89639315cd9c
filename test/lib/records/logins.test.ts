import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../../lib/records/crm-records.ts';
import { isReserved, type Logins, loginsIn } from '../../../lib/records/logins.ts';
import type { Operation } from '../../../lib/records/operations.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const signal = () => AbortSignal.timeout(10_000);
const operation = (operationId: string): Operation => ({
  pk: 'key#1',
  operationId,
  nonce: 'n',
  lease: 'l',
  revision: 0,
});
const [OURS, OTHER] = [operation('ours'), operation('other')];
const GATEWAY: Connection = {
  id: 'tp4-gw-1',
  platform: 'tp4',
  protocol: 'interface-gateway',
  host: 'mt4gw.example.com',
  port: 443,
  demo: false,
  logins: { from: 500_000, to: 599_999 },
  secret: 'platform/tp4-gw-1',
  code_page: 'windows-1252',
};

let database: TestDatabase;
let logins: Logins;
beforeAll(async () => {
  database = await testDatabase(afterAll);
  logins = loginsIn(database.tables.operations);
});

describe('A login that is reserved', () => {
  it('belongs to one operation, which may reserve it again', async () => {
    expect(await logins.reserve(GATEWAY, 500_001, OURS, signal())).toBe(true);
    expect(await logins.reserve(GATEWAY, 500_001, OTHER, signal())).toBe(false);
    expect(await logins.reserve(GATEWAY, 500_001, OURS, signal())).toBe(true);
  });

  it('goes to exactly one of many operations that want it at once', async () => {
    const wanted = Array.from({ length: 10 }, (_, index) =>
      logins.reserve(GATEWAY, 500_002, operation(`operation-${index}`), signal()),
    );
    expect((await Promise.all(wanted)).filter((isOurs) => isOurs)).toHaveLength(1);
  });

  it('is the same one wherever its server stands: a server that moves takes its accounts with it', async () => {
    await logins.reserve(GATEWAY, 500_003, OURS, signal());
    for (const moved of [{ port: 444 }, { host: 'other.example.com' }, { id: 'again', host: 'MT4GW.example.com' }]) {
      expect(await logins.reserve({ ...GATEWAY, ...moved }, 500_003, OTHER, signal())).toBe(false);
    }
  });

  it('is another one on the other version', async () => {
    const { protocol: _, code_page: __, platform: ___, ...rest } = GATEWAY;
    const server: Connection = { ...rest, platform: 'tp5', protocol: 'web-api' };
    await logins.reserve(GATEWAY, 500_006, OURS, signal());
    expect(await logins.reserve(server, 500_006, OTHER, signal())).toBe(true);
  });

  it('stays so for ever', async () => {
    await logins.reserve(GATEWAY, 500_004, OURS, signal());
    const item = await database.tables.operations.get({ pk: 'login#tp4#500004' }, signal());
    expect(item).toEqual({ pk: 'login#tp4#500004', operation_id: 'ours' });
  });

  it('is given back by its operation alone', async () => {
    await logins.reserve(GATEWAY, 500_005, OURS, signal());
    await logins.giveBack(GATEWAY, 500_005, OTHER, signal());
    expect(await logins.reserve(GATEWAY, 500_005, OTHER, signal())).toBe(false);
    await logins.giveBack(GATEWAY, 500_005, OURS, signal());
    expect(await logins.reserve(GATEWAY, 500_005, OTHER, signal())).toBe(true);
  });
});

describe('A login is reserved', () => {
  const { logins: _, ...withoutRange } = GATEWAY;

  it.each([
    ['in the range', GATEWAY, 500_000, true],
    ['at the end of the range', GATEWAY, 599_999, true],
    ['before the range', GATEWAY, 499_999, false],
    ['after the range', GATEWAY, 600_000, false],
    ['of a connection without a range', withoutRange, 500_000, false],
  ])('%s: %#', (_, connection, login, needed) => {
    expect(isReserved(connection as Connection, login)).toBe(needed);
  });
});
