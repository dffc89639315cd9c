import type { Departure } from '../../lib/platform/platform.ts';

/** Sends at once, whatever the time. */
export const atOnce: Departure = { note: async () => {}, notAfter: Number.POSITIVE_INFINITY };

/** Does this before the bytes leave. */
export function noting(note: () => Promise<void>): Departure {
  return { ...atOnce, note };
}
