import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { planTimes } from '../../../lib/openings/dependencies.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Which signals have aborted after this many milliseconds. */
function abortedAfter(ms: number, stopsAfterMs: number) {
  const { platformSignal, signal, ...times } = planTimes(Date.now(), Date.now() + stopsAfterMs);
  vi.advanceTimersByTime(ms);
  return { platform: platformSignal.aborted, work: signal.aborted, opening: Date.now() > times.openingEndsAt };
}

describe('An opening in a function that may run for 29 seconds', () => {
  it.each([
    [17_000, { opening: false, platform: false, work: false }],
    [17_001, { opening: true, platform: false, work: false }],
    [20_000, { opening: true, platform: true, work: false }],
    [22_499, { opening: true, platform: true, work: false }],
    [22_500, { opening: true, platform: true, work: true }],
  ])('that begins after %i ms keeps its deadlines, so that it is answered within 25 seconds: %j', (ms, ended) => {
    expect(abortedAfter(ms, 25_000)).toEqual(ended);
  });

  it('ends all its parts when its caller stops waiting, if that is earlier', () => {
    expect(abortedAfter(4_999, 5_000)).toEqual({ opening: false, platform: false, work: false });
    expect(abortedAfter(5_001, 5_000)).toEqual({ opening: true, platform: true, work: true });
  });
});
