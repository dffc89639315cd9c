import { isDeepStrictEqual } from 'node:util';
import { CommandError, counted, type Terminal } from './command.ts';
import { type CrmItem, ownerIds, parseItems, pointerKind, recordKind, serializeItems } from './crm-items.ts';
import { itemKey, place } from './kinds.ts';
import type { RecordError } from './record-errors.ts';
import { duplicateErrors, overlapErrors, recordErrors } from './record-rules.ts';
import type { Target } from './target.ts';

/**
 * Lists the items of the table that the service cannot use, and pointers that are missing or wrong.
 * @param options.fix writes what follows from the records: the pointers, and numbers in E.164
 */
export async function checkItems(
  { table, name }: Target,
  { fix = false }: { fix?: boolean },
  terminal: Terminal,
): Promise<void> {
  const items = await table.readAll();
  const { records, faults } = parseItems(items);
  const placed = place(records, (kind, _, id) => itemKey(kind, id));
  const rules = (await Promise.all(placed.map(recordErrors))).flat();
  faults.push(...rules, ...duplicateErrors(placed), ...overlapErrors(placed));
  const { differing, dangling, unknown } = compare(items, await serializeItems(records));
  if (fix) {
    await table.write(differing.map((item) => ({ put: item })));
    await table.write(dangling.map(({ pk }) => ({ delete: pk })));
    terminal.print(`${counted(differing.length + dangling.length, 'item')} fixed in ${name}.\n`);
  } else {
    faults.push(
      ...differing.map(describeDifference),
      ...dangling.map(({ pk }) => fault(pk, 'leads to no such record')),
    );
  }
  faults.push(...unknown.map(({ pk }) => fault(pk, 'is not a key of this table')));
  for (const { path, rule } of faults) terminal.print(`${path}: ${rule}\n`);
  if (faults.length > 0) throw new CommandError(`${counted(faults.length, 'error')} in ${name}.`);
  terminal.print(`${counted(items.length, 'item')} in ${name}, no errors.\n`);
}

/** @param wanted the items of the readable records. A pointer to a damaged record is not judged: the record may be fixed. */
function compare(items: readonly CrmItem[], wanted: readonly CrmItem[]) {
  const now = new Map(items.map((item) => [item.pk, item]));
  const keys = new Set(wanted.map(({ pk }) => pk));
  const differing = wanted.filter((item) => !isDeepStrictEqual(now.get(item.pk), item));
  const others = items.filter(({ pk }) => !keys.has(pk) && recordKind(pk) === undefined);
  const leadsToDamaged = (item: CrmItem) => {
    const { to = 'clients' } = pointerKind(item.pk) ?? {};
    return ownerIds(item).some((id) => now.has(itemKey(to, id)) && !keys.has(itemKey(to, id)));
  };
  return {
    differing,
    dangling: others.filter((item) => pointerKind(item.pk) !== undefined && !leadsToDamaged(item)),
    unknown: others.filter(({ pk }) => pointerKind(pk) === undefined),
  };
}

function describeDifference({ pk, record }: CrmItem): RecordError {
  if (record === undefined) return fault(pk, 'is missing, or does not lead to the right records');
  return fault(pk, "has another `e164` than the record's phone, or attributes that are not known");
}

function fault(path: string, rule: string): RecordError {
  return { path, rule };
}
