import { DAY_MS } from '../../lib/openings/drive.ts';
import type { HeldOperation } from '../../lib/openings/ledger.ts';
import { RETRY_ONLY } from '../../lib/records/due.ts';
import { readAccounts } from './account-records.ts';
import { CommandError } from './command.ts';
import { itemKey } from './crm-items.ts';
import {
  isReadable,
  type ListedOperation,
  openOperations,
  operationFacts,
  type ReadableOperation,
  UNREADABLE_ITEM,
  unreadableItem,
} from './open-operations.ts';
import { formatTable } from './table-format.ts';
import { parseCrmItems } from './table-records.ts';
import type { Target } from './target.ts';
import { jsonLines, type Terminal } from './terminal.ts';
import { UnreadableItems } from './unreadable.ts';

/** Lists the operations that have not ended. */
export async function listOperations(target: Target, { json }: { json?: boolean }, terminal: Terminal): Promise<void> {
  const unreadable = new UnreadableItems(terminal);
  const open: ListedOperation[] = [];
  for await (const page of openOperations(target)) open.push(...page);
  for (const one of open.filter((each) => !isReadable(each))) unreadable.name(unreadableItem(one));
  terminal.print(json === true ? jsonLines(open.map(operationFacts)) : formatTable(HEADINGS, open.map(operationRow)));
  unreadable.finish('the others are listed');
}

const HEADINGS = ['ID', 'USER', 'CONNECTION', 'GROUP', 'LOGIN', 'WHAT IS MISSING'];

function operationRow(one: ListedOperation): string[] {
  if (!isReadable(one)) return [one.id || one.pk, '', '', '', '', UNREADABLE_ITEM];
  const { held } = one;
  const { user_id = '', connection_id = '', group = '' } = held.plan ?? {};
  return [held.operationId, user_id, connection_id, group, String(operationLogin(held) ?? ''), missing(one)];
}

function operationLogin({ life }: HeldOperation): number | undefined {
  return 'login' in life ? life.login : undefined;
}

function missing({ held: { life, since = 0 }, dueAt }: ReadableOperation): string {
  if (life.at === 'undecided') return 'whether it was opened: an operator decides';
  if (life.at === 'sent' && dueAt === RETRY_ONLY) return 'a retry of its key: its login is free';
  if (life.at === 'sent')
    return `whether it was opened${Date.now() - since > DAY_MS ? '; its server has not answered for a day' : ''}`;
  if (life.at === 'done') return 'the deposit: an operator pays';
  if (life.at !== 'open') return '';
  const { recorded, deposit, published } = life;
  return [
    !recorded && 'its record',
    deposit !== 'none' && deposit !== 'made' && 'its deposit',
    !published && 'its event',
  ]
    .filter((one) => one !== false)
    .join(', ');
}

/** Shows the data about a client: the record, the accounts opened here, and the operations that have not ended. */
export async function showClient(target: Target, id: string, terminal: Terminal): Promise<void> {
  const { print } = terminal;
  const unreadable = new UnreadableItems(terminal);
  const item = await target.table.read(itemKey('clients', id));
  if (item !== undefined) parseCrmItems(target, [item], unreadable.name);
  const { records, unreadable: damaged } = await readAccounts(target, id);
  const open: ListedOperation[] = [];
  for await (const page of openOperations(target)) {
    open.push(...page.filter((one) => one.held?.plan?.user_id === id));
    // The client of an unreadable operation is unknown: it may be this one.
    for (const one of page.filter((each) => !isReadable(each))) unreadable.name(unreadableItem(one));
  }
  if (item === undefined && records.length + damaged.length + open.length === 0)
    throw new CommandError(`There is no client ${id} in ${target.name}, and no account was opened for this id.`);
  print(item === undefined ? 'Record: none' : ['Record:', ...jsonLines(item.record)]);
  print(['', `Accounts opened here: ${records.length + damaged.length}`]);
  const accounts = records.map(({ opened_at, version, connection_id, login, group, leverage, operation_id }) => [
    ...[opened_at, version, connection_id, String(login), group, String(leverage), operation_id],
  ]);
  if (accounts.length > 0) print(formatTable(ACCOUNT_HEADINGS, accounts));
  for (const key of damaged) unreadable.name(`Its account ${key} cannot be read.`);
  print(['', `Open operations: ${open.length}`]);
  if (open.length > 0) print(formatTable(HEADINGS, open.map(operationRow)));
  unreadable.finish('the rest is shown');
}

const ACCOUNT_HEADINGS = ['OPENED', 'VERSION', 'CONNECTION', 'LOGIN', 'GROUP', 'LEVERAGE', 'OPERATION'];
