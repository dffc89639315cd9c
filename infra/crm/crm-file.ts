import * as v from 'valibot';
import { platformSecretSchema } from '../../lib/records/crm-records.ts';
import { isObject } from '../../lib/validators/primitives.ts';
import { type CrmKind, type CrmRecords, emptyRecords, KINDS, type LocatedRecord, put } from './crm-items.ts';
import { CrmFileError, describeRule, issuePath, member, type RecordError } from './record-errors.ts';
import { duplicateErrors, LOCAL_HOST, overlapErrors, recordErrors } from './record-rules.ts';

export interface CrmFile extends CrmRecords {
  /** Values of secrets by name, which only the local service reads. */
  local_secrets: Record<string, unknown>;
}

/**
 * Reads the text of a CRM file.
 * @throws CrmFileError with every error
 */
export async function parseCrmFile(text: string): Promise<CrmFile> {
  return checkCrmFile(parseJson(text));
}

/** @throws CrmFileError with every error */
async function checkCrmFile(content: unknown): Promise<CrmFile> {
  if (!isObject(content)) throw new CrmFileError([{ path: '', rule: 'must be a JSON object' }]);
  const errors: RecordError[] = [];
  const file: CrmFile = { ...emptyRecords(), local_secrets: {} };
  const placed: LocatedRecord[] = [];

  for (const [name, value] of Object.entries(content)) {
    if (name === 'local_secrets') {
      if (isObject(value)) file.local_secrets = value;
      else errors.push({ path: name, rule: 'must be an object' });
    } else if (!isKind(name)) {
      errors.push({ path: member('', name), rule: 'is not known' });
    } else if (!Array.isArray(value)) {
      errors.push({ path: name, rule: 'must be an array' });
    } else {
      for (const [index, entry] of value.entries()) {
        const path = `${name}[${index}]`;
        const result = v.safeParse(KINDS[name].schema, entry);
        // The other rules are checked too if a record can be read, so that all errors are listed.
        if (result.typed) placed.push({ path, kind: name, record: result.output } as LocatedRecord);
        for (const issue of result.issues ?? []) {
          const at = issuePath(path, issue);
          errors.push({
            path: at,
            rule: at.endsWith('.logins') ? `${describeRule(issue)}: ${CHOOSE_RANGE}` : describeRule(issue),
          });
        }
      }
    }
  }

  errors.push(
    ...(await Promise.all(placed.map(recordErrors))).flat(),
    ...duplicateErrors(placed),
    ...overlapErrors(placed),
  );
  if (errors.length > 0) throw new CrmFileError(errors);
  for (const one of placed) put(file, one);
  return file;
}

/** How to choose the login range that every connection needs whose protocol names logins. */
const CHOOSE_RANGE =
  'choose a range such as { "from": 500000, "to": 599999 } that only this service uses on that server';

/** @throws CrmFileError that quotes nothing of the text */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    // The parser's message quotes the file, so only the place is taken from it.
    const place = /\(line \d+ column \d+\)/.exec(error instanceof Error ? error.message : '')?.[0];
    throw new CrmFileError([{ path: '', rule: ['is not JSON', place].filter(Boolean).join(' ') }]);
  }
}

/** The additional rules of the local service: connections to real servers need secrets. */
export function localSecretErrors(file: CrmFile): RecordError[] {
  return file.connections.flatMap((connection, index) => {
    const path = member('local_secrets', connection.secret);
    if (!Object.hasOwn(file.local_secrets, connection.secret)) {
      if (connection.host === LOCAL_HOST) return [];
      return [{ path, rule: `is missing; connections[${index}] is a real server and needs it` }];
    }
    const result = v.safeParse(platformSecretSchema(connection), file.local_secrets[connection.secret]);
    return (result.issues ?? []).map((issue) => ({ path: issuePath(path, issue), rule: describeRule(issue) }));
  });
}

function isKind(name: string): name is CrmKind {
  return Object.hasOwn(KINDS, name);
}
