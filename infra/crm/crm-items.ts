import * as v from 'valibot';
import type { Client } from '../../lib/records/crm-records.ts';
import { crmKey } from '../../lib/records/crm-table.ts';
import { emailKey } from '../../lib/validators/email.ts';
import { parsePhone } from '../../lib/validators/phone.ts';
import { CRM_KINDS, type CrmRecords, emptyRecords, KINDS, type LocatedRecord, place, put } from './kinds.ts';
import { describeRule, issuePath, type RecordError } from './record-errors.ts';

/** One item of the table of CRM records. */
export interface CrmItem {
  pk: string;
  record?: unknown;
  /** Of a client with a phone: its number in E.164. */
  e164?: string;
  /** Of a pointer: the client it leads to. */
  client_id?: string;
}

/**
 * The items that hold these records, and the pointers by which clients are found. A shared phone leads to its first
 * client.
 */
export async function serializeItems(records: CrmRecords): Promise<CrmItem[]> {
  const items = new Map<string, CrmItem>();
  for (const { kind, record } of place(records, () => '')) {
    const pk = KINDS[kind].key(record.id);
    const e164 = kind === 'clients' ? await phoneNumber(record) : undefined;
    items.set(pk, { pk, record, ...(e164 === undefined ? {} : { e164 }) });
  }
  for (const client of records.clients) {
    const e164 = items.get(crmKey.client(client.id))?.e164;
    const pointers = [
      crmKey.email(emailKey(client.email)),
      ...(e164 === undefined ? [] : [crmKey.phone(e164)]),
      ...(client.referral_code === undefined ? [] : [crmKey.referral(client.referral_code)]),
    ];
    for (const pk of pointers) if (!items.has(pk)) items.set(pk, { pk, client_id: client.id });
  }
  return [...items.values()];
}

async function phoneNumber({ phone }: Client): Promise<string | undefined> {
  return phone === undefined ? undefined : (await parsePhone(phone.country_code, phone.number))?.e164;
}

/** The records of these items, and the errors of unreadable ones. Pointers are skipped. */
export function parseItems(items: readonly CrmItem[]): { records: CrmRecords; faults: RecordError[] } {
  const records = emptyRecords();
  const faults: RecordError[] = [];
  for (const { pk, record } of items.toSorted((a, b) => (a.pk < b.pk ? -1 : 1))) {
    const kind = CRM_KINDS.find((name) => pk.startsWith(KINDS[name].key('')));
    if (kind === undefined) continue;
    const result = v.safeParse(KINDS[kind].schema, record);
    if (result.success) put(records, { path: pk, kind, record: result.output } as LocatedRecord);
    for (const issue of result.issues ?? []) faults.push({ path: issuePath(pk, issue), rule: describeRule(issue) });
  }
  return { records, faults };
}
