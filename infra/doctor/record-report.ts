import { isDeepStrictEqual } from 'node:util';
import type { Connection } from '../../lib/records/crm-records.ts';
import type { Terminal } from '../ops/command.ts';
import {
  type CrmItem,
  ErrorList,
  type LocatedRecord,
  parseItem,
  type RecordError,
  serializeRecord,
} from '../ops/crm-items.ts';
import type { CrmTable } from '../ops/crm-table.ts';
import { type LocatedConnection, overlapErrors, recordErrors } from '../ops/record-rules.ts';
import { reportProgress } from '../ops/table-records.ts';
import type { Target } from '../ops/target.ts';

/** The table of CRM records, as the service sees it. */
export interface RecordReport {
  items: number;
  /** The number of items that the inspection has fixed. */
  fixed: number;
  /**
   * The errors that keep the service from using an item: the first thousand. `derived`: a fix can write the attribute
   * from the record.
   */
  errors: (RecordError & { derived?: true })[];
  /** Errors that are not listed. */
  more: number;
  /** Clients that have proven one address: the first thousand groups. Each item of a group is named. */
  shared: RecordError[];
  forms: number;
  connections: Connection[];
}

const WRONG_ATTRIBUTES = 'has attributes that do not follow from its record';

/**
 * Reads the items of the table page by page, and finds those that the service cannot use, and clients that share an
 * address.
 * @param options.fix writes the attributes that follow from the records
 */
export async function inspectRecords(
  { table }: Pick<Target, 'table'>,
  { fix, report }: { fix: boolean } & Pick<Terminal, 'report'>,
): Promise<RecordReport> {
  const done = reportProgress({ report }, 'items read');
  const found = { items: 0, fixed: 0, forms: 0, connections: [] as Connection[] };
  const errors = new ErrorList<RecordReport['errors'][number]>();
  const connections: LocatedConnection[] = [];
  for await (const page of table.pages()) {
    const { broken, differing, located } = await judgePage(page);
    errors.add(...broken);
    if (fix) await table.write(differing.map((item) => ({ put: item })));
    else errors.add(...differing.map(({ pk }) => ({ path: pk, rule: WRONG_ATTRIBUTES, derived: true as const })));
    found.fixed += fix ? differing.length : 0;
    found.items += page.length;
    found.forms += located.filter(({ kind }) => kind === 'forms').length;
    connections.push(...located.filter((one) => one.kind === 'connections'));
    done(page.length);
  }
  connections.sort((a, b) => (a.path < b.path ? -1 : 1));
  found.connections = connections.map(({ record }) => record);
  errors.add(...overlapErrors(connections));
  for await (const path of sharingClients(table, 'referral_code')) errors.add({ path, rule: 'have one referral code' });
  const shared = new ErrorList();
  for (const [index, what] of SHARED) {
    for await (const path of sharingClients(table, index)) shared.add({ path, rule: `have one ${what}` });
  }
  const { listed, count } = errors;
  return { ...found, errors: listed, more: count - listed.length, shared: shared.listed };
}

/** Two clients may have one proven address: its owner gets the owner's notice either way. */
const SHARED = [
  ['proven_email', 'email address'],
  ['proven_phone', 'phone number'],
] as const;

async function judgePage(page: readonly CrmItem[]) {
  const broken: RecordError[] = [];
  const differing: CrmItem[] = [];
  const located: LocatedRecord[] = [];
  for (const item of page) {
    const parsed = parseItem(item);
    if ('errors' in parsed) {
      broken.push(...parsed.errors);
      continue;
    }
    located.push(parsed);
    broken.push(...(await recordErrors(parsed)));
    const wanted = await serializeRecord(parsed);
    // Reading a record changes the spelling of an address, which is no error.
    if (!isDeepStrictEqual({ ...item, record: wanted.record }, wanted)) differing.push(wanted);
  }
  return { broken, differing, located };
}

/** The maximum number of clients that are named of one group. */
const MAX_NAMED = 10;

/** The clients that share a value of an index, each group as one text. Equal values of an index follow each other. */
async function* sharingClients(table: CrmTable, index: 'proven_email' | 'proven_phone' | 'referral_code') {
  let value: string | undefined;
  let keys: string[] = [];
  const shared = () => (keys.length > 1 ? [keys.toSorted().join(', ')] : []);
  for await (const page of table.indexPages(index)) {
    for (const item of page) {
      if (item[index] !== value) {
        yield* shared();
        value = item[index];
        keys = [];
      }
      if (keys.length < MAX_NAMED) keys.push(item.pk);
    }
  }
  yield* shared();
}
