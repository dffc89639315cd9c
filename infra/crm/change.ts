import { isDeepStrictEqual } from 'node:util';
import { CommandError, counted, type Terminal } from './command.ts';
import { connectionWarnings } from './connections.ts';
import {
  type CrmItem,
  type CrmKind,
  type CrmRecords,
  isUnique,
  itemKey,
  type LocatedRecord,
  ownerIds,
  parseItems,
  place,
  pointer,
  pointerKind,
  serializeRecords,
} from './crm-items.ts';
import type { CrmWrite } from './crm-table.ts';
import { CrmFileError, type RecordError } from './record-errors.ts';
import { duplicateErrors, localHostErrors, overlapErrors } from './record-rules.ts';
import type { Target } from './target.ts';

/** The changes of a command. */
interface Change {
  add: readonly LocatedRecord[];
  /** The keys of records to delete. */
  gone: readonly string[];
}

/** The target of a change, and whether it is only shown. */
interface ItemLocation {
  target: Target;
  dryRun: boolean;
  terminal: Terminal;
}

/**
 * Adds and changes records. It reads and writes only their items, their pointers, and the records that share these.
 * @param named names one of them in an error
 * @throws CrmFileError with every error
 */
export async function addRecords(
  where: ItemLocation,
  add: CrmRecords,
  named: (kind: CrmKind, index: number) => string,
): Promise<void> {
  await change(where, { add: place(add, named), gone: [] });
}

/** Deletes records of a kind; none, if one of them is missing. */
export async function removeRecords(where: ItemLocation, kind: CrmKind, ids: readonly string[]): Promise<void> {
  const { table, name } = where.target;
  const known = new Set((await table.readMany(ids.map((id) => itemKey(kind, id)))).map(({ pk }) => pk));
  const missing = ids.filter((id) => !known.has(itemKey(kind, id)));
  if (missing.length > 0) throw new CommandError(`${name} holds no ${kind} of this id: ${missing.join(', ')}`);
  await change(where, { add: [], gone: [...known] });
}

async function change({ target, dryRun, terminal }: ItemLocation, { add, gone }: Change): Promise<void> {
  const content = await readConcerned(target, { add, gone }, terminal);
  const errors = [
    ...localHostErrors(add),
    ...duplicateErrors([...content.others, ...add]),
    ...overlapErrors(add, content.others),
  ];
  if (errors.length > 0) throw new CrmFileError(errors);
  for (const { path, kind, record } of add) {
    const warnings = kind === 'connections' ? await connectionWarnings(record, target, terminal) : [];
    for (const { says, fix } of warnings) terminal.report(`Warning: ${path}: ${says}\n  → ${fix}\n`);
  }

  const plan = planWrites(content, gone);
  const changes = plan.flat().filter((write) => !isPointer(write)).length;
  if (dryRun) {
    terminal.print(difference(content.items, plan));
    terminal.print(`${counted(changes, 'record')} would change in ${target.name}; nothing was written.\n`);
    return;
  }
  for (const writes of plan) await target.table.write(writes);
  terminal.print(`${counted(changes, 'record')} changed in ${target.name}.\n`);
}

/** The records of a change. */
type Concerned = Awaited<ReturnType<typeof readConcerned>>;

async function readConcerned(target: Target, { add, gone }: Change, terminal: Terminal) {
  const changed = new Set([...add.map(({ kind, record }) => itemKey(kind, record.id)), ...gone]);
  const read = async (keys: readonly string[]) => {
    const items = await target.table.readMany(keys);
    const { records, errors } = parseItems(items);
    reportDamage(target, errors, terminal);
    return { items, placed: place(records, (kind, _, id) => `the table's ${kind}[${JSON.stringify(id)}]`) };
  };
  const before = await read([...changed]);
  const { items: added, owners } = await serializeRecords(add);
  const { owners: formerly } = await serializeRecords(before.placed);
  /** For each pointer that leads to a changed record, or did: the ids of the added records that it will lead to. */
  const pointers = new Map([...[...formerly.keys()].map((key): [string, string[]] => [key, []]), ...owners]);
  const { items: leading } = await read([...pointers.keys()]);
  const sharing = leading.filter(({ pk }) => owners.has(pk) && !pk.startsWith('phone#'));
  const others = await read(sharing.flatMap(ownerKeys).filter((key) => !changed.has(key)));
  /** The current items of the changed records and their pointers. */
  const items = new Map([...before.items, ...leading].map((item) => [item.pk, item]));
  return { changed, items, added, pointers, others: others.placed };
}

function ownerKeys(item: CrmItem): string[] {
  const { to } = pointerKind(item.pk) ?? {};
  return to === undefined ? [] : ownerIds(item).map((id) => itemKey(to, id));
}

/** The writes of the change. Each list is complete before the next begins, so no pointer leads to a missing client. */
function planWrites({ changed, items, added, pointers }: Concerned, gone: readonly string[]): CrmWrite[][] {
  const puts = (wanted: readonly CrmItem[]) =>
    wanted.filter((item) => !isDeepStrictEqual(items.get(item.pk), item)).map((item) => ({ put: item }));
  const led = [...pointers].map(([pk, ids]) => {
    const { to = 'clients' } = pointerKind(pk) ?? {};
    const stay = ownerIds(items.get(pk) ?? { pk }).filter((id) => !changed.has(itemKey(to, id)));
    return { pk, ids: isUnique(pk) && ids.length > 0 ? ids : [...stay, ...ids] };
  });
  const stale = led.filter(({ pk, ids }) => ids.length === 0 && items.has(pk));
  return [
    puts(added),
    puts(led.filter(({ ids }) => ids.length > 0).map(({ pk, ids }) => pointer(pk, ids))),
    stale.map(({ pk }) => ({ delete: pk })),
    gone.map((pk) => ({ delete: pk })),
  ];
}

function isPointer(write: CrmWrite): boolean {
  return pointerKind('put' in write ? write.put.pk : write.delete) !== undefined;
}

function difference(now: ReadonlyMap<string, CrmItem>, plan: readonly CrmWrite[][]): string {
  return plan
    .flat()
    .filter((write) => !isPointer(write))
    .flatMap((write) =>
      'put' in write ? recordDifference(write.put, now.get(write.put.pk)?.record) : [`- ${write.delete}`],
    )
    .map((line) => `${line}\n`)
    .join('');
}

function recordDifference({ pk, record }: CrmItem, before: unknown): string[] {
  if (before === undefined) return [`+ ${pk}`];
  const [old, next] = [before ?? {}, record] as [Record<string, unknown>, Record<string, unknown>];
  const members = [...new Set([...Object.keys(old), ...Object.keys(next)])];
  const changed = members.filter((member) => !isDeepStrictEqual(old[member], next[member]));
  return [`~ ${pk}`, ...changed.map((member) => `    ${member}: ${short(old[member])} → ${short(next[member])}`)];
}

function short(value: unknown): string {
  const text = value === undefined ? 'none' : JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 99)}…` : text;
}

/** Reads the records of the whole table, and reports those that are damaged. */
export async function readTable(target: Target, terminal: Terminal): Promise<CrmRecords> {
  const { records, errors } = parseItems(await target.table.readAll());
  reportDamage(target, errors, terminal);
  return records;
}

function reportDamage({ name }: Target, errors: readonly RecordError[], { report }: Terminal): void {
  for (const { path, rule } of errors) report(`Damaged in ${name}, and skipped: ${path}: ${rule}\n`);
}
