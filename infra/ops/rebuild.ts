import { rebuildLedger, unrecordedLogins } from '../../lib/openings/rebuild.ts';
import { PlatformFailure } from '../../lib/platform/platform.ts';
import { type Connection, loginRanges } from '../../lib/records/crm-records.ts';
import { readAccountRecord } from './account-records.ts';
import { askServer } from './ask-server.ts';
import { CommandError, countOf } from './command.ts';
import { readConnections } from './table-records.ts';
import { openTable, type Target } from './target.ts';
import type { Terminal } from './terminal.ts';

/**
 * Rebuilds operations and reservations from the records of accounts, and lists the accounts in our ranges that no record
 * names. The functions that open accounts must be stopped.
 * @throws CommandError if something is left to the operator
 */
export async function rebuild(
  target: Target,
  { dryRun = false }: { dryRun?: boolean },
  terminal: Terminal,
): Promise<void> {
  const connections = await readConnections(target, terminal.report);
  const tables = {
    accounts: await openTable(target, 'Accounts'),
    operations: await openTable(target, 'Operations'),
    logins: await openTable(target, 'Logins'),
  };
  const report = await rebuildLedger(tables, connections, readAccountRecord, { now: Date.now(), dryRun });
  const { reservations, operations, due, conflicts, unplaced, recorded } = report;
  const done = dryRun ? 'would be written' : 'written';
  terminal.print(
    `${countOf(reservations, 'reservation')} and ${countOf(operations, 'operation')} ${done}; ${due} due again.`,
  );
  const problems = [
    ...unplaced,
    ...conflicts.map(({ login, holder, wants }) => `${login}: the operation ${wants} wants what ${holder} holds`),
  ];
  for (const connection of connections.filter((one) => loginRanges(one).length > 0))
    problems.push(...(await describeUnrecorded(target, connection, recorded)));
  if (problems.length > 0)
    throw new CommandError([
      'To work through before the functions run again:',
      ...problems.map((problem) => `  ${problem}`),
    ]);
}

/** The accounts of a server in our ranges that no record names. */
async function describeUnrecorded(
  target: Target,
  connection: Connection,
  recorded: Parameters<typeof unrecordedLogins>[2],
): Promise<string[]> {
  const { id } = connection;
  try {
    const logins = await askServer(target, connection, (server, signal) => server.logins(signal));
    if (logins === undefined) return [`${id}: the server cannot list its accounts: compare its range with the records`];
    return unrecordedLogins(connection, logins, recorded).map((login) => `${id}: no record names the account ${login}`);
  } catch (error) {
    if (!(error instanceof PlatformFailure)) throw error;
    return [`${id}: the server cannot be asked for its accounts: ${error.message}`];
  }
}
