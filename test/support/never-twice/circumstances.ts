import type { ConnectionId } from '../account-connections.ts';

/**
 * What a kind of histories may meet. With ranges of logins the promise must hold whatever servers, networks and clocks do;
 * without, as long as a server acts within the settling time and the clocks of all hosts are one.
 */
export interface Circumstances {
  connections: readonly ConnectionId[];
  /** How late a server may act, in milliseconds, whatever became of the connection. */
  lateMs: readonly number[];
  /** By how much the wall clock of a function may be wrong, in milliseconds. */
  skewMs: number;
}

/** For how long a key is kept after the last request that did anything, in milliseconds. */
export const KEPT_MS = 24 * 60 * 60 * 1_000;

/** As deployed, in seconds: time passes at once here, so nothing has to be shortened. */
export const SETTLE_SECONDS = 60;

export const KINDS = {
  ranges: {
    connections: [
      'tp5-range',
      'tp5-range',
      'tp5-range-demo',
      'tp5-range-demo',
      'gw-range',
      'gw-range',
      'gw-range-demo',
    ],
    // Longer than the settling time, also that after a function's death.
    lateMs: [50, 1_500, 20_000, 65_000, 200_000],
    // Longer than a lease.
    skewMs: 90_000,
  },
  times: {
    connections: [
      'tp5-live',
      'tp5-live',
      'tp5-live',
      'tp5-demo',
      'tp5-demo',
      'gw-live',
      'gw-demo',
      'reg-live',
      'reg-live',
    ],
    // Longer than what a request has time for, and shorter than the settling time.
    lateMs: [50, 1_500, 20_000, 40_000, 55_000],
    skewMs: 0,
  },
  registrations: {
    connections: [],
    // Longer than what a request has time for.
    lateMs: [50, 1_500, 20_000, 55_000],
    skewMs: 0,
  },
} as const satisfies Record<string, Circumstances>;
export type Kind = keyof typeof KINDS;
