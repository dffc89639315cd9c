import type { Terminal } from './command.ts';
import { type CrmItem, type CrmKind, itemKey, KINDS, type LocatedRecord, parseItem } from './crm-items.ts';
import type { CrmTable } from './crm-table.ts';
import type { Target } from './target.ts';

/** The records of a kind, a page at a time; clients in no order. Malformed ones are reported, and left out. */
export async function* readRecords(
  target: Target,
  kind: CrmKind,
  report?: Terminal['report'],
): AsyncGenerator<LocatedRecord[]> {
  for await (const page of itemPages(target.table, kind)) yield parsePage(target, page, report);
}

async function* itemPages(table: CrmTable, kind: CrmKind): AsyncGenerator<CrmItem[]> {
  const { indexed } = KINDS[kind];
  if (indexed === undefined) {
    const values = { ':key': itemKey(kind, '') };
    yield* table.pages({ FilterExpression: 'begins_with(pk, :key)', ExpressionAttributeValues: values });
    return;
  }
  const items = await table.readMany(await table.find('kind', indexed));
  yield items.toSorted((a, b) => (a.pk < b.pk ? -1 : 1));
}

/** The records of these items. Malformed ones are reported, and left out. */
export function parsePage(
  { name }: Target,
  items: readonly CrmItem[],
  report: Terminal['report'] = () => {},
): LocatedRecord[] {
  return items.flatMap((item) => {
    const parsed = parseItem(item);
    if (!('errors' in parsed)) return [parsed];
    for (const { path, rule } of parsed.errors) report(`Damaged in ${name}, and skipped: ${path}: ${rule}\n`);
    return [];
  });
}

/** Reports how many are done, each time another ten thousand are. */
export function progress({ report }: Pick<Terminal, 'report'>, what: string): (done: number) => void {
  let total = 0;
  return (done) => {
    const before = Math.floor(total / STEP);
    total += done;
    if (Math.floor(total / STEP) > before) report(`${total} ${what}\n`);
  };
}
const STEP = 10_000;
