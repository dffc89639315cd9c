import { CommandError } from '../../infra/ops/command.ts';
import { crmTable, operatorsDatabase } from '../../infra/ops/crm-table.ts';
import { settleOperation } from '../../infra/ops/settle.ts';
import type { Target } from '../../infra/ops/target.ts';
import type { Terminal } from '../../infra/ops/terminal.ts';
import { settlementConfig } from '../../lib/config.ts';
import type { OperatorFinding } from './account-world.ts';

const { crmTable: records, operationsTable, accountsTable, loginsTable } = settlementConfig();
const names: Record<string, string> = {
  OperationsTable: operationsTable,
  AccountsTable: accountsTable,
  LoginsTable: loginsTable,
};
const database = operatorsDatabase();
const target: Target = {
  name: 'the tables of a test',
  place: ['--local'],
  database,
  table: crmTable(records, database),
  clientOf: () => ({}),
  resource: async (logicalId) => names[logicalId] ?? '',
};
const terminal: Terminal = {
  print: () => {},
  report: () => {},
  input: (async function* () {})(),
  cdkJson: '',
  wait: async () => {},
};

/**
 * Runs the operators' command in a process of its own: `settle ID --login N`, `--foreign N` or `--none`. @returns the
 * reason of a refusal
 */
export async function handler({ operationId, login, foreign }: OperatorFinding): Promise<string | undefined> {
  try {
    const none = login === undefined && foreign === undefined;
    const found = login === undefined ? { foreign: String(foreign) } : { login: String(login) };
    await settleOperation(target, operationId, none ? { none } : found, terminal);
    return undefined;
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    throw error;
  }
}
