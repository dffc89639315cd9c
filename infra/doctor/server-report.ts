import type { ClosedGroups, PlatformInspector, ServerRights, TradingPlatform } from '../../lib/platform/platform.ts';
import { type Connection, type LoginRange, loginRanges } from '../../lib/records/crm-records.ts';
import { askServer } from '../ops/ask-server.ts';
import { chunksOf } from '../ops/crm-table.ts';
import { openLedger } from '../ops/open-ledger.ts';
import { openTable, type Target } from '../ops/target.ts';

/** The accounts in the login ranges of a connection. */
export interface RangeReport {
  /** The number of checked logins; 0 if the server has no such command. */
  asked: number;
  /** Whether these are samples, because the server cannot list its accounts. */
  sampled: boolean;
  taken: number;
  /** Accounts in the ranges that the ledger does not know. Empty if there is no ledger to compare with. */
  strangers: number[];
}

/** The result of an inspection of a trading server, which changes nothing there. */
export interface ServerReport {
  rights: ServerRights;
  groups: ClosedGroups;
  /** The connection has the protocol of the plug-in, and leads to a gateway. */
  isGateway: boolean;
  /** Present for a connection with ranges. */
  ranges?: RangeReport;
}

/** The maximum number of reservations in memory: a server may have any number of accounts. */
const COMPARED_AT_ONCE = 1_000;

/** The number of logins of a range that are checked if the server cannot list its accounts. */
const SAMPLES = 20;

/** Inspects a trading server. @throws PlatformFailure if the server does not accept our login */
export function reportServer(target: Target, connection: Connection): Promise<ServerReport> {
  return askServer(target, connection, async (server, signal) => {
    await server.check(signal);
    const rights = await server.rights(signal);
    const groups = await server.closedGroups(signal);
    const ranges = loginRanges(connection);
    if (ranges.length === 0) return { rights, groups, isGateway: await server.isGateway(signal) };
    const { taken, ...report } = await inspectRanges(target, server, connection, ranges, signal);
    return { rights, groups, isGateway: false, ranges: { ...report, taken: taken.length } };
  });
}

async function inspectRanges(
  target: Target,
  server: Pick<PlatformInspector & TradingPlatform, 'logins' | 'look'>,
  { id, platform }: Connection,
  ranges: LoginRange[],
  signal: AbortSignal,
): Promise<Omit<RangeReport, 'taken'> & { taken: number[] }> {
  const { taken, ...found } = await takenLogins(server, ranges, signal);
  if (target.isTable || taken.length === 0) return { ...found, taken, strangers: [] };
  const ledger = await openLedger(target);
  const strangers: number[] = [];
  for (const part of chunksOf(taken, COMPARED_AT_ONCE)) {
    const holders = await ledger.holders({ version: platform, connection_id: id, keyed: true }, part, signal);
    strangers.push(...part.filter((login) => !holders.has(login)));
  }
  return { ...found, taken, strangers };
}

async function takenLogins(
  server: Parameters<typeof inspectRanges>[1],
  ranges: LoginRange[],
  signal: AbortSignal,
): Promise<{ asked: number; sampled: boolean; taken: number[] }> {
  const logins = await server.logins(signal);
  if (logins !== undefined) {
    const asked = ranges.reduce((size, { from, to }) => size + to - from + 1, 0);
    return {
      asked,
      sampled: false,
      taken: logins.filter((login) => ranges.some(({ from, to }) => from <= login && login <= to)),
    };
  }
  const taken: number[] = [];
  const samples = ranges.flatMap(sampleLogins);
  for (const login of samples) {
    const { is } = await server.look(login, '', signal);
    if (is === 'silent') return { asked: 0, sampled: true, taken: [] };
    if (is !== 'absent') taken.push(login);
  }
  return { asked: samples.length, sampled: true, taken };
}

/** Logins, spread evenly over a range, both ends included. */
function sampleLogins({ from, to }: LoginRange): number[] {
  const step = (to - from) / (SAMPLES - 1);
  return Array.from({ length: SAMPLES }, (_, index) => Math.round(from + index * step));
}

/** How many pages of accounts are read, of up to 1 MB: on a connection in use an account is found soon. */
const MAX_PAGES = 20;

/** The ids of connections on which an account was opened. */
export async function findUsedConnections(target: Target): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  if (target.isTable) return used;
  let pages = 0;
  for await (const page of (await openTable(target, 'Accounts')).pages()) {
    for (const { connection_id } of page) used.add(String(connection_id));
    pages += 1;
    if (pages === MAX_PAGES) break;
  }
  return used;
}
