import type { LoginRange } from '../records/crm-records.ts';
import type { RangeInspection } from './platform.ts';

const SAMPLES = 20;

/**
 * How full a range looks: asks for logins that lie evenly in it, one after the other.
 * @param exists undefined when the server cannot say
 */
export async function inspectRange(
  range: LoginRange,
  exists: (login: number) => Promise<boolean | undefined>,
): Promise<RangeInspection> {
  const inspection = { looked: 0, taken: 0 };
  for (const login of samplesOf(range)) {
    const taken = await exists(login);
    if (taken === undefined) return { looked: 0, taken: 0 };
    inspection.looked += 1;
    if (taken) inspection.taken += 1;
  }
  return inspection;
}

function samplesOf({ from, to }: LoginRange): Set<number> {
  const step = (to - from) / (SAMPLES - 1);
  return new Set(Array.from({ length: SAMPLES }, (_, index) => Math.round(from + index * step)));
}
