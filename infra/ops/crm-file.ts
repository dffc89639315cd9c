import * as v from 'valibot';
import { platformSecretSchema } from '../../lib/records/crm-records.ts';
import { isObject } from '../../lib/validators/primitives.ts';
import {
  CRM_KINDS,
  CrmFileError,
  type CrmRecords,
  describeRule,
  issuePath,
  type LocatedRecord,
  memberPath,
  RECORD_KINDS,
  type RecordError,
} from './crm-items.ts';
import { LOCAL_HOST, overlapErrors, recordErrors } from './record-rules.ts';

export interface CrmFile extends CrmRecords {
  /** Values of secrets by name, which only the local service reads. */
  local_secrets: Record<string, unknown>;
}

/**
 * Reads the text of a CRM file, as the local service does.
 * @throws CrmFileError with its errors
 */
export async function parseCrmFile(text: string): Promise<CrmFile> {
  const { records, errors, local_secrets } = await readCrmFile(text);
  const allErrors = [...errors, ...overlapErrors(records.filter((one) => one.kind === 'connections'))];
  if (allErrors.length > 0) throw new CrmFileError(allErrors);
  const file: CrmFile = { forms: [], clients: [], account_types: [], connections: [], local_secrets };
  for (const { kind, record } of records) (file[kind] as unknown[]).push(record);
  return file;
}

/** The records of a CRM file, and all its errors but those between connections. No error quotes a value. */
export async function readCrmFile(text: string) {
  const members = parseObject(text);
  const known: readonly string[] = [...CRM_KINDS, 'local_secrets'];
  const { local_secrets = {} } = members;
  const unknown = Object.keys(members).filter((name) => !known.includes(name));
  const errors: RecordError[] = unknown.map((name) => ({ path: memberPath('', name), rule: 'is not known' }));
  if (!isObject(local_secrets)) errors.push({ path: 'local_secrets', rule: 'must be an object' });
  const records: LocatedRecord[] = [];
  for (const kind of CRM_KINDS) {
    const list = members[kind] ?? [];
    if (!Array.isArray(list)) errors.push({ path: kind, rule: 'must be an array' });
    else for (const [index, value] of list.entries()) records.push(...readRecord(kind, index, value, errors));
  }
  for (const one of records) errors.push(...(await recordErrors(one)));
  errors.push(...duplicateErrors(records));
  return { records, errors, local_secrets: isObject(local_secrets) ? local_secrets : {} };
}

/** @throws CrmFileError for a text that is no JSON object, with the place; the parser's message may quote the text */
function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const [, place = ''] = /( \(line \d+ column \d+\))$/.exec(error instanceof Error ? error.message : '') ?? [];
    throw new CrmFileError([{ path: '', rule: `is not JSON${place}` }]);
  }
  if (!isObject(value)) throw new CrmFileError([{ path: '', rule: 'must be a JSON object' }]);
  return value;
}

/**
 * Parses a record of the file and adds its errors.
 * @returns no record if it cannot be read; a record that only breaks a rule is returned, so that all errors are listed
 */
function readRecord(
  kind: (typeof CRM_KINDS)[number],
  index: number,
  value: unknown,
  errors: RecordError[],
): LocatedRecord[] {
  const path = `${kind}[${index}]`;
  const result = v.safeParse(RECORD_KINDS[kind].written, value);
  for (const issue of result.issues ?? []) {
    const at = issuePath(path, issue);
    const rule = describeRule(issue);
    errors.push({ path: at, rule: at.endsWith('.logins') ? `${rule}: ${CHOOSE_RANGE}` : rule });
  }
  return result.typed ? [{ path, kind, record: result.output } as LocatedRecord] : [];
}

/** How to choose the login range. Every connection whose protocol names logins needs one. */
const CHOOSE_RANGE =
  'choose a range such as { "from": 500000, "to": 599999 } that only this service uses on that server';

/** The errors for duplicate ids and referral codes. Two clients may have one address. */
function duplicateErrors(records: readonly LocatedRecord[]): RecordError[] {
  const seen = new Map<string, string>();
  return records.flatMap(({ path, kind, record }) => {
    const keys = [{ key: RECORD_KINDS[kind].key(record.id), path: `${path}.id` }];
    if (kind === 'clients' && record.referral_code !== undefined)
      keys.push({ key: `referral_code ${record.referral_code}`, path: `${path}.referral_code` });
    return keys.flatMap((one) => {
      const first = seen.get(one.key);
      if (first !== undefined) return [{ path: one.path, rule: `is the same as ${first}` }];
      seen.set(one.key, one.path);
      return [];
    });
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
