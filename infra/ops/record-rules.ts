import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import iconv from 'iconv-lite';
import * as v from 'valibot';
import { type Connection, isManagerGroup, loginsOverlap } from '../../lib/records/crm-records.ts';
import { parsePhone } from '../../lib/validators/phone.ts';
import { LanguageSchema } from '../../lib/validators/primitives.ts';
import { type LocatedRecord, type LocatedRecordMap, memberPath, type RecordError } from './crm-items.ts';

/** The host of a connection to a simulated server of the local service. */
export const LOCAL_HOST = 'local';

/** A connection and its location. */
export type LocatedConnection = Omit<LocatedRecordMap<'connections'>, 'kind'>;

/** The database allows 400 KB for an item. The difference is for the other attributes. */
const MAX_RECORD_BYTES = 390_000;

/** The errors of connections to simulated servers: only the local service has them, so a deployment may not. */
export function localHostErrors(connections: readonly LocatedConnection[]): RecordError[] {
  return connections.flatMap(({ path, record }) =>
    record.host === LOCAL_HOST
      ? [{ path: `${path}.host`, rule: 'names a simulated server, which only `npm start` with CRM_FILE runs' }]
      : [],
  );
}

/** The errors of one record by the rules that its schema does not check. */
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
  // No platform has a smaller unit, and the database keeps no number as small as a schema takes.
  if (kind === 'account_types' && record.deposit !== 0 && Number(record.deposit) < 0.01)
    recordError('.deposit', 'must be 0, or at least 0.01');
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
 * The errors of login ranges that overlap on one host, for servers of one platform version.
 * @param kept connections that are in the table already
 */
export function overlapErrors(
  connections: readonly LocatedConnection[],
  kept: readonly LocatedConnection[] = [],
): RecordError[] {
  const before = [...kept];
  const errors: RecordError[] = [];
  for (const one of connections) {
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
