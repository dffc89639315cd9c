import { dynamoTable } from '../../lib/aws/dynamodb.ts';
import { dynamoLedger, type Ledger } from '../../lib/openings/ledger.ts';
import type { Target } from './target.ts';

/** The ledger of a deployment or of the local service. @throws CommandError if only a table of CRM records is named */
export async function openLedger({ database, resource }: Target): Promise<Ledger> {
  return dynamoLedger({
    operations: dynamoTable(database, await resource('OperationsTable')),
    logins: dynamoTable(database, await resource('LoginsTable')),
    accounts: dynamoTable(database, await resource('AccountsTable')),
  });
}
