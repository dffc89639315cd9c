import { isDeepStrictEqual } from 'node:util';
import { OPERATOR_ONLY } from '../../lib/records/due.ts';
import { DUE_INDEX } from '../../lib/validators/deployment.ts';
import { EXPIRY_ATTRIBUTE, keyAttributes, logicalId, type TableName } from '../tables.ts';
import { addRecords, readTable } from './change.ts';
import { CommandError, counted, type Terminal, wrong } from './command.ts';
import { fromItems } from './crm-items.ts';
import { crmTable } from './crm-table.ts';
import { CRM_KINDS, type CrmRecords, noRecords, place, put } from './kinds.ts';
import { type Item, type TableItems, tableItems } from './table-items.ts';
import type { Target } from './target.ts';

export interface RestoreOptions {
  /** The name of the table that AWS restored. */
  from: string;
  dryRun?: boolean;
  /** Of CRM records: also those that have changed since. */
  overwrite?: boolean;
}

/** How the items of a table are copied back. An item whose key exists is never overwritten: it is newer. */
interface Rule {
  table: TableName;
  /** @returns why the item is left out, in a few words */
  leaveOut?(item: Item): string | undefined;
  /** The item as it is copied. */
  copied?(item: Item): Item;
  /** What two items of one key have in common if they are the same thing. */
  owner?: string;
}

const RULES: Readonly<Record<string, Rule>> = {
  accounts: { table: 'Accounts' },
  logins: { table: 'Logins', owner: 'operation_id' },
  operations: { table: 'Operations', copied: leftToOperators, owner: 'operation_id' },
  registrations: {
    table: 'Registrations',
    // Their guesses would be counted from an earlier state, and their codes have expired.
    leaveOut: ({ confirmation }) => (confirmation === undefined ? 'not confirmed' : undefined),
  },
};

/**
 * Unfinished work may have been finished since, outside of what was restored: the settler must not touch it. An operator
 * looks at each.
 */
function leftToOperators(item: Item): Item {
  return item[DUE_INDEX.at] === undefined ? item : { ...item, [DUE_INDEX.at]: OPERATOR_ONLY };
}

/** Copies what a table lost from a table that AWS restored. */
export async function restore(
  target: Target,
  name: string,
  options: RestoreOptions,
  terminal: Terminal,
): Promise<void> {
  if (name === 'limits')
    throw new CommandError('The limits are not restored: their windows begin again by themselves.');
  if (name === 'crm') return restoreCrm(target, options, terminal);
  const rule = RULES[name];
  if (rule === undefined) throw wrong(`TABLE is crm, ${Object.keys(RULES).join(', ')}.`);
  if (target.resource === undefined) throw new CommandError('Tables are found by --stack NAME or --local.');
  const keys = keyAttributes(rule.table);
  const live = tableItems(await target.resource(logicalId(rule.table)), keys, target.database);
  const restored = tableItems(options.from, keys, target.database);
  const report = new Report();
  for await (const page of restored.pages())
    for (let at = 0; at < page.length; at += BATCH)
      await copy(page.slice(at, at + BATCH), live, rule, report, options.dryRun === true);
  terminal.print(report.text(name, options.dryRun === true));
  if (report.conflicts.length > 0) throw new CommandError(report.conflictText());
}

/** The keys that DynamoDB reads in one call. */
const BATCH = 100;

async function copy(items: Item[], live: TableItems, rule: Rule, report: Report, dryRun: boolean): Promise<void> {
  const candidates = items.filter((item) => {
    const reason = isExpired(item) ? 'expired' : rule.leaveOut?.(item);
    if (reason !== undefined) report.leftOut.set(reason, (report.leftOut.get(reason) ?? 0) + 1);
    return reason === undefined;
  });
  if (candidates.length === 0) return;
  const existing = await live.get(candidates.map((item) => live.keyOf(item)));
  for (const item of candidates) {
    const key = live.keyOf(item);
    const current = existing.find((one) => isDeepStrictEqual(live.keyOf(one), key));
    const added = current === undefined && (dryRun || (await live.add(rule.copied?.(item) ?? item)));
    if (added) report.copied += 1;
    else report.existing += 1;
    const { owner } = rule;
    if (owner !== undefined && current !== undefined && current[owner] !== item[owner])
      report.conflicts.push(`${String(item.pk)}: restored ${String(item[owner])}, now ${String(current[owner])}`);
  }
}

function isExpired({ [EXPIRY_ATTRIBUTE]: expiry }: Item): boolean {
  return typeof expiry === 'number' && expiry * 1_000 <= Date.now();
}

class Report {
  copied = 0;
  existing = 0;
  readonly leftOut = new Map<string, number>();
  readonly conflicts: string[] = [];

  text(name: string, dryRun: boolean): string {
    const leftOut = [...this.leftOut].sort().map(([reason, count]) => `, ${count} left out (${reason})`);
    const done = dryRun ? 'would be copied to' : 'copied to';
    const note = dryRun ? '; nothing was written' : '';
    return `${counted(this.copied, 'item')} ${done} ${name}; ${this.existing} exist there${leftOut.join('')}${note}.\n`;
  }

  conflictText(): string {
    const count = this.conflicts.length;
    const found = `${counted(count, 'item')} of another operation ${count === 1 ? 'exists' : 'exist'} now`;
    return `${found}; nothing was overwritten:\n  ${this.conflicts.join('\n  ')}`;
  }
}

/** CRM records keep their rules: an address or a login range that another record has now is refused. */
async function restoreCrm(
  target: Target,
  { from, dryRun = false, overwrite = false }: RestoreOptions,
  terminal: Terminal,
) {
  const restored = crmTable(from, target.database);
  const { records } = fromItems(await restored.readAll().finally(() => restored.close()));
  const current = (await readTable(target, terminal)).records;
  const wanted = noRecords();
  for (const one of place(records, (kind, _, id) => `${kind}[${JSON.stringify(id)}]`)) {
    const now = (current[one.kind] as CrmRecords[typeof one.kind]).find(({ id }) => id === one.record.id);
    if (now === undefined || overwrite) put(wanted, one);
  }
  if (CRM_KINDS.every((kind) => wanted[kind].length === 0)) return terminal.print('No record is missing.\n');
  await addRecords(
    { target, dryRun, terminal },
    wanted,
    (kind, index) => `${kind}[${JSON.stringify(wanted[kind][index]?.id)}]`,
  );
}
