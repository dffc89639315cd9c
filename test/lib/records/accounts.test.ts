import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountRecord, type Accounts, accountsIn } from '../../../lib/records/accounts.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const signal = () => AbortSignal.timeout(10_000);
const RECORD: AccountRecord = {
  user_id: 'CLIENT01',
  version: 'tp4',
  connection_id: 'tp4-live-1',
  login: 700_123,
  group: 'standard',
  leverage: 100,
  enable_readonly: false,
  enable_rebate: false,
  operation_id: 'operation-1',
  opened_at: '2026-01-02T03:04:05.678Z',
};

let database: TestDatabase;
let accounts: Accounts;
beforeAll(async () => {
  database = await testDatabase(afterAll);
  accounts = accountsIn(database.tables.accounts);
});

describe('The record of an account', () => {
  it('is found by the operation that has opened it, in one round trip', async () => {
    await accounts.put(RECORD, signal());
    await accounts.put({ ...RECORD, login: 700_124, operation_id: 'operation-2' }, signal());
    database.calls.length = 0;
    const { user_id, version, connection_id, operation_id, opened_at } = RECORD;
    const opened = { user_id, version, connection_id, operation_id };
    expect(await accounts.find(opened, signal())).toEqual({ login: 700_123, opened_at });
    expect(database.calls).toEqual([{ operation: 'Query', table: 'accounts' }]);
  });

  it.each([
    ['operation', { operation_id: 'operation-3' }],
    ['client', { user_id: 'CLIENT02' }],
    ['version', { version: 'tp5' as const }],
    ['connection', { connection_id: 'tp4-live' }],
  ])('is not found for another %s', async (_, changes) => {
    await accounts.put(RECORD, signal());
    expect(await accounts.find({ ...RECORD, ...changes }, signal())).toBeUndefined();
  });

  it('that is written again is the same record', async () => {
    await accounts.put(RECORD, signal());
    await accounts.put(RECORD, signal());
    const items = await database.tables.accounts.query('CLIENT01', 'tp4#tp4-live-1#700123', signal());
    expect(items).toHaveLength(1);
  });
});
