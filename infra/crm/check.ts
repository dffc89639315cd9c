import { isDeepStrictEqual } from 'node:util';
import type { Connection } from '../../lib/records/crm-records.ts';
import {
  type CrmItem,
  itemKey,
  ownerIds,
  parseItems,
  place,
  pointerKind,
  recordKind,
  serializeItems,
} from './crm-items.ts';
import type { RecordError } from './record-errors.ts';
import { duplicateErrors, overlapErrors, recordErrors } from './record-rules.ts';
import type { Target } from './target.ts';

/** The table of CRM records, as the service sees it. */
export interface RecordReport {
  items: number;
  /** How many of them the inspection has fixed. */
  fixed: number;
  /** What the service cannot use. Derived: it follows from the records, so that a fix can write it. */
  errors: (RecordError & { derived?: true })[];
  forms: number;
  connections: Connection[];
}

const WRONG_POINTER = 'is missing, or does not lead to the right records';
const WRONG_RECORD = "has another `e164` than the record's phone, or attributes that are not known";

/**
 * Reads the items of the table, and finds those that the service cannot use, and pointers that are missing or wrong.
 * @param fix writes what follows from the records: the pointers, and numbers in E.164
 */
export async function inspectRecords({ table }: Pick<Target, 'table'>, fix: boolean): Promise<RecordReport> {
  const items = await table.readAll();
  const { records, errors } = parseItems(items);
  const placed = place(records, (kind, _, id) => itemKey(kind, id));
  const rules = (await Promise.all(placed.map(recordErrors))).flat();
  const { differing, dangling, unknown } = compare(items, await serializeItems(records));
  const derived = [
    ...differing.map(({ pk, record }) => ({ path: pk, rule: record === undefined ? WRONG_POINTER : WRONG_RECORD })),
    ...dangling.map(({ pk }) => ({ path: pk, rule: 'leads to no such record' })),
  ];
  if (fix) {
    await table.write(differing.map((item) => ({ put: item })));
    await table.write(dangling.map(({ pk }) => ({ delete: pk })));
  }
  return {
    items: items.length,
    fixed: fix ? derived.length : 0,
    errors: [
      ...[...errors, ...rules, ...duplicateErrors(placed), ...overlapErrors(placed)],
      ...(fix ? [] : derived.map((error) => ({ ...error, derived: true as const }))),
      ...unknown.map(({ pk }) => ({ path: pk, rule: 'is not a key of this table' })),
    ],
    forms: records.forms.length,
    connections: records.connections,
  };
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
