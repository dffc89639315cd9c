import * as v from 'valibot';
import { platformSecretSchema } from '../../lib/records/crm-records.ts';
import {
  addRecord,
  CrmFileError,
  type CrmKind,
  type CrmRecords,
  describeRule,
  ErrorList,
  emptyCrmRecords,
  issuePath,
  type LocatedRecord,
  memberPath,
  RECORD_KINDS,
  type RecordError,
} from './crm-items.ts';
import { type ByteSource, readEntries } from './crm-json.ts';
import { LOCAL_HOST, type LocatedConnection, overlapErrors, recordErrors } from './record-rules.ts';
import { SeenKeys } from './seen-keys.ts';

export interface CrmFile extends CrmRecords {
  /** Values of secrets by name, which only the local service reads. */
  local_secrets: Record<string, unknown>;
}

/**
 * Reads the text of a CRM file, and holds all of it, as the local service does.
 * @throws CrmFileError with its errors
 */
export async function parseCrmFile(text: string): Promise<CrmFile> {
  const file: CrmFile = { ...emptyCrmRecords(), local_secrets: {} };
  const bytes = Buffer.from(text);
  await checkCrmFile(() => [bytes], {
    record: (one) => addRecord(file, one),
    secret: (name, value) => {
      file.local_secrets[name] = value;
    },
    connections: async (connections) => overlapErrors(connections),
  });
  return file;
}

/** The callbacks of a reader of a CRM file. */
interface FileVisitor {
  record?(one: LocatedRecord): void;
  secret?(name: string, value: unknown): void;
  /** @returns the errors between the connections of the file, which are few */
  connections(found: readonly LocatedConnection[]): Promise<RecordError[]>;
}

/**
 * Reads a CRM file once, and checks all rules. Apart from its connections it holds the records of one part of the source.
 * @throws CrmFileError with its errors
 */
export async function checkCrmFile(source: ByteSource, visitor: FileVisitor): Promise<void> {
  const errors = new ErrorList();
  const connections: LocatedConnection[] = [];
  const seen = new SeenKeys();
  try {
    for await (const records of locateRecords(source, errors, visitor.secret)) {
      for (const one of records) {
        errors.add(...(await recordErrors(one)), ...duplicateErrors(one, seen));
        if (one.kind === 'connections') connections.push(one);
        visitor.record?.(one);
      }
    }
  } finally {
    seen.close();
  }
  errors.add(...(await visitor.connections(connections)));
  if (errors.count > 0) throw new CrmFileError(errors.listed, errors.count);
}

/**
 * Reads the records of a CRM file, those of one part of the source at a time.
 * @param errors gets the errors of the JSON, and those of the records by their schemas
 */
export async function* locateRecords(
  source: ByteSource,
  errors: ErrorList,
  secret?: FileVisitor['secret'],
): AsyncGenerator<LocatedRecord[]> {
  for await (const entries of readEntries(source, errors)) {
    const records: LocatedRecord[] = [];
    for (const entry of entries) {
      if (entry.member === 'local_secrets') secret?.(entry.key, entry.value);
      else records.push(...locateRecord(entry.member, entry, errors));
    }
    yield records;
  }
}

/**
 * Parses a record of the file and adds its errors.
 * @returns no record if it cannot be read; a record that only breaks a rule is returned, so that all errors are listed
 */
function locateRecord(
  kind: CrmKind,
  { key, value }: { key: number; value: unknown },
  errors: ErrorList,
): LocatedRecord[] {
  const path = `${kind}[${key}]`;
  const result = v.safeParse(RECORD_KINDS[kind].schema, value);
  for (const issue of result.issues ?? []) {
    const at = issuePath(path, issue);
    const rule = describeRule(issue);
    errors.add({ path: at, rule: at.endsWith('.logins') ? `${rule}: ${CHOOSE_RANGE}` : rule });
  }
  return result.typed ? [{ path, kind, record: result.output } as LocatedRecord] : [];
}

/** How to choose the login range. Every connection whose protocol names logins needs one. */
const CHOOSE_RANGE =
  'choose a range such as { "from": 500000, "to": 599999 } that only this service uses on that server';

/** The errors for duplicate ids and referral codes. Two clients may have one address. */
function duplicateErrors({ path, kind, record }: LocatedRecord, seen: SeenKeys): RecordError[] {
  const keys = [{ key: RECORD_KINDS[kind].key(record.id), path: `${path}.id` }];
  if (kind === 'clients' && record.referral_code !== undefined)
    keys.push({ key: `referral_code ${record.referral_code}`, path: `${path}.referral_code` });
  return keys.flatMap((one) => {
    const first = seen.add(one.key, one.path);
    return first === undefined ? [] : [{ path: one.path, rule: `is the same as ${first}` }];
  });
}

/** The additional rules of the local service: connections to real servers need secrets. */
export function localSecretErrors(file: CrmFile): RecordError[] {
  return file.connections.flatMap((connection, index) => {
    const path = memberPath('local_secrets', connection.secret);
    if (!Object.hasOwn(file.local_secrets, connection.secret)) {
      if (connection.host === LOCAL_HOST) return [];
      return [{ path, rule: `is missing; connections[${index}] is a real server and needs it` }];
    }
    const result = v.safeParse(platformSecretSchema(connection), file.local_secrets[connection.secret]);
    return (result.issues ?? []).map((issue) => ({ path: issuePath(path, issue), rule: describeRule(issue) }));
  });
}
