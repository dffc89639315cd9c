import * as v from 'valibot';
import { clientItem, clientPointers } from '../../lib/records/client-items.ts';
import {
  type AccountType,
  AccountTypeSchema,
  type Client,
  ClientSchema,
  type Connection,
  ConnectionSchema,
} from '../../lib/records/crm-records.ts';
import { crmKey } from '../../lib/records/crm-table.ts';
import { type Form, FormSchema } from '../../lib/validators/form.ts';
import { describeRule, issuePath, type RecordError } from './record-errors.ts';

/** The CRM's records. Any member of a CRM file may be absent. */
export interface CrmRecords {
  forms: Form[];
  clients: Client[];
  account_types: AccountType[];
  connections: Connection[];
}
export type CrmKind = keyof CrmRecords;
type CrmRecord = CrmRecords[CrmKind][number];

export const KINDS = {
  forms: { schema: FormSchema, key: crmKey.form },
  clients: { schema: ClientSchema, key: crmKey.client },
  account_types: { schema: AccountTypeSchema, key: crmKey.accountType },
  connections: { schema: ConnectionSchema, key: crmKey.connection },
} as const satisfies Record<CrmKind, { schema: v.GenericSchema; key: (id: string) => string }>;
export const CRM_KINDS = Object.keys(KINDS) as CrmKind[];

/** A record and its location. */
export interface LocatedRecordMap<Kind extends CrmKind> {
  path: string;
  kind: Kind;
  record: CrmRecords[Kind][number];
}
export type LocatedRecord = { [Kind in CrmKind]: LocatedRecordMap<Kind> }[CrmKind];

export function emptyRecords(): CrmRecords {
  return { forms: [], clients: [], account_types: [], connections: [] };
}

/** The records one by one; `path` names each in the words of the caller. */
export function place(
  records: CrmRecords,
  path: (kind: CrmKind, index: number, id: string) => string,
): LocatedRecord[] {
  return CRM_KINDS.flatMap((kind) =>
    records[kind].map((record, index) => ({ path: path(kind, index, record.id), kind, record }) as LocatedRecord),
  );
}

/** The table key of a record of this kind. */
export function itemKey(kind: CrmKind, id: string): string {
  return KINDS[kind].key(id);
}

/** Puts a record among the others of its kind. */
export function put(records: CrmRecords, one: LocatedRecord): void {
  (records[one.kind] as CrmRecord[]).push(one.record);
}

/** One item of the table of CRM records: a record, or a pointer that leads to some. */
export interface CrmItem {
  pk: string;
  record?: unknown;
  /** Of a client with a phone: its number in E.164. */
  e164?: string;
  /** Of a pointer to one client. */
  client_id?: string;
  /** Of a phone number, sorted. */
  client_ids?: string[];
  /** Of a server, sorted. */
  connection_ids?: string[];
}

/** The target of a pointer, and the attribute with its id. */
interface PointerKind {
  to: CrmKind;
  attribute: 'client_id' | 'client_ids' | 'connection_ids';
}

const POINTERS: Readonly<Record<string, PointerKind>> = {
  email: { to: 'clients', attribute: 'client_id' },
  referral: { to: 'clients', attribute: 'client_id' },
  phone: { to: 'clients', attribute: 'client_ids' },
  server: { to: 'connections', attribute: 'connection_ids' },
};

/** @returns undefined for the key of a record, and for a key that nothing uses */
export function pointerKind(key: string): PointerKind | undefined {
  const prefix = key.slice(0, key.indexOf('#'));
  return Object.hasOwn(POINTERS, prefix) ? POINTERS[prefix] : undefined;
}

export function recordKind(key: string): CrmKind | undefined {
  return CRM_KINDS.find((kind) => key.startsWith(itemKey(kind, '')));
}

/** Two records may not share such a pointer. */
export function isUnique(key: string): boolean {
  return pointerKind(key)?.attribute === 'client_id';
}

/** The ids of the records that a pointer leads to; none if another writer gave it another type. */
export function ownerIds({ client_id, client_ids, connection_ids }: CrmItem): string[] {
  return [client_ids ?? connection_ids ?? client_id].flat().filter((id) => typeof id === 'string');
}

/** The item of a pointer. @param ids one, if the pointer is unique */
export function pointer(pk: string, ids: readonly string[]): CrmItem {
  const { attribute } = pointerKind(pk) ?? {};
  if (attribute === 'client_id') return { pk, ...(ids[0] === undefined ? {} : { client_id: ids[0] }) };
  return attribute === undefined ? { pk } : { pk, [attribute]: ids.toSorted() };
}

/** The keys of the pointers that lead to a record. @param item that of the record */
function pointerKeys({ kind, record }: LocatedRecord, { e164 }: CrmItem): string[] {
  if (kind === 'connections') return 'logins' in record ? [crmKey.server(record.platform, record.host)] : [];
  return kind === 'clients' ? clientPointers(record, e164) : [];
}

/** Records as items, and the ids that each of their pointers names. */
export async function serializeRecords(placed: readonly LocatedRecord[]) {
  const items: CrmItem[] = [];
  const owners = new Map<string, string[]>();
  for (const one of placed) {
    const { kind, record } = one;
    const item: CrmItem = kind === 'clients' ? await clientItem(record) : { pk: itemKey(kind, record.id), record };
    items.push(item);
    for (const key of pointerKeys(one, item)) owners.set(key, [...(owners.get(key) ?? []), one.record.id]);
  }
  return { items, owners };
}

/** The items that hold these records, and the pointers that lead to them. */
export async function serializeItems(records: CrmRecords): Promise<CrmItem[]> {
  const { items, owners } = await serializeRecords(place(records, () => ''));
  return [...items, ...[...owners].map(([key, ids]) => pointer(key, ids))];
}

/** The records of these items, and the errors of unreadable ones. Pointers are skipped. */
export function parseItems(items: readonly CrmItem[]): { records: CrmRecords; errors: RecordError[] } {
  const records = emptyRecords();
  const errors: RecordError[] = [];
  for (const { pk, record } of items.toSorted((a, b) => (a.pk < b.pk ? -1 : 1))) {
    const kind = recordKind(pk);
    if (kind === undefined) continue;
    const result = v.safeParse(KINDS[kind].schema, record);
    if (!result.success)
      errors.push(...result.issues.map((issue) => ({ path: issuePath(pk, issue), rule: describeRule(issue) })));
    else if (itemKey(kind, result.output.id) !== pk)
      errors.push({ path: `${pk}.id`, rule: 'must be the id in the key' });
    else put(records, { path: pk, kind, record: result.output } as LocatedRecord);
  }
  return { records, errors };
}
