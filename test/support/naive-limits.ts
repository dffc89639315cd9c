/** A limit as a person would write it down: every time it ever counted, looked through anew for each question. */
export interface NaiveLimit {
  windows: { count: number; ms: number }[];
  resendSeconds?: readonly number[];
}

const DAY_MS = 24 * 60 * 60_000;

/** Whether the limit allows one more at this time. @param times epoch milliseconds, oldest first */
export function naivelyAllowed({ windows, resendSeconds = [] }: NaiveLimit, times: number[], now: number): boolean {
  if (windows.some(({ count, ms }) => times.filter((time) => time > now - ms).length >= count)) return false;
  const today = times.filter((time) => time > now - DAY_MS);
  const last = today.at(-1);
  if (last === undefined || resendSeconds.length === 0) return true;
  const pause = resendSeconds[Math.min(today.length, resendSeconds.length) - 1] ?? 0;
  return now - last >= pause * 1_000;
}
