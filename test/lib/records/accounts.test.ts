import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountRecord, type Accounts, dynamoAccounts } from '../../../lib/records/accounts.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';

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
  caller: 'iam:caller',
  opened_at: '2026-01-02T03:04:05.678Z',
};

let database: TestDatabase;
let accounts: Accounts;
beforeAll(async () => {
  database = await testDatabase(afterAll);
  accounts = dynamoAccounts(database.tables.accounts);
});

describe('The record of an account', () => {
  it('stays one record if it is written again', async () => {
    await accounts.put(RECORD, NEVER_ABORTED);
    await accounts.put(RECORD, NEVER_ABORTED);
    const items = await database.tables.accounts.query('CLIENT01', 'tp4#tp4-live-1#700123', NEVER_ABORTED);
    expect(items).toEqual([{ pk: 'CLIENT01', sk: 'tp4#tp4-live-1#700123', ...RECORD }]);
  });
});
