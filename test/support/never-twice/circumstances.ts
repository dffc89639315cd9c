import type { ConnectionId } from '../account-connections.ts';

/** The circumstances of a kind of histories. */
export interface Circumstances {
  connections: readonly ConnectionId[];
  /** How late a server may execute a command, in milliseconds, even if the connection has ended. */
  lateMs: readonly number[];
  /** By how much the wall clock of a function may be wrong, in milliseconds. */
  skewMs: number;
}

/** How long a key is kept after the last write, in milliseconds. */
export const KEPT_MS = 24 * 60 * 60 * 1_000;

/** Longer than a lease, and than everything that the service waits for. */
const LATE_MS = [50, 1_500, 20_000, 65_000, 200_000];
const SKEW_MS = 90_000;

export const KINDS = {
  accounts: {
    connections: ['tp5-live', 'tp5-live', 'tp5-demo', 'tp5-demo', 'tp5-list', 'gw-live', 'gw-live', 'gw-demo'],
    lateMs: LATE_MS,
    skewMs: SKEW_MS,
  },
  'web-registration': { connections: ['reg-live', 'reg-live', 'reg-demo'], lateMs: LATE_MS, skewMs: SKEW_MS },
  registrations: { connections: [], lateMs: [50, 1_500, 20_000, 55_000], skewMs: 0 },
} as const satisfies Record<string, Circumstances>;
export type Kind = keyof typeof KINDS;
