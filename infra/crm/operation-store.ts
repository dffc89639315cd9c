import { databaseClient, table } from '../../lib/aws/dynamodb.ts';
import { type AccountOperations, accountOperationsIn } from '../../lib/records/account-operations.ts';
import { type Accounts, accountsIn } from '../../lib/records/accounts.ts';
import { type DueOperations, dueOperationsIn, type OpenOperation } from '../../lib/records/due-operations.ts';
import { CommandError } from './command.ts';
import type { Target } from './target.ts';

/** The openings of accounts that are not at their end, where the operators' command was pointed to. */
export interface OperationStore {
  due: DueOperations;
  operations: AccountOperations;
  accounts: Accounts;
}

/** While an operator's command works on an operation nobody else does. */
const LEASE_MS = 60_000;
const CALL_MS = 10_000;
/** For one call to the database. */
export const callSignal = () => AbortSignal.timeout(CALL_MS);

/** @throws CommandError where nothing but a table of CRM records is named */
export async function operationStore({ database, tables }: Target): Promise<OperationStore> {
  if (tables === undefined) throw new CommandError('Operations are found by --stack NAME or --local.');
  const names = await tables();
  const client = databaseClient(database);
  const stored = table(client, names.operations);
  return {
    due: dueOperationsIn(stored),
    operations: accountOperationsIn(stored),
    accounts: accountsIn(table(client, names.accounts)),
  };
}

/** What is not at its end, the oldest first; not what is absent, which is looked for again for a day and needs nobody's care. */
export async function listed({ due }: OperationStore): Promise<OpenOperation[]> {
  const open = await due.open(callSignal());
  return open.filter(({ account, isAbsent }) => account !== undefined || !isAbsent);
}

/** @throws CommandError where somebody works on it */
export async function takeUp({ due }: OperationStore, { operation }: OpenOperation): Promise<OpenOperation> {
  const taken = await due.takeUp(operation.pk, 'operator', LEASE_MS, callSignal());
  if (taken === undefined) throw new CommandError('Somebody works on it just now; try again in a minute.');
  return taken;
}
