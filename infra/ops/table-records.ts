import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import * as v from 'valibot';
import { type Connection, StoredConnectionSchema } from '../../lib/records/crm-records.ts';
import { CommandError, countOf } from './command.ts';
import {
  type CrmItem,
  type CrmKind,
  itemKey,
  type LocatedRecord,
  parseItem,
  RECORD_KINDS,
  type RecordError,
  serializeRecord,
} from './crm-items.ts';
import { type CrmTable, chunksOf, PARALLEL_BATCHES } from './crm-table.ts';
import { type LocatedConnection, localHostErrors, overlapErrors } from './record-rules.ts';
import type { Target } from './target.ts';
import type { Terminal } from './terminal.ts';

/** Gets the sentences about an item that cannot be read. */
type Damaged = Terminal['report'];

/** The records of a kind; clients in no order. Malformed ones are left out, as `parseCrmItems` does. */
export async function readRecords(target: Target, kind: CrmKind, damaged?: Damaged): Promise<LocatedRecord[]> {
  const records: LocatedRecord[] = [];
  for await (const page of itemPages(target.table, kind)) records.push(...parseCrmItems(target, page, damaged));
  return records;
}

async function* itemPages(table: CrmTable, kind: CrmKind): AsyncGenerator<CrmItem[]> {
  const { indexed } = RECORD_KINDS[kind];
  if (indexed === undefined) {
    const values = { ':key': itemKey(kind, '') };
    yield* table.pages({ FilterExpression: 'begins_with(pk, :key)', ExpressionAttributeValues: values });
    return;
  }
  const items = await table.readMany(await table.find('kind', indexed));
  yield items.toSorted((a, b) => (a.pk < b.pk ? -1 : 1));
}

/** The records of these items. Malformed ones are left out. @param damaged gets a text that names such an item */
export function parseCrmItems(
  { name }: Target,
  items: readonly CrmItem[],
  damaged: Damaged = () => {},
): LocatedRecord[] {
  return items.flatMap((item) => {
    const parsed = parseItem(item);
    if (!('errors' in parsed)) return [parsed];
    damaged(parsed.errors.map(({ path, rule }) => `Damaged in ${name}, and skipped: ${path}: ${rule}`));
    return [];
  });
}

/** The connection with this id; undefined if there is none. @throws CommandError if its record is malformed */
export async function findConnection({ table }: Target, id: string): Promise<Connection | undefined> {
  const item = await table.read(itemKey('connections', id));
  if (item === undefined) return undefined;
  const connection = v.safeParse(StoredConnectionSchema, item.record);
  if (!connection.success) throw new CommandError(`The record of the connection ${id} is malformed. Import it again.`);
  return connection.output;
}

/** The connections of the table, found by their index. Malformed ones are reported, and left out. */
export async function readConnections(target: Target, report?: Terminal['report']): Promise<Connection[]> {
  const records = await readRecords(target, 'connections', report);
  return records.flatMap((one) => (one.kind === 'connections' ? [one.record] : []));
}

/** The target of a change, and whether it is only shown. */
interface ItemLocation {
  target: Target;
  dryRun: boolean;
  terminal: Terminal;
}

/**
 * The errors of connections that are added or changed: simulated servers, and logins that two connections share.
 * @param changed each connection is named by its path in an error
 */
export async function connectionErrors(
  { target, terminal }: Pick<ItemLocation, 'target' | 'terminal'>,
  changed: readonly LocatedConnection[],
): Promise<RecordError[]> {
  if (changed.length === 0) return [];
  const ids = new Set(changed.map(({ record }) => record.id));
  // The connections of the table that do not change keep their logins.
  const kept = (await readConnections(target, terminal.report))
    .filter(({ id }) => !ids.has(id))
    .map((record) => ({ path: `the table's connections[${JSON.stringify(record.id)}]`, record }));
  return [...localHostErrors(changed), ...overlapErrors(changed, kept)];
}

/** The number of records that are compared in one call. */
const MAX_COMPARED = 100;

/**
 * Adds and changes valid records, in parallel batches: a call reads 100 items, and one writes 25 of those that differ.
 * @returns the number of records that differ
 */
export async function writeRecords(
  { target, dryRun, terminal }: ItemLocation,
  records: readonly LocatedRecord[],
): Promise<number> {
  const batches = chunksOf(records, MAX_COMPARED);
  const changed = (await pLimit(PARALLEL_BATCHES).map(batches, (batch) => findChanges(target, batch))).flat();
  if (dryRun) terminal.print(changed.map(describeChange));
  else await target.table.write(changed.map(({ item }) => ({ put: item })));
  return changed.length;
}

interface ItemChange {
  item: CrmItem;
  before: CrmItem | undefined;
}

async function findChanges({ table }: Target, part: readonly LocatedRecord[]): Promise<ItemChange[]> {
  const items = await Promise.all(part.map(serializeRecord));
  const now = new Map((await table.readMany(items.map(({ pk }) => pk))).map((item) => [item.pk, item]));
  return items
    .map((item) => ({ item, before: now.get(item.pk) }))
    .filter(({ item, before }) => !isDeepStrictEqual(before, item));
}

/** Deletes records of a kind. If one of them is missing, none is deleted. */
export async function removeRecords(where: ItemLocation, kind: CrmKind, ids: readonly string[]): Promise<void> {
  const { table, name } = where.target;
  const known = new Set((await table.readMany(ids.map((id) => itemKey(kind, id)))).map(({ pk }) => pk));
  const missing = ids.filter((id) => !known.has(itemKey(kind, id)));
  if (missing.length > 0) throw new CommandError(`${name} holds no ${kind} of this id: ${missing.join(', ')}`);
  if (!where.dryRun) await table.write([...known].map((pk) => ({ delete: pk })));
  else where.terminal.print([...known].map((pk) => `- ${pk}`));
  summarizeChanges(where, known.size);
}

/** Says how many records were changed, or would be. */
export function summarizeChanges({ target, dryRun, terminal }: ItemLocation, count: number): void {
  const done = dryRun ? `would change in ${target.name}; nothing was written` : `changed in ${target.name}`;
  terminal.print(`${countOf(count, 'record')} ${done}.`);
}

/** The key of a changed item, with the members of its record that differ. */
function describeChange({ item: { pk, record }, before }: ItemChange): string {
  if (before?.record === undefined) return `+ ${pk}`;
  const [old, next] = [before.record ?? {}, record] as [Record<string, unknown>, Record<string, unknown>];
  const members = Object.keys({ ...old, ...next });
  return `~ ${pk}: ${members.filter((member) => !isDeepStrictEqual(old[member], next[member])).join(', ')}`;
}
