import type { Item } from '../../lib/aws/dynamodb.ts';
import { type Counter, waitMs } from '../../lib/limits/counter.ts';

/** The settings of limits, by the kind of counter and its window. A pause has no window. */
const SETTINGS: Readonly<Record<string, string>> = {
  'recipient pause': 'limits.resendSeconds',
  'recipient hour': 'limits.recipientPerHour',
  'recipient day': 'limits.recipientPerDay',
  'source ten_minutes': 'limits.sourcePer10Minutes',
  'source hour': 'limits.sourcePerHour',
  'network hour': 'limits.networkSourcesPerHour',
  'wrong ten_minutes': 'limits.wrongIdsPer10Minutes',
  'prefix hour': 'limits.prefixPerHour',
  'country hour': 'limits.countryPerHour',
  'channel day': 'limits.channelPerDay',
  'domain hour': 'limits.mailDomainPerHour',
};

/**
 * The limits that hold the next request, each with its setting and its end (epoch ms), the longest first.
 * @param items of the counters, as the table has them
 */
export function reachedLimits(counters: readonly Counter[], items: readonly Item[], now: number) {
  const reached = counters.flatMap((counter) => {
    const { pk, windows } = counter;
    const kind = pk.split('#', 1)[0];
    const { paused_until, ...counts } = items.find((item) => item.pk === pk) ?? {};
    const pause = { name: 'pause', waitMs: waitMs({ ...counter, windows: [] }, { paused_until }, now) };
    const full = windows.map((one) => ({ name: one[0], waitMs: waitMs({ ...counter, windows: [one] }, counts, now) }));
    return [pause, ...full]
      .filter((one) => one.waitMs > 0)
      .map((one) => ({ setting: SETTINGS[`${kind} ${one.name}`] ?? `${kind} ${one.name}`, until: now + one.waitMs }));
  });
  return reached.sort((a, b) => b.until - a.until);
}
