import { dynamoTable, transactionWriter } from '../../lib/aws/dynamodb.ts';
import { dynamoLedger, type Ledger } from '../../lib/openings/ledger.ts';
import type { Target } from './target.ts';

/** The ledger of a deployment or of the local service. @throws CommandError if only a table of CRM records is named */
export async function openLedger({ database, resource }: Target): Promise<Ledger> {
  const names = {
    operations: await resource('OperationsTable'),
    logins: await resource('LoginsTable'),
    accounts: await resource('AccountsTable'),
  };
  const [operations, logins] = [dynamoTable(database, names.operations), dynamoTable(database, names.logins)];
  return dynamoLedger({ operations, logins, names, transact: transactionWriter(database) });
}
