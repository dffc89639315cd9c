import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { atMost, growingPause, slidingWindow, stamp, takeOut } from '../../../lib/records/sliding-window.ts';
import { MAX_COUNTED, MAX_PAUSES } from '../../../lib/validators/deployment.ts';
import { type NaiveLimit, naivelyAllowed } from '../../support/naive-limits.ts';

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

const limits = fc.record({
  windows: fc.array(
    fc.record({ count: fc.integer({ min: 1, max: 8 }), ms: fc.integer({ min: 1, max: 90 * MINUTE }) }),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
  resendSeconds: fc
    .array(fc.integer({ min: 1, max: 900 }), { maxLength: 4 })
    .map((steps) => steps.toSorted((a, b) => a - b)),
});

function windowOf({ windows, resendSeconds = [] }: NaiveLimit) {
  return slidingWindow([...growingPause(resendSeconds), ...windows.map(({ count, ms }) => atMost(count, ms))]);
}

describe('A sliding window', () => {
  it('allows exactly what a full history would, whatever the limit and the times', () => {
    fc.assert(
      fc.property(limits, fc.array(fc.integer({ min: 0, max: 40 * MINUTE }), { maxLength: 60 }), (limit, pauses) => {
        const window = windowOf(limit);
        const history: number[] = [];
        let now = START;
        for (const pause of pauses) {
          now += pause;
          // The register: no more than its slots is remembered.
          const register = history.slice(-window.slots).toReversed();
          const allowed = window.waitMs(register, now) === 0;
          expect(allowed).toBe(naivelyAllowed(limit, history, now));
          if (allowed) history.push(now);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('names the first millisecond at which it allows the next one', () => {
    fc.assert(
      fc.property(limits, fc.array(fc.integer({ min: 0, max: 10 * MINUTE }), { maxLength: 40 }), (limit, pauses) => {
        const window = windowOf(limit);
        const history: number[] = [];
        let now = START;
        for (const pause of pauses) {
          now += pause;
          const wait = window.waitMs(history.slice(-window.slots).toReversed(), now);
          expect(naivelyAllowed(limit, history, now + wait)).toBe(true);
          if (wait > 0) expect(naivelyAllowed(limit, history, now + wait - 1)).toBe(false);
          else history.push(now);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('compares times as texts in the order of time', () => {
    const times = [0, 1, 999, START, START + 1, 10 * START];
    expect(times.map(stamp).toSorted()).toEqual(times.map(stamp));
    expect(new Set(times.map((time) => stamp(time).length)).size).toBe(1);
  });

  it('stays within the 300 operators and functions that DynamoDB takes in one expression', () => {
    const pauses = Array.from({ length: MAX_PAUSES }, (_, index) => index + 1);
    for (let count = 1; count <= MAX_COUNTED; count += 1) {
      const rules = [...growingPause(pauses), atMost(count, 60 * MINUTE), atMost(count, 24 * 60 * MINUTE)];
      const { hasRoomForNew, shiftIn } = slidingWindow(rules);
      for (const expression of [hasRoomForNew, shiftIn, takeOut(count, 0)]) {
        const operators = expression.match(/NOT|AND|OR|[<>=]|contains|if_not_exists/g) ?? [];
        expect(operators.length).toBeLessThanOrEqual(300);
        expect(expression.length).toBeLessThanOrEqual(4_000);
      }
    }
  });

  it('refuses a limit that one database item cannot count', () => {
    expect(() => slidingWindow([atMost(MAX_COUNTED + 1, MINUTE)])).toThrow(RangeError);
    expect(() => slidingWindow([atMost(MAX_COUNTED, MINUTE)])).not.toThrow();
  });
});
