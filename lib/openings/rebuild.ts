import type { Item } from '../aws/dynamodb.ts';
import type { AccountOrigin, AccountRecord } from '../records/accounts.ts';
import { type Connection, loginRanges } from '../records/crm-records.ts';
import { dueAttributes, OPERATOR_ONLY } from '../records/due.ts';
import { DAY_MS, isFinished, type LifeAt } from './life.ts';
import { connectionPlace, heldLogins, type ReservationPlace, reservationKey } from './reservation.ts';
import { type HeldOperation, type OperationPlan, parseHeld } from './stored-operation.ts';

/**
 * Rebuilds a lost ledger while the functions are closed: reservations from the records of accounts and from the operations
 * that are left, operations from the records. Nothing that belongs to another operation is overwritten.
 */

/** A table, a page of items at a time. */
interface RebuildTable {
  pages(): AsyncIterable<Item[]>;
  /** The items with these keys, in any order. */
  get(keys: Item[]): Promise<Item[]>;
  /** Adds an item. @returns false if its key exists */
  add(item: Item): Promise<boolean>;
  /** @param read the item as it was read; undefined: there was none. @throws if it has changed since */
  put(item: Item, read: Item | undefined): Promise<void>;
}

export interface RebuildReport {
  /** Written, or, in a dry run, what would be. */
  reservations: number;
  operations: number;
  /** The operations whose event is due again: their accounts were opened in the last two days. */
  due: number;
  /** Logins that two operations claim. */
  conflicts: { login: string; holder: string; wants: string }[];
  /** Items that cannot be read or placed, with the reason. */
  unplaced: string[];
  /** The logins that a record or an operation names, by connection. */
  recorded: Map<string, Set<number>>;
}

interface Rebuild {
  tables: Record<'accounts' | 'operations' | 'logins', RebuildTable>;
  connections: ReadonlyMap<string, Connection>;
  /** Epoch milliseconds. */
  now: number;
  dryRun: boolean;
  report: RebuildReport;
}

/** Older accounts have been completed. */
const DUE_AGAIN_MS = 2 * DAY_MS;

/** @param readRecord reads the item of an account; undefined if it cannot be read */
export async function rebuildLedger(
  tables: Rebuild['tables'],
  connections: readonly Connection[],
  readRecord: (item: Item) => AccountRecord | undefined,
  { now, dryRun }: Pick<Rebuild, 'now' | 'dryRun'>,
): Promise<RebuildReport> {
  const report: RebuildReport = {
    reservations: 0,
    operations: 0,
    due: 0,
    conflicts: [],
    unplaced: [],
    recorded: new Map(),
  };
  const known = new Map(connections.map((connection) => [connection.id, connection]));
  const rebuild: Rebuild = { tables, connections: known, now, dryRun, report };
  for await (const page of tables.accounts.pages())
    for (const item of page) {
      const record = readRecord(item);
      if (record === undefined) report.unplaced.push(`${item.pk} ${item.sk}: cannot be read`);
      else await rebuildFromRecord(rebuild, record);
    }
  // The keys of registrations of earlier versions have no `life`.
  for await (const page of tables.operations.pages())
    for (const item of page.filter(({ life }) => life !== undefined)) await reserveOfOperation(rebuild, item);
  return report;
}

async function rebuildFromRecord(rebuild: Rebuild, record: AccountRecord): Promise<void> {
  const { connections, report } = rebuild;
  const { origin, connection_id, version, login, operation_id } = record;
  const connection = connections.get(connection_id);
  const place = placeOfRecord(record, connection);
  if (place === undefined) {
    report.unplaced.push(`${operation_id}: the CRM has no connection ${connection_id} of ${version}`);
    return;
  }
  const word = record.word === true ? origin?.pk : undefined;
  for (const held of [login, ...(origin?.closed ?? [])]) await reserve(rebuild, place, held, operation_id, word);
  // Records of 1.x do not say what their operation follows from: its key names the same login again.
  if (origin !== undefined) await restoreOperation(rebuild, { ...record, origin }, connection);
}

function placeOfRecord(
  { origin, version, connection_id }: AccountRecord,
  connection: Connection | undefined,
): ReservationPlace | undefined {
  if (origin !== undefined) return { version, connection_id, keyed: origin.keyed, server: origin.server };
  // Every protocol of this version names the login.
  if (version === 'tp5') return { version, connection_id, keyed: true };
  return connection?.platform === version ? connectionPlace(connection) : undefined;
}

/** Writes the operation of a record, unless it is left and knows its account. */
async function restoreOperation(
  { tables, report, now, dryRun }: Rebuild,
  record: AccountRecord & { origin: AccountOrigin },
  connection: Connection | undefined,
): Promise<void> {
  const { pk } = record.origin;
  const [left] = await tables.operations.get([{ pk }]);
  if (left !== undefined && left.operation_id !== record.operation_id) {
    report.conflicts.push({ login: pk, holder: String(left.operation_id), wants: record.operation_id });
    return;
  }
  if (left !== undefined && isOpenItem(left, record.login)) return;
  const item = operationItem(record, connection, now);
  report.operations += 1;
  if (now - Date.parse(record.opened_at) < DUE_AGAIN_MS) report.due += 1;
  if (!dryRun) await tables.operations.put(item, left);
}

function isOpenItem(item: Item, login: number): boolean {
  const held = readHeld(item);
  return held?.life.at === 'open' && held.life.login === login;
}

function readHeld(item: Item): HeldOperation | undefined {
  try {
    return parseHeld(item);
  } catch {
    return undefined;
  }
}

/** The item of the operation that has opened a recorded account. */
function operationItem(
  { origin, login, opened_at, word, ...details }: AccountRecord & { origin: AccountOrigin },
  connection: Connection | undefined,
  now: number,
): Item {
  const { pk, fingerprint, secret, derivation, keyed, server, exclusive, login_given, closed, event } = origin;
  const isRecent = now - Date.parse(opened_at) < DUE_AGAIN_MS;
  // Only a version 5 server is paid after the opening.
  const isPaid = connection?.protocol === 'web-api' && connection.demo && details.account_type_id !== undefined;
  const life: LifeAt<'open'> = {
    at: 'open',
    login,
    opened_at,
    recorded: true,
    mail: 'none',
    ...(word === true && { word }),
    published: !isRecent,
    deposit: isRecent && isPaid ? 'unpaid' : 'none',
  };
  const plan: OperationPlan = {
    ...details,
    keyed,
    server,
    exclusive,
    login_given,
    deposit_with_opening: connection?.protocol !== 'web-api',
  };
  return {
    pk,
    operation_id: details.operation_id,
    fingerprint,
    secret,
    derivation,
    lease: 'rebuilt',
    lease_until: 0,
    revision: 1,
    life,
    plan,
    since: Date.parse(opened_at),
    closed,
    event,
    ...(!isFinished(life) && dueAttributes(details.operation_id, now)),
  };
}

/** Reserves what an operation that is left holds. A payment that it has not seen may have left: an operator pays. */
async function reserveOfOperation(rebuild: Rebuild, item: Item): Promise<void> {
  const { tables, report, dryRun } = rebuild;
  const held = readHeld(item);
  if (held === undefined) {
    report.unplaced.push(`${item.pk}: cannot be read`);
    return;
  }
  const { life, plan, operationId, pk } = held;
  if (plan === undefined) return;
  const word = life.at === 'open' && life.word === true ? pk : undefined;
  for (const login of heldLogins(life, held)) await reserve(rebuild, plan, login, operationId, word);
  if (life.at !== 'open' || (life.deposit !== 'due' && life.deposit !== 'sent')) return;
  const unpaid: LifeAt<'open'> = { ...life, deposit: 'unpaid' };
  const due = isFinished(unpaid) ? dueAttributes(operationId, OPERATOR_ONLY) : {};
  if (!dryRun) await tables.operations.put({ ...item, ...due, life: unpaid }, item);
}

async function reserve(
  { tables, report, dryRun }: Rebuild,
  place: ReservationPlace,
  login: number,
  operation_id: string,
  word: string | undefined,
): Promise<void> {
  const { connection_id } = place;
  const logins = report.recorded.get(connection_id) ?? new Set();
  report.recorded.set(connection_id, logins.add(login));
  const item = { pk: reservationKey(place, login), operation_id, connection_id, ...(word !== undefined && { word }) };
  const [holder] = await tables.logins.get([{ pk: item.pk }]);
  if (holder === undefined) {
    report.reservations += 1;
    if (!dryRun) await tables.logins.add(item);
  } else if (holder.operation_id !== operation_id && !report.conflicts.some(({ wants }) => wants === operation_id)) {
    report.conflicts.push({ login: item.pk, holder: String(holder.operation_id), wants: operation_id });
  }
}

/** The logins of our ranges that a server has and that no record, operation or reservation names. */
export function unrecordedLogins(
  connection: Connection,
  serverLogins: readonly number[],
  recorded: RebuildReport['recorded'],
): number[] {
  const known = new Set([...recorded.values()].flatMap((logins) => [...logins]));
  const ranges = loginRanges(connection);
  return serverLogins.filter(
    (login) => ranges.some(({ from, to }) => from <= login && login <= to) && !known.has(login),
  );
}
