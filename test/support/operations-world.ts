import { afterAll, beforeAll } from 'vitest';
import { dynamoOperations, type Operation, type Operations } from '../../lib/records/operations.ts';
import { type TestDatabase, testDatabase } from './database.ts';

export const signal = () => AbortSignal.timeout(10_000);

interface OperationsWorld {
  database: TestDatabase;
  clock: { now: number };
  operations: Operations;
}

/** Operations in a database of the test file, each time under a clock of their own. */
export function operationsWorlds(): () => OperationsWorld {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase(afterAll);
  });
  return () => {
    const clock = { now: 1_800_000_000_000 };
    return { database, clock, operations: dynamoOperations(database.tables.operations, () => clock.now) };
  };
}

let scopes = 0;
export function newScope(): string[] {
  scopes += 1;
  return ['tp5', 'caller', 'CLIENT01', `key-${scopes}`];
}

/** Claims a key that nobody else has. */
export async function fresh(operations: Operations, scope: string[] | undefined): Promise<Operation> {
  const claim = await operations.claim(scope, ['f'], 1_000, signal());
  if (claim.kind !== 'fresh') throw new Error(`not fresh but ${claim.kind}`);
  return claim.operation;
}
