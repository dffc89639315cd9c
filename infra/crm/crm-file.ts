import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import iconv from 'iconv-lite';
import * as v from 'valibot';
import { type Connection, isManagerGroup, loginsOverlap, platformSecretSchema } from '../../lib/records/crm-records.ts';
import { parsePhone } from '../../lib/validators/phone.ts';
import { isObject, LanguageSchema } from '../../lib/validators/primitives.ts';
import {
  addRecord,
  CrmFileError,
  type CrmKind,
  type CrmRecords,
  describeRule,
  emptyRecords,
  issuePath,
  type LocatedRecord,
  type LocatedRecordMap,
  memberPath,
  RECORD_KINDS,
  type RecordError,
} from './crm-items.ts';

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
      errors.push({ path: memberPath('', name), rule: 'is not known' });
    } else if (!Array.isArray(value)) {
      errors.push({ path: name, rule: 'must be an array' });
    } else {
      for (const [index, entry] of value.entries()) {
        const path = `${name}[${index}]`;
        const result = v.safeParse(RECORD_KINDS[name].schema, entry);
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
  for (const one of placed) addRecord(file, one);
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
    const path = memberPath('local_secrets', connection.secret);
    if (!Object.hasOwn(file.local_secrets, connection.secret)) {
      if (connection.host === LOCAL_HOST) return [];
      return [{ path, rule: `is missing; connections[${index}] is a real server and needs it` }];
    }
    const result = v.safeParse(platformSecretSchema(connection), file.local_secrets[connection.secret]);
    return (result.issues ?? []).map((issue) => ({ path: issuePath(path, issue), rule: describeRule(issue) }));
  });
}

function isKind(name: string): name is CrmKind {
  return Object.hasOwn(RECORD_KINDS, name);
}

/** The host of a connection to a simulated server of the local service. */
export const LOCAL_HOST = 'local';

/** The database allows 400 KB for an item; the rest is for the other attributes. */
const MAX_RECORD_BYTES = 390_000;

/** Simulated servers, which only the local service has, are not allowed in a deployment. */
export function localHostErrors(placed: readonly LocatedRecord[]): RecordError[] {
  return placed.flatMap(({ path, kind, record }) =>
    kind === 'connections' && record.host === LOCAL_HOST
      ? [{ path: `${path}.host`, rule: 'names a simulated server, which only `npm start` with CRM_FILE runs' }]
      : [],
  );
}

/** Duplicate ids and referral codes. Two clients may have one address. */
export function duplicateErrors(placed: readonly LocatedRecord[]): RecordError[] {
  const seen = new Map<string, string>();
  const errors: RecordError[] = [];
  function once(key: string, path: string): void {
    const first = seen.get(key);
    if (first === undefined) seen.set(key, path);
    else errors.push({ path, rule: `is the same as ${first}` });
  }
  for (const { path, kind, record } of placed) {
    once(RECORD_KINDS[kind].key(record.id), `${path}.id`);
    if (kind === 'clients' && record.referral_code !== undefined)
      once(`referral_code ${record.referral_code}`, `${path}.referral_code`);
  }
  return errors;
}

/** The rules of one record that its schema does not know. */
export async function recordErrors({ path, kind, record }: LocatedRecord): Promise<RecordError[]> {
  const errors: RecordError[] = [];
  const recordError = (at: string, rule: string) => {
    errors.push({ path: `${path}${at}`, rule });
  };
  if (Buffer.byteLength(JSON.stringify(record)) > MAX_RECORD_BYTES)
    recordError('', `must be at most ${MAX_RECORD_BYTES} bytes`);
  if (kind === 'clients') {
    const isData = record.unproven?.includes('phone');
    if (
      record.phone !== undefined &&
      !isData &&
      (await parsePhone(record.phone.country_code, record.phone.number)) === undefined
    )
      recordError('.phone', 'must be a valid phone number');
    if (record.language !== undefined && !v.is(LanguageSchema, record.language))
      recordError('.language', 'must be a BCP 47 tag');
  }
  if (kind === 'connections') connectionErrors(record, recordError);
  return errors;
}

function connectionErrors(connection: Connection, report: (at: string, rule: string) => void): void {
  if (!isHost(connection.host)) report('.host', 'must be a host name or an address, without scheme and port');
  if ('code_page' in connection && !iconv.encodingExists(connection.code_page))
    report('.code_page', 'is not a known encoding');
  if ('ca' in connection && connection.ca !== undefined && !isCertificate(connection.ca))
    report('.ca', 'must be a PEM certificate');
  const { groups = [] } = connection;
  const names = Array.isArray(groups) ? groups.entries() : Object.keys(groups).map((name) => [name, name] as const);
  for (const [key, name] of names) {
    if (isManagerGroup(name)) report(memberPath('.groups', key), 'must not be a group of managers');
  }
}

/**
 * Ranges of logins that overlap on one host, for servers of one platform version.
 * @param kept connections that are in the table already
 */
export function overlapErrors(
  placed: readonly LocatedRecord[],
  kept: readonly Omit<LocatedRecordMap<'connections'>, 'kind'>[] = [],
): RecordError[] {
  const before = [...kept];
  const errors: RecordError[] = [];
  for (const one of placed.filter(isConnection)) {
    const other = before.find(({ record }) => loginsOverlap(record, one.record));
    if (other !== undefined && one.record.host !== LOCAL_HOST)
      errors.push({
        path: `${one.path}.logins`,
        rule: `has logins of ${other.path}.logins, which is on the same host`,
      });
    before.push(one);
  }
  return errors;
}

function isConnection(one: LocatedRecord): one is LocatedRecordMap<'connections'> {
  return one.kind === 'connections';
}

function isHost(host: string): boolean {
  return (
    isIP(host) !== 0 ||
    /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i.test(host)
  );
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
