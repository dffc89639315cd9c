import * as v from 'valibot';
import { clientItem } from '../../lib/records/crm-clients.ts';
import {
  type AccountType,
  accountTypeSchema,
  type Client,
  type Connection,
  clientSchema,
  connectionSchema,
  crmKey,
  StoredAccountTypeSchema,
  StoredClientSchema,
  StoredConnectionSchema,
} from '../../lib/records/crm-records.ts';
import { type Form, formSchema, StoredFormSchema } from '../../lib/validators/form.ts';
import { closedObject, listViolations } from '../../lib/validators/primitives.ts';

/** The CRM's records. Any member of a CRM file may be absent. */
export interface CrmRecords {
  forms: Form[];
  clients: Client[];
  account_types: AccountType[];
  connections: Connection[];
}
export type CrmKind = keyof CrmRecords;

/**
 * `stored`: the schema of a record in an item, which leaves out unknown members. `written`: that of a record as people
 * write it, which refuses them by name. `indexed`: the value of the index `kind` for the records; clients have none,
 * because they are too many to be listed.
 */
export const RECORD_KINDS = {
  forms: { stored: StoredFormSchema, written: formSchema(closedObject), key: crmKey.form, indexed: 'form' },
  clients: { stored: StoredClientSchema, written: clientSchema(closedObject), key: crmKey.client, indexed: undefined },
  account_types: {
    stored: StoredAccountTypeSchema,
    written: accountTypeSchema(closedObject),
    key: crmKey.accountType,
    indexed: 'account_type',
  },
  connections: {
    stored: StoredConnectionSchema,
    written: connectionSchema(closedObject),
    key: crmKey.connection,
    indexed: 'connection',
  },
} as const satisfies Record<
  CrmKind,
  { stored: v.GenericSchema; written: v.GenericSchema; key: (id: string) => string; indexed?: string | undefined }
>;
export const CRM_KINDS = Object.keys(RECORD_KINDS) as CrmKind[];

/** A record and its location. */
export interface LocatedRecordMap<Kind extends CrmKind> {
  path: string;
  kind: Kind;
  record: CrmRecords[Kind][number];
}
export type LocatedRecord = { [Kind in CrmKind]: LocatedRecordMap<Kind> }[CrmKind];

/** The table key of a record of this kind. */
export function itemKey(kind: CrmKind, id: string): string {
  return RECORD_KINDS[kind].key(id);
}

/** One item of the table of CRM records. The other attributes follow from the record. */
export interface CrmItem {
  pk: string;
  record?: unknown;
  /** The kind of every record but a client's. */
  kind?: string;
  /** The number of a client with a phone, in E.164. */
  e164?: string;
  proven_email?: string;
  proven_phone?: string;
  referral_code?: string;
}

function recordKind(key: string): CrmKind | undefined {
  return CRM_KINDS.find((kind) => key.startsWith(itemKey(kind, '')));
}

/** The item that holds a record. */
export async function serializeRecord({ kind, record }: LocatedRecord): Promise<CrmItem> {
  if (kind === 'clients') return clientItem(record);
  return { pk: itemKey(kind, record.id), kind: RECORD_KINDS[kind].indexed, record };
}

/** The items that hold these records. */
export async function serializeItems(records: CrmRecords): Promise<CrmItem[]> {
  const located = CRM_KINDS.flatMap((kind) => records[kind].map((record) => ({ kind, record }) as LocatedRecord));
  return Promise.all(located.map(serializeRecord));
}

/** Parses the record of an item. @returns the record, or its errors if it cannot be read */
export function parseItem(
  { pk, record }: CrmItem,
  schema: 'stored' | 'written' = 'stored',
): LocatedRecord | { errors: RecordError[] } {
  const kind = recordKind(pk);
  if (kind === undefined) return { errors: [{ path: pk, rule: 'is not a key of this table' }] };
  const result = v.safeParse(RECORD_KINDS[kind][schema], record);
  if (!result.success) {
    return { errors: result.issues.map((issue) => ({ path: issuePath(pk, issue), rule: describeRule(issue) })) };
  }
  if (itemKey(kind, result.output.id) !== pk)
    return { errors: [{ path: `${pk}.id`, rule: 'must be the id in the key' }] };
  return { path: pk, kind, record: result.output } as LocatedRecord;
}

/** One error of a CRM file: its place, such as `clients[3].email`, and the rule it breaks. Never a value. */
export interface RecordError {
  path: string;
  rule: string;
}

export class CrmFileError extends Error {
  override readonly name = 'CrmFileError';
  /** The errors as texts. */
  readonly errors: readonly string[];

  constructor(errors: readonly RecordError[]) {
    const texts = errors.map(({ path, rule }) => (path === '' ? rule : `${path}: ${rule}`));
    super(texts.join('\n'));
    this.errors = texts;
  }
}

/** The path of an issue, below `base`. */
export function issuePath(base: string, issue: v.BaseIssue<unknown>): string {
  return (issue.path ?? []).reduce((path, { key }) => memberPath(path, key), base);
}

/** The path of a member: `clients[3].email`, `local_secrets["platform/x"]`. */
export function memberPath(path: string, key: unknown): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[A-Za-z_]\w*$/.test(String(key))) return `${path}[${JSON.stringify(String(key))}]`;
  return path === '' ? String(key) : `${path}.${String(key)}`;
}

/** Our description of the rule: the library's messages quote the value. */
export function describeRule(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === 'never') return 'is not known';
  return listViolations([issue])[0]?.detail ?? 'is not valid';
}
