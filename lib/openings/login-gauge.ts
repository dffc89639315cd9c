import { within } from '../deadline.ts';
import { type LoginRange, loginRanges } from '../records/crm-records.ts';
import { describeError, type Telemetry } from '../telemetry.ts';
import type { AccountDependencies } from './dependencies.ts';
import { reservedLogin } from './reservation-key.ts';

/** A reservation, as the ledger stores it. */
export interface Reservation {
  /** The version and the login: `tp5#500001`. */
  pk?: unknown;
  connection_id?: unknown;
  /** Epoch seconds. */
  reserved_at?: unknown;
}

/** How full the login ranges of a connection are. */
export interface LoginGauge {
  used: number;
  free: number;
  /** The number of logins that were reserved in the last 30 days. */
  lastMonth: number;
  /** The days until no login is free, at the pace of the last 30 days. Undefined: no login was reserved then. */
  daysLeft: number | undefined;
}

const MONTH_DAYS = 30;
const DAY_SECONDS = 24 * 60 * 60;

/**
 * Counts the reservations in the ranges of each connection, a page at a time, in memory that does not grow with them.
 * @param rangesOf the ranges of a connection, asked once for each connection that has reservations
 * @param now epoch milliseconds
 */
export async function countLogins(
  pages: AsyncIterable<readonly Reservation[]>,
  rangesOf: (connectionId: string) => Promise<readonly LoginRange[]>,
  now: number,
): Promise<Map<string, LoginGauge>> {
  const since = now / 1_000 - MONTH_DAYS * DAY_SECONDS;
  const counts = new Map<string, { ranges: readonly LoginRange[]; used: number; lastMonth: number }>();
  for await (const page of pages) {
    for (const { pk, connection_id, reserved_at } of page) {
      const id = String(connection_id);
      const count = counts.get(id) ?? { ranges: await rangesOf(id), used: 0, lastMonth: 0 };
      counts.set(id, count);
      const login = reservedLogin(pk);
      if (!count.ranges.some(({ from, to }) => from <= login && login <= to)) continue;
      count.used += 1;
      if (Number(reserved_at) >= since) count.lastMonth += 1;
    }
  }
  return new Map([...counts].map(([id, { ranges, ...count }]) => [id, rangeGauge(ranges, count)]));
}

/** The gauge of a connection without reservations, too. */
export function rangeGauge(ranges: readonly LoginRange[], { used, lastMonth } = { used: 0, lastMonth: 0 }): LoginGauge {
  const free = ranges.reduce((size, { from, to }) => size + to - from + 1, 0) - used;
  return { used, free, lastMonth, daysLeft: lastMonth === 0 ? undefined : Math.floor((free / lastMonth) * MONTH_DAYS) };
}

/** Kept for the end of a run, in milliseconds. */
const LAST_MS = 3_000;

/**
 * Logs the gauge of each connection that has ranges, in the settler's first run of a day. A failure is logged: the next
 * day counts again.
 * @param time of the run, ISO 8601; absent: a person has called the function by hand
 * @param endsAt when the run ends, in epoch milliseconds
 */
export async function reportLogins(
  {
    directory,
    reservations,
    now,
  }: Pick<AccountDependencies, 'directory' | 'now'> & {
    reservations(signal: AbortSignal): AsyncIterable<readonly Reservation[]>;
  },
  telemetry: Telemetry,
  time: string | undefined,
  endsAt: number,
): Promise<void> {
  if (time?.slice(11, 16) !== '00:00') return;
  const signal = within(endsAt - LAST_MS - now());
  const rangesOf = async (connection_id: string) => {
    const { connection } = await directory.readAccountRecords({ user_id: 'none', connection_id }, telemetry, signal);
    return connection === undefined ? [] : loginRanges(connection);
  };
  try {
    for (const [connection_id, { used, free, daysLeft }] of await countLogins(reservations(signal), rangesOf, now())) {
      if (used + free === 0) continue;
      const days = daysLeft === undefined ? {} : { login_days_left: daysLeft };
      telemetry.event('LoginsCounted', { connection_id, logins_used: used, logins_free: free, ...days });
    }
  } catch (error) {
    telemetry.event('OperationNotSettled', { step: 'logins', ...describeError(error) });
  }
}
