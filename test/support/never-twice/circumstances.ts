import type { ConnectionId } from '../account-connections.ts';

/**
 * What a kind of histories may meet. With ranges of logins the promise must hold whatever servers, networks and clocks do;
 * without, as long as a server acts within the settling time and the clocks of all hosts are one.
 */
export interface Circumstances {
  connections: readonly ConnectionId[];
  settleSeconds: number;
  /** How late a server may act, in milliseconds, whatever became of the connection. */
  lateMs: readonly number[];
  /** By how much the wall clock of a function may be wrong, and may jump, in milliseconds. */
  skewMs: number;
}

export const KINDS = {
  ranges: {
    connections: ['tp5-range', 'tp5-range', 'tp5-range-demo', 'tp5-range-demo', 'gw-range', 'gw-range-demo'],
    settleSeconds: 1,
    // Longer than the settling time, and than a whole request.
    lateMs: [50, 1_500, 3_000, 6_000],
    // Longer than a lease.
    skewMs: 15_000,
  },
  times: {
    connections: ['tp5-live', 'tp5-live', 'tp5-live', 'tp5-demo', 'tp5-demo', 'gw-live', 'gw-demo', 'reg-live'],
    settleSeconds: 4,
    // Longer than what a request has time for, and shorter than the settling time.
    lateMs: [50, 1_500, 2_500, 2_500],
    skewMs: 0,
  },
} as const satisfies Record<string, Circumstances>;
export type Kind = keyof typeof KINDS;
