import { afterAll, beforeAll, beforeEach } from 'vitest';
import { PlatformFailure } from '../../lib/platform/platform.ts';
import { FakeAccounts } from './account-fakes.ts';
import { type TestDatabase, testDatabase } from './database.ts';

export const KEY = { key: 'key-1' };
/** Passwords of the caller's own. */
export const GIVEN = { master_password: 'Ma5ter#word', investor_password: 'Inve5tor#wd' };
export const lost = () => new PlatformFailure('account_outcome_unknown', { reason: 'answer_timeout' });
export const unavailable = () => new PlatformFailure('platform_unavailable', { reason: 'connect_timeout' });

/** Before each test of the file: openings around fakes, in a database that the file has for itself. */
export function beforeEachOpening(take: (world: FakeAccounts, database: TestDatabase) => void): void {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase(afterAll);
  });
  beforeEach(() => take(new FakeAccounts(database), database));
}
