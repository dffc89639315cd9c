import { dueQuery, type Item } from '../../lib/aws/dynamodb.ts';
import { DUE_INDEX } from '../../lib/config/deployment.ts';
import { DAY_MS } from '../../lib/openings/life.ts';
import { type HeldOperation, parseHeld } from '../../lib/openings/stored-operation.ts';
import { DUE_SHARDS, OPERATOR_ONLY, RETRY_ONLY } from '../../lib/records/due.ts';
import { readAccounts } from './account-records.ts';
import { CommandError } from './command.ts';
import { itemKey } from './crm-items.ts';
import { formatTable } from './table-format.ts';
import { parseCrmItems } from './table-records.ts';
import { openTable, type Target } from './target.ts';
import { jsonLines, type Terminal } from './terminal.ts';
import { UNREADABLE_ITEM_PAGE, UnreadableItems } from './unreadable.ts';

/** The item of an operation, as operators see it. */
interface StoredOperation {
  pk: string;
  /** Undefined if the item cannot be read. */
  held: HeldOperation | undefined;
  /** Epoch milliseconds, `OPERATOR_ONLY` or `RETRY_ONLY`. Undefined: the operation has ended. */
  dueAt: number | undefined;
}

function readOperation(item: Item): StoredOperation {
  const dueAt = item[DUE_INDEX.at];
  const listed = { pk: String(item.pk), dueAt: typeof dueAt === 'number' ? dueAt : undefined };
  try {
    return { ...listed, held: parseHeld(item) };
  } catch {
    return { ...listed, held: undefined };
  }
}

const unreadableOperation = ({ pk }: StoredOperation) =>
  `An operation cannot be read: the item ${pk} of the table of operations.`;

/** All operations that have not ended: the oldest first, then those of retries, then those of operators. */
async function openOperations(target: Target): Promise<StoredOperation[]> {
  const table = await openTable(target, 'Operations');
  const keys: Item[] = [];
  for (const shard of DUE_SHARDS)
    for await (const page of table.query(dueQuery(DUE_INDEX, shard, OPERATOR_ONLY))) keys.push(...page);
  const listed = (await table.get(keys)).map(readOperation);
  // An operation that is no longer due has ended since the index was read.
  return listed.filter(({ dueAt }) => dueAt !== undefined).toSorted((a, b) => Number(a.dueAt) - Number(b.dueAt));
}

/**
 * Finds an operation by its id, which no key names: among those that have not ended, else in the whole table.
 * @throws CommandError if there is none, or it cannot be read
 */
export async function findOperation(target: Target, id: string): Promise<HeldOperation> {
  const open = (await openOperations(target)).find(({ held }) => held?.operationId === id);
  if (open?.held !== undefined) return open.held;
  const pages = (await openTable(target, 'Operations')).pages({
    FilterExpression: 'operation_id = :id AND attribute_exists(life)',
    ExpressionAttributeValues: { ':id': id },
  });
  for await (const [item] of pages) {
    if (item === undefined) continue;
    const found = readOperation(item);
    if (found.held === undefined) throw new CommandError([unreadableOperation(found), UNREADABLE_ITEM_PAGE]);
    return found.held;
  }
  throw new CommandError(`There is no operation ${id}.`);
}

/** Lists the operations that have not ended. */
export async function listOperations(target: Target, terminal: Terminal): Promise<void> {
  const unreadable = new UnreadableItems(terminal);
  const open = await openOperations(target);
  const rows = open.flatMap((one) => operationRow(one, unreadable));
  terminal.print(open.length === 0 ? 'Every operation has ended.' : formatTable(HEADINGS, rows));
  unreadable.finish('the others are listed');
}

const HEADINGS = ['ID', 'CLIENT', 'CONNECTION', 'GROUP', 'LOGIN', 'SINCE', 'WHAT IS MISSING'];

function operationRow(one: StoredOperation, unreadable: UnreadableItems): string[][] {
  const { held, dueAt } = one;
  if (held === undefined) {
    unreadable.name(unreadableOperation(one));
    return [];
  }
  const { operationId, plan, life, since } = held;
  const { user_id = '', connection_id = '', group = '' } = plan ?? {};
  const login = 'login' in life ? String(life.login ?? '') : '';
  const begun = since === undefined ? '' : new Date(since).toISOString();
  return [[operationId, user_id, connection_id, group, login, begun, missingWork(held, dueAt)]];
}

function missingWork({ life, since = 0 }: HeldOperation, dueAt: number | undefined): string {
  if (life.at === 'undecided') return 'whether it was opened: an operator decides';
  if (life.at === 'open') return missingParts(life).join(', ');
  if (life.at !== 'sent') return '';
  if (dueAt === RETRY_ONLY) return 'a retry of its key, with the same login';
  const isOld = Date.now() - since > DAY_MS;
  return isOld ? 'whether it was opened; its server has not said so for a day' : 'whether it was opened';
}

/** What an open account lacks, in words. */
export function missingParts(life: HeldOperation['life']): string[] {
  if (life.at !== 'open') return [];
  const { recorded, published, mail, deposit } = life;
  return [
    recorded ? [] : ['its record'],
    published ? [] : ['its event'],
    mail === 'due' ? ['its mail'] : mail === 'failed' ? ['its mail, which the provider refused for a day'] : [],
    deposit === 'due' || deposit === 'sent' ? ['its deposit'] : [],
    deposit === 'unpaid' ? ['its deposit: an operator pays'] : [],
  ].flat();
}

/** Shows the data about a client: the record, the accounts opened here, and the operations that have not ended. */
export async function showClient(target: Target, id: string, terminal: Terminal): Promise<void> {
  const { print } = terminal;
  const unreadable = new UnreadableItems(terminal);
  const item = await target.table.read(itemKey('clients', id));
  if (item !== undefined) parseCrmItems(target, [item], unreadable.name);
  const { records, unreadable: damaged } = await readAccounts(target, id);
  const all = await openOperations(target);
  // The client of an unreadable operation is unknown: it may be this one.
  const open = all.filter(({ held }) => held === undefined || held.plan?.user_id === id);
  const rows = open.flatMap((one) => operationRow(one, unreadable));
  if (item === undefined && records.length + damaged.length + open.length === 0)
    throw new CommandError(`There is no client ${id} in ${target.name}, and no account was opened for this id.`);
  print(item === undefined ? 'Record: none' : ['Record:', ...jsonLines(item.record)]);
  print(['', `Accounts opened here: ${records.length + damaged.length}`]);
  const accounts = records.map((one) => [
    ...[one.opened_at, one.version, one.connection_id, String(one.login), one.group, String(one.leverage)],
    ...[one.operation_id, one.word === true ? 'an operator said so' : ''],
  ]);
  if (accounts.length > 0) print(formatTable(ACCOUNT_HEADINGS, accounts));
  for (const key of damaged) unreadable.name(`Its account ${key} cannot be read.`);
  print(['', `Open operations: ${rows.length}`]);
  if (rows.length > 0) print(formatTable(HEADINGS, rows));
  unreadable.finish('the rest is shown');
}

const ACCOUNT_HEADINGS = ['OPENED', 'VERSION', 'CONNECTION', 'LOGIN', 'GROUP', 'LEVERAGE', 'OPERATION', 'WORD'];
