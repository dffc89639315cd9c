import { databaseClient, dynamoTable } from '../../lib/aws/dynamodb.ts';
import { openedAccounts } from '../../lib/records/accounts.ts';
import { CommandError, type Terminal } from './command.ts';
import { itemKey } from './kinds.ts';
import { table } from './listing.ts';
import { openLedger, openOperations, operationRows } from './operations.ts';
import type { Target } from './target.ts';

const CALL_MS = 10_000;

/** Shows the data about a client: the record, the accounts opened here, and the operations that have not ended. */
export async function showClient(target: Target, id: string, { print }: Terminal): Promise<void> {
  const store = await openLedger(target);
  const item = await target.table.read(itemKey('clients', id));
  const accounts = await listAccounts(target, id);
  const open = (await openOperations(store)).filter(({ held }) => held.plan?.user_id === id);
  if (item === undefined && accounts.length === 0 && open.length === 0)
    throw new CommandError(`There is no client ${id} in ${target.name}, and no account was opened for this id.`);
  print(`Record: ${item === undefined ? 'none' : JSON.stringify(item.record, null, 2)}\n`);
  print(`\nAccounts opened here: ${accounts.length}\n`);
  if (accounts.length > 0) print(table([ACCOUNT_HEADINGS, ...accounts]));
  print(`\nOpen operations: ${open.length}\n`);
  if (open.length > 0) print(table(operationRows(open)));
}

const ACCOUNT_HEADINGS = ['OPENED', 'VERSION', 'CONNECTION', 'LOGIN', 'GROUP', 'LEVERAGE', 'OPERATION'];

async function listAccounts({ clientOf, resource }: Target, id: string): Promise<string[][]> {
  const client = databaseClient(clientOf('DYNAMODB'));
  try {
    const found = await openedAccounts(
      dynamoTable(client, await resource('AccountsTable')),
      id,
      AbortSignal.timeout(CALL_MS),
    );
    return found.map(({ opened_at, version, connection_id, login, group, leverage, operation_id }) => [
      ...[opened_at, version, connection_id, String(login), group, String(leverage), operation_id],
    ]);
  } finally {
    client.destroy();
  }
}
