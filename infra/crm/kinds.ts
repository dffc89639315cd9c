import type * as v from 'valibot';
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
