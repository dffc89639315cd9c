import { createHmac, randomUUID } from 'node:crypto';
import type { Table } from '../aws/dynamodb.ts';
import type { Pepper } from '../secrets/pepper.ts';
import { countersIn, waitMs } from './counters.ts';
import type { Verdict } from './send-limits.ts';
import { atMost, slidingWindow } from './sliding-window.ts';
import { sourceOf } from './source.ts';

/** How often one source may guess at codes: so many times in ten minutes, whatever comes of it. */
export const MAX_IN_10_MINUTES = 10;

/** Counts guesses by source, in counters of their own; nothing is thrown. */
export function confirmationLimit(table: Table, now: () => number = Date.now) {
  const counters = countersIn(table);
  const window = slidingWindow([atMost(MAX_IN_10_MINUTES, 10 * 60_000)]);
  return async (address: string, pepper: Pepper, signal: AbortSignal): Promise<Verdict> => {
    const at = now();
    const source = createHmac('sha256', pepper.keys[0]).update(`limit\nconfirmation\n${sourceOf(address).name}`);
    const counter = { pk: `confirmation#${source.digest('base64url')}`, window };
    const count = await counters.count(counter, randomUUID(), at, signal);
    if (count.kind === 'failed') return { kind: 'unchecked' };
    if (count.kind !== 'denied') return { kind: 'allowed' };
    return { kind: 'reached', retryAfterSeconds: Math.max(1, Math.ceil(waitMs(counter, count.state, at) / 1_000)) };
  };
}
