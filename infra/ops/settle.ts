import type { Item } from '../../lib/aws/dynamodb.ts';
import { planTimes } from '../../lib/openings/dependencies.ts';
import { ID_LENGTH } from '../../lib/openings/derivation.ts';
import { driveOperation } from '../../lib/openings/drive.ts';
import type { Job } from '../../lib/openings/job.ts';
import type { HeldOperation, OperationPlan } from '../../lib/openings/ledger.ts';
import type { Fact } from '../../lib/openings/life.ts';
import {
  connectionPlace,
  hasMoved,
  type ReservationPlace,
  reservationKey,
  reservedLogin,
} from '../../lib/openings/reservation-key.ts';
import { type MovedReservation, NOBODY } from '../../lib/openings/reservation-writes.ts';
import type { Sighting } from '../../lib/platform/platform.ts';
import type { AccountRecord } from '../../lib/records/accounts.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import { RETRY_ONLY } from '../../lib/records/due.ts';
import type { Telemetry } from '../../lib/telemetry.ts';
import { readAccountRecords, readAccounts } from './account-records.ts';
import { ASK_SERVER_MS, readableConnection, tryAskServer } from './ask-server.ts';
import { CommandError, wrongUsage } from './command.ts';
import {
  findOperation,
  isReadable,
  type OperationStore,
  openLedger,
  operationFacts,
  type ReadableOperation,
  unreadableItem,
} from './open-operations.ts';
import { readConnections } from './table-records.ts';
import { openTable, type Target } from './target.ts';
import { jsonLines, type Terminal } from './terminal.ts';
import { UNREADABLE_ITEM_PAGE } from './unreadable.ts';
import { describeWays, type KnownOperation, type WayOption, type WayToSettle, waysToSettle } from './ways-to-settle.ts';

/** The longest time for which an operator's command holds an operation, in milliseconds. */
const LEASE_MS = 60_000;
const CALL_MS = 10_000;
const callSignal = () => AbortSignal.timeout(CALL_MS);

/** Shows an operation, its account on the server, and every command that would settle it. */
export async function showOperation(target: Target, id: string, terminal: Terminal): Promise<void> {
  const { held, ...listed } = await existingOperation(target, id);
  const known = await examine(target, held, listed.dueAt);
  terminal.print(jsonLines(operationFacts({ ...listed, held })));
  terminal.print([describeServer(known), describeWays(known, waysToSettle(known))].flatMap((one) => one.split('\n')));
}

/** @throws CommandError with the traces of an operation that the ledger does not have */
async function existingOperation(target: Target, id: string): Promise<ReadableOperation> {
  const found = await findOperation(target, id);
  if (found !== undefined && isReadable(found)) return found;
  if (found !== undefined) throw new CommandError(`${unreadableItem(found)} ${UNREADABLE_ITEM_PAGE}`);
  const { record, reservations } = await findTraces(target, id);
  const traces = [
    record && ` Its record says that it has opened the account ${record.login} of the client ${record.user_id}.`,
    ...reservations.map(({ login }) => ` The login ${login} is reserved for it, so it may have opened that account.`),
  ].filter((one) => one !== undefined);
  const retry = traces.length === 0 ? '' : ' A retry with the same key goes on with it.';
  throw new CommandError(`There is no operation ${id}.${traces.join('')}${retry}`);
}

/** The traces of an operation outside its own item, which a restore may have lost or set back. */
interface Traces {
  record: AccountRecord | undefined;
  reservations: { pk: string; login: number; connectionId: string }[];
}

/** Scans both tables: their keys do not name the operation. */
async function findTraces(target: Target, id: string): Promise<Traces> {
  const find = async (table: 'Accounts' | 'Logins') => {
    const found: Item[] = [];
    for await (const page of (await openTable(target, table)).pages())
      found.push(...page.filter(({ operation_id }) => operation_id === id));
    return found;
  };
  const { records } = readAccountRecords(await find('Accounts'));
  const reservations = (await find('Logins')).map(({ pk, connection_id }) => ({
    ...{ pk: String(pk), login: reservedLogin(pk), connectionId: String(connection_id) },
  }));
  return { record: records[0], reservations };
}

/**
 * Gathers what the ledger, the records and the server know of an operation. A plan that a restore lost is taken from
 * the account's record.
 */
async function examine(target: Target, held: HeldOperation, dueAt: number | undefined): Promise<KnownOperation> {
  const { life, plan } = held;
  const connection = plan?.keyed === true ? await readableConnection(target, plan.connection_id) : undefined;
  const movedFrom = connection && hasMoved(plan?.server, connection) ? plan?.server : undefined;
  const known = { held, dueAt, movedFrom, recorded: undefined, seen: new Map(), holders: new Map(), now: Date.now() };
  if (life.at === 'done' && life.unpaid) {
    if (movedFrom !== undefined) return known;
    const ask = tryAskServer(target, connection, (server, signal) => server.holdsFunds(life.login, signal));
    return { ...known, holdsFunds: await ask };
  }
  if (life.at === 'sent') return { ...known, seen: await lookAt(target, held, plan, [life.login], connection) };
  if (life.at !== 'undecided') return known;
  // A restore may have left the operation without its login, or without its plan.
  const traces =
    life.login === undefined && plan?.keyed !== false ? await findTraces(target, held.operationId) : undefined;
  const record = traces?.record ?? (plan && (await recordOf(target, plan.user_id, held.operationId)));
  held.plan = plan ?? (record && (await recordedPlan(target, record)));
  const asked = [life.login, life.other, record?.login];
  const seen = await lookAt(target, held, held.plan, asked, connection);
  for (const { login, connectionId } of traces?.reservations ?? []) {
    const place = held.plan ?? { connection_id: connectionId, keyed: true };
    for (const [key, sighting] of await lookAt(target, held, place, [login])) seen.set(key, sighting);
  }
  const holders = await otherHolders(target, held, [...seen.keys(), ...(record === undefined ? [] : [record.login])]);
  return { ...known, recorded: record?.login, seen, holders };
}

/** The other operations that hold these logins, by login. */
async function otherHolders(
  target: Target,
  { operationId, plan }: HeldOperation,
  logins: readonly number[],
): Promise<Map<number, string>> {
  if (plan === undefined) return new Map();
  const keys = [...new Set(logins.map((login) => reservationKey(plan, login)))];
  const items = await (await openTable(target, 'Logins')).get(keys.map((pk) => ({ pk })));
  const others = items.filter(({ operation_id }) => operation_id !== operationId);
  return new Map(others.map(({ pk, operation_id }) => [reservedLogin(pk), String(operation_id)]));
}

/**
 * The server's answers about the logins of an operation. `foreign`: the comment names the operation that holds the login.
 * A server that chooses its logins cannot be asked for any. Another server than the one that got the command shows only an
 * account with the operation's id. @param known the connection of the place; absent: it is read
 */
async function lookAt(
  target: Target,
  held: HeldOperation,
  place: Pick<OperationPlan, 'connection_id' | 'keyed' | 'server'> | undefined,
  logins: readonly (number | undefined)[],
  known?: Connection,
): Promise<Map<number, Sighting | undefined>> {
  const asked = [...new Set(logins)].filter((login) => login !== undefined);
  const seen = new Map<number, Sighting | undefined>(asked.map((login) => [login, undefined]));
  if (place?.keyed !== true || asked.length === 0) return seen;
  const connection = known ?? (await readableConnection(target, place.connection_id));
  await tryAskServer(target, connection, async (server, signal) => {
    for (const login of asked) {
      const isOperation = async (comment: string) =>
        (await otherHolders(target, held, [login])).get(login) === comment.slice(0, ID_LENGTH);
      const sighting = await server.look({ operationId: held.operationId, login, isOperation }, signal);
      const isOther = connection !== undefined && hasMoved(place.server, connection);
      seen.set(login, sighting !== 'ours' && isOther ? 'silent' : sighting);
    }
  });
  return seen;
}

/** The record of the operation's account; undefined if there is none that can be read. */
async function recordOf(target: Target, userId: string, operationId: string): Promise<AccountRecord | undefined> {
  return (await readAccounts(target, userId)).records.find(({ operation_id }) => operation_id === operationId);
}

/** The plan of an operation whose item has none, from the account's record. @returns undefined without its connection */
async function recordedPlan(target: Target, record: AccountRecord): Promise<OperationPlan | undefined> {
  const { login: _, opened_at: __, ...details } = record;
  const connection = await readableConnection(target, record.connection_id);
  if (connection === undefined) return undefined;
  const { keyed, server } = connectionPlace(connection);
  return { ...details, keyed, server, exclusive: false, login_given: false, deposit_with_opening: false };
}

function describeServer({ held, seen, movedFrom }: KnownOperation): string {
  const { life } = held;
  const moved =
    movedFrom === undefined
      ? ''
      : `The command went to ${movedFrom}, and the connection leads to another server now. Look at the first one.\n`;
  if (life.at === 'claimed') return 'The server: nothing was sent to it.';
  if (life.at === 'open' || life.at === 'done') return `The server: the account ${life.login} was opened.`;
  const sightings = [...(seen.size === 0 ? [[0, 'silent'] as const] : seen)].map(([login, one]) =>
    describeSighting(one, login),
  );
  return `${moved}${sightings.map((one) => `The server: ${one}`).join('\n')}`;
}

function describeSighting(sighting: Sighting | undefined, login: number): string {
  switch (sighting) {
    case 'ours':
      return `it has the account ${login}, with this operation's id.`;
    case 'foreign':
      return `the account ${login} shows another operation's id.`;
    case 'unmarked':
      return `it has the account ${login}, without an id.`;
    case 'absent':
      return `it has no account ${login}.`;
    case 'silent':
      return 'it cannot say. Look there for an account of this group, opened at the time.';
    default:
      return `it cannot be asked for the account ${login} from here.`;
  }
}

export interface Settlement {
  login?: string;
  foreign?: string;
  none?: boolean;
  deposit?: boolean;
}

/** Ends an operation with the operator's finding on the trading server. */
export async function settleOperation(target: Target, id: string, how: Settlement, terminal: Terminal): Promise<void> {
  const [option, ...more] = (['login', 'foreign', 'none', 'deposit'] as const).filter((one) => how[one] !== undefined);
  if (option === undefined || more.length > 0)
    throw wrongUsage('Say what was found: --login N, --foreign N, --none or --deposit.');
  const login = parseLogin(option, option === 'login' || option === 'foreign' ? how[option] : undefined);
  const found = await existingOperation(target, id);
  const store = await openLedger(target);
  // First the lease, then the state: a retry may be at work.
  const held = await store.ledger.acquire(found.pk, 'operator', LEASE_MS, callSignal());
  if (held === undefined) throw new CommandError('Another worker holds it now; try again in a minute.');
  const fact = await findFact(target, { ...found, held }, option, login).catch(async (error: unknown) => {
    // Nothing was written yet. After a later write, the lease is not given back: its answer may be lost although it
    // arrived.
    await store.ledger.rest(held, found.dueAt ?? RETRY_ONLY, callSignal()).catch(() => {});
    throw error;
  });
  await settle(store, held, fact);
  terminal.print(`The operation ${found.id} is settled.`);
}

/** @throws CommandError for a text that is no login */
function parseLogin(option: string, text: string | undefined): number | undefined {
  const login = text === undefined ? undefined : Number(text);
  if (login !== undefined && (!Number.isSafeInteger(login) || login < 1))
    throw wrongUsage(`--${option} takes the login of the account.`);
  return login;
}

/**
 * The fact that the operator has found. Nothing is written: the next write moves the reservations in `held.moved`.
 * @throws CommandError with the accepted ways, if this is none of them
 */
async function findFact(
  target: Target,
  { held, dueAt }: ReadableOperation,
  option: WayOption,
  login: number | undefined,
): Promise<Fact> {
  const known = await examine(target, held, dueAt);
  const ways = waysToSettle(known);
  const isMeant = (way: WayToSettle) => way.option === option && (way.login === undefined || way.login === login);
  const way = ways.filter(isMeant).toSorted((one) => (one.login === undefined ? 1 : -1))[0];
  const place = way?.marked === true ? await placeOfMarked(target, held, login ?? 0) : held.plan;
  const isAccepted = way !== undefined && (way.marked !== true || place !== undefined);
  if (!isAccepted)
    throw new CommandError([`Nothing was settled. ${describeServer(known)}`, ...describeWays(known, ways).split('\n')]);
  if (way.takesLogin === true && place !== undefined) held.moved = await takeLogin(target, place, held, login ?? 0);
  if (option === 'foreign' && held.life.at === 'undecided' && held.life.login === undefined)
    held.moved = await leaveToNobody(target, held, login ?? 0);
  return way.fact(login ?? 0);
}

/**
 * The place of the account whose comment has the operation's id at this login, on the operation's server or, if it is
 * not known, on any.
 */
async function placeOfMarked(
  target: Target,
  { operationId, plan }: HeldOperation,
  login: number,
): Promise<ReservationPlace | undefined> {
  const isOfPlan = ({ id }: Connection) => plan === undefined || plan.connection_id === id;
  const connections = (await readConnections(target)).filter((one) => isOfPlan(one) && connectionPlace(one).keyed);
  for (const connection of connections) {
    const seen = await tryAskServer(target, connection, (server, signal) =>
      server.look({ operationId, login }, signal),
    );
    if (seen === 'ours') return connectionPlace(connection);
  }
  return undefined;
}

/**
 * Moves the login to the operation, with the next write. After reservations were lost, another operation or an operator may
 * have reserved it.
 */
async function takeLogin(
  target: Target,
  place: ReservationPlace,
  { operationId }: HeldOperation,
  login: number,
): Promise<MovedReservation[]> {
  const pk = reservationKey(place, login);
  const items = await (await openTable(target, 'Logins')).get([{ pk }]);
  const others = items.filter(({ operation_id }) => operation_id !== operationId);
  return others.map(({ operation_id }) => ({ pk, from: String(operation_id), to: operationId }));
}

/**
 * Leaves the login to no operation, with the next write. A restore may have left the operation without its login: its retry
 * would find the reservation, and use that login.
 */
async function leaveToNobody(
  target: Target,
  { operationId }: HeldOperation,
  login: number,
): Promise<MovedReservation[]> {
  const { reservations } = await findTraces(target, operationId);
  const mine = reservations.filter((one) => one.login === login);
  return mine.map(({ pk }) => ({ pk, from: operationId, to: NOBODY }));
}

/** Applies the fact, and records the account. The settler pays, publishes and completes. */
async function settle({ ledger, accounts }: OperationStore, held: HeldOperation, fact: Fact): Promise<void> {
  const { now } = Date;
  const before = held.life;
  const job: Job = {
    worker: 'operator',
    held,
    times: planTimes(now(), now() + ASK_SERVER_MS),
    telemetry: SILENT,
    dependencies: { ledger, accounts, now },
    server: async () => undefined,
    generated: async () => undefined,
    keys: async () => [],
  };
  const end = await driveOperation(job, fact);
  if (fact.on === 'operator_found' && end.kind !== 'opened')
    throw new CommandError(`The login ${fact.login} belongs to another operation; nothing was settled.`);
  if (end.kind === 'overtaken') throw new CommandError('Another worker has acquired it; look at it again.');
  if (held.life === before) throw new CommandError('It could not be written. Repeat the command in a minute.');
}

const SILENT: Telemetry = { event: () => {}, with: () => SILENT };
