import pLimit from 'p-limit';
import type { Connection } from '../../lib/records/crm-records.ts';
import { type CrmItem, type LocatedRecord, parseItem, type RecordError, serializeRecord } from '../ops/crm-items.ts';
import { type CrmTable, DERIVED_ATTRIBUTES, PARALLEL_BATCHES } from '../ops/crm-table.ts';
import { type LocatedConnection, overlapErrors, recordErrors } from '../ops/record-rules.ts';
import type { Target } from '../ops/target.ts';

/** The table of CRM records, as the service sees it. */
export interface RecordReport {
  items: number;
  /** The number of items that the inspection has fixed. */
  fixed: number;
  /** The errors that keep the service from using an item. `derived`: a fix can write the attribute from the record. */
  errors: (RecordError & { derived?: true })[];
  forms: number;
  connections: Connection[];
}

const WRONG_ATTRIBUTES = 'has attributes that do not follow from its record';

/**
 * Reads the items of the table, and finds those that the service cannot use.
 * @param fix writes the attributes that follow from the records
 */
export async function inspectRecords({ table }: Pick<Target, 'table'>, fix: boolean): Promise<RecordReport> {
  const report: RecordReport = { items: 0, fixed: 0, errors: [], forms: 0, connections: [] };
  const connections: LocatedConnection[] = [];
  for await (const page of table.pages()) {
    const { broken, differing, located } = await judgePage(page);
    report.errors.push(...broken);
    await pLimit(PARALLEL_BATCHES).map(differing, async ({ item, wanted }) => {
      if (fix && (await table.derive(item, wanted))) report.fixed += 1;
      else report.errors.push({ path: item.pk, rule: fix ? 'has changed meanwhile' : WRONG_ATTRIBUTES, derived: true });
    });
    report.items += page.length;
    report.forms += located.filter(({ kind }) => kind === 'forms').length;
    connections.push(...located.filter((one) => one.kind === 'connections'));
  }
  connections.sort((a, b) => (a.path < b.path ? -1 : 1));
  report.connections = connections.map(({ record }) => record);
  report.errors.push(...overlapErrors(connections), ...(await sharedCodes(table)));
  return report;
}

async function judgePage(page: readonly CrmItem[]) {
  const broken: RecordError[] = [];
  const differing: { item: CrmItem; wanted: CrmItem }[] = [];
  const located: LocatedRecord[] = [];
  for (const item of page) {
    // The doctor names unknown members too: the CRM may have mistyped them.
    const parsed = parseItem(item, 'written');
    if ('errors' in parsed) {
      broken.push(...parsed.errors);
      continue;
    }
    located.push(parsed);
    broken.push(...(await recordErrors(parsed)));
    const wanted = await serializeRecord(parsed);
    if (DERIVED_ATTRIBUTES.some((name) => item[name] !== wanted[name])) differing.push({ item, wanted });
  }
  return { broken, differing, located };
}

/** The clients that share a referral code: a registration with it does not show which of them it names. */
async function sharedCodes(table: CrmTable): Promise<RecordError[]> {
  const owners = new Map<string, string[]>();
  for await (const page of table.indexPages('referral_code'))
    for (const { pk, referral_code = '' } of page)
      owners.set(referral_code, [...(owners.get(referral_code) ?? []), pk]);
  return [...owners.values()]
    .filter(({ length }) => length > 1)
    .map((keys) => ({ path: keys.toSorted().join(', '), rule: 'have one referral code' }));
}
