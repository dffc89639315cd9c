import { isDeepStrictEqual } from 'node:util';
import type { Connection } from '../../lib/records/crm-records.ts';
import type { Terminal } from '../crm/command.ts';
import { overlapErrors, recordErrors } from '../crm/crm-file.ts';
import { type CrmItem, type LocatedRecord, parseItem, type RecordError, serializeRecord } from '../crm/crm-items.ts';
import type { CrmTable } from '../crm/crm-table.ts';
import { reportProgress } from '../crm/table-records.ts';
import type { Target } from '../crm/target.ts';

/** The table of CRM records, as the service sees it. */
export interface RecordReport {
  items: number;
  /** How many of them the inspection has fixed. */
  fixed: number;
  /** What the service cannot use: the first thousand. Derived: it follows from the record, so that a fix can write it. */
  errors: (RecordError & { derived?: true })[];
  /** Errors that are not listed. */
  more: number;
  /** Clients that have proven one address: the first thousand groups. Each item of a group is named. */
  shared: RecordError[];
  forms: number;
  connections: Connection[];
}

const MAX_LISTED = 1_000;
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
  const found: RecordReport = { items: 0, fixed: 0, errors: [], more: 0, shared: [], forms: 0, connections: [] };
  const list = (errors: RecordReport['errors']) => {
    const room = Math.max(0, MAX_LISTED - found.errors.length);
    found.errors.push(...errors.slice(0, room));
    found.more += Math.max(0, errors.length - room);
  };
  const connections: LocatedRecord[] = [];
  for await (const page of table.pages()) {
    const { errors, differing, located } = await judgePage(page);
    list(errors);
    if (fix) await table.write(differing.map((item) => ({ put: item })));
    else list(differing.map(({ pk }) => ({ path: pk, rule: WRONG_ATTRIBUTES, derived: true })));
    found.fixed += fix ? differing.length : 0;
    found.items += page.length;
    found.forms += located.filter(({ kind }) => kind === 'forms').length;
    connections.push(...located.filter(({ kind }) => kind === 'connections'));
    done(page.length);
  }
  connections.sort((a, b) => (a.path < b.path ? -1 : 1));
  found.connections = connections.flatMap((one) => (one.kind === 'connections' ? [one.record] : []));
  list(overlapErrors(connections));
  for await (const path of sharingClients(table, 'referral_code')) list([{ path, rule: 'have one referral code' }]);
  for (const [index, what] of SHARED) {
    for await (const path of sharingClients(table, index))
      if (found.shared.length < MAX_LISTED) found.shared.push({ path, rule: `have one ${what}` });
  }
  return found;
}

/** Two clients may have one proven address: its owner gets the owner's notice either way. */
const SHARED = [
  ['proven_email', 'email address'],
  ['proven_phone', 'phone number'],
] as const;

async function judgePage(page: readonly CrmItem[]) {
  const errors: RecordError[] = [];
  const differing: CrmItem[] = [];
  const located: LocatedRecord[] = [];
  for (const item of page) {
    const parsed = parseItem(item);
    if ('errors' in parsed) {
      errors.push(...parsed.errors);
      continue;
    }
    located.push(parsed);
    errors.push(...(await recordErrors(parsed)));
    const wanted = await serializeRecord(parsed);
    // Reading a record changes the spelling of an address, which is no error.
    if (!isDeepStrictEqual({ ...item, record: wanted.record }, wanted)) differing.push(wanted);
  }
  return { errors, differing, located };
}

/** The number of clients that are named of one group. */
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
