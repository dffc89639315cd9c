import { isDeepStrictEqual } from 'node:util';
import { CommandError, counted, type Terminal } from './command.ts';
import { connectionWarnings } from './connection-warnings.ts';
import { type CrmItem, parseItems, serializeItems } from './crm-items.ts';
import type { CrmTable, CrmWrite } from './crm-table.ts';
import { CRM_KINDS, type CrmKind, type CrmRecords, emptyRecords, itemKey, place, put } from './kinds.ts';
import { CrmFileError } from './record-errors.ts';
import { duplicateErrors, localHostErrors, overlapErrors } from './record-rules.ts';
import type { Target } from './target.ts';

/** The changes of a command. */
interface Change {
  add: CrmRecords;
  /** The keys of items to delete. */
  gone: ReadonlySet<string>;
  /** Names a record of `add` in a fault. */
  named(kind: CrmKind, index: number): string;
}

/** The target of a change, and whether it is only shown. */
interface ItemLocation {
  target: Target;
  dryRun: boolean;
  terminal: Terminal;
}

/**
 * Adds and changes records.
 * @param named names one of them in a fault
 * @throws CrmFileError with every fault
 */
export async function addRecords(place: ItemLocation, add: CrmRecords, named: Change['named']): Promise<void> {
  await change(place, await readTable(place.target, place.terminal), { add, gone: new Set(), named });
}

/** Deletes records of a kind; none, when one of them is not there. */
export async function removeRecords(place: ItemLocation, kind: CrmKind, ids: readonly string[]): Promise<void> {
  const content = await readTable(place.target, place.terminal);
  const known = new Set(content.items.map(({ pk }) => pk));
  const missing = ids.filter((id) => !known.has(itemKey(kind, id)));
  if (missing.length > 0)
    throw new CommandError(`${place.target.name} holds no ${kind} of this id: ${missing.join(', ')}`);
  const gone = new Set(ids.map((id) => itemKey(kind, id)));
  await change(place, content, { add: emptyRecords(), gone, named: (one) => one });
}

/** Writes the change, and the pointers by which clients are found. */
async function change(
  { target, dryRun, terminal }: ItemLocation,
  { items, records, damaged }: TableContent,
  { add, gone, named }: Change,
): Promise<void> {
  const added = place(add, named);
  const replaced = new Set(added.map(({ kind, record }) => itemKey(kind, record.id)));
  const kept = place(records, (kind, _, id) => `the table's ${kind}[${JSON.stringify(id)}]`).filter(
    ({ kind, record }) => !replaced.has(itemKey(kind, record.id)) && !gone.has(itemKey(kind, record.id)),
  );
  const faults = [...localHostErrors(added), ...duplicateErrors([...kept, ...added]), ...overlapErrors(added, kept)];
  if (faults.length > 0) throw new CrmFileError(faults);
  for (const { path, kind, record } of added) {
    const warnings = kind === 'connections' ? await connectionWarnings(record, path, target, terminal) : [];
    for (const warning of warnings) terminal.report(`${warning}\n`);
  }

  const wanted = emptyRecords();
  for (const one of [...kept, ...added]) put(wanted, one);
  const plan = planWrites(items, await serializeItems(wanted), gone, damaged);
  const changes = plan.flat().filter((write) => !isPointer('put' in write ? write.put.pk : write.delete)).length;
  if (dryRun) {
    terminal.print(difference(items, plan));
    terminal.print(`${counted(changes, 'record')} would change in ${target.name}; nothing was written.\n`);
    return;
  }
  await write(target.table, plan, terminal);
  terminal.print(`${counted(changes, 'record')} changed in ${target.name}.\n`);
}

/** The writes that give the table the wanted items. Each list is complete before the next begins. */
function planWrites(
  current: readonly CrmItem[],
  wanted: readonly CrmItem[],
  gone: ReadonlySet<string>,
  damaged: ReadonlySet<string>,
): CrmWrite[][] {
  const now = new Map(current.map((item) => [item.pk, item]));
  const then = new Set(wanted.map(({ pk }) => pk));
  const puts = wanted.filter((item) => !isDeepStrictEqual(now.get(item.pk), item));
  // The pointers of a client whose record cannot be read stay: its record may still be fixed.
  const stale = current.filter(
    ({ pk, client_id }) => isPointer(pk) && !then.has(pk) && !damaged.has(itemKey('clients', client_id ?? '')),
  );
  // At no time does a pointer lead to a client that is not there.
  return [
    puts.filter(({ pk }) => !isPointer(pk)).map((item) => ({ put: item })),
    puts.filter(({ pk }) => isPointer(pk)).map((item) => ({ put: item })),
    stale.map(({ pk }) => ({ delete: pk })),
    [...gone].map((pk) => ({ delete: pk })),
  ];
}

function isPointer(key: string): boolean {
  return !CRM_KINDS.some((kind) => key.startsWith(itemKey(kind, '')));
}

async function write(table: CrmTable, plan: readonly CrmWrite[][], { report }: Terminal): Promise<void> {
  const all = plan.reduce((sum, writes) => sum + writes.length, 0);
  let written = 0;
  let told = 0;
  for (const writes of plan) {
    await table.write(writes, (count) => {
      written += count;
      if (written - told < Math.max(500, all / 20)) return;
      told = written;
      report(`${written} of ${counted(all, 'item')} written\n`);
    });
  }
}

/** The change of each record, member by member. */
function difference(current: readonly CrmItem[], plan: readonly CrmWrite[][]): string {
  const now = new Map(current.map(({ pk, record }) => [pk, record]));
  return plan
    .flat()
    .filter((write) => !isPointer('put' in write ? write.put.pk : write.delete))
    .flatMap((write) => ('put' in write ? recordDifference(write.put, now.get(write.put.pk)) : [`- ${write.delete}`]))
    .map((line) => `${line}\n`)
    .join('');
}

function recordDifference({ pk, record }: CrmItem, before: unknown): string[] {
  if (before === undefined) return [`+ ${pk}`];
  const [old, next] = [before, record] as [Record<string, unknown>, Record<string, unknown>];
  const members = [...new Set([...Object.keys(old), ...Object.keys(next)])];
  const changed = members.filter((member) => !isDeepStrictEqual(old[member], next[member]));
  return [`~ ${pk}`, ...changed.map((member) => `    ${member}: ${short(old[member])} → ${short(next[member])}`)];
}

function short(value: unknown): string {
  const text = value === undefined ? 'none' : JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 99)}…` : text;
}

interface TableContent {
  items: CrmItem[];
  records: CrmRecords;
  /** The keys of items whose record cannot be read. */
  damaged: Set<string>;
}

/** Reads the whole table and reports damaged records. */
export async function readTable({ table, name }: Target, { report }: Terminal): Promise<TableContent> {
  const items = await table.readAll();
  const { records, faults } = parseItems(items);
  for (const { path, rule } of faults) report(`Damaged in ${name}, and passed over: ${path}: ${rule}\n`);
  const readable = new Set(CRM_KINDS.flatMap((kind) => records[kind].map(({ id }) => itemKey(kind, id))));
  const damaged = new Set(items.map(({ pk }) => pk).filter((pk) => !isPointer(pk) && !readable.has(pk)));
  return { items, records, damaged };
}
