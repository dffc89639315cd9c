import { describe, expect, it } from 'vitest';
import { reachedLimits } from '../../../infra/ops/registration.ts';
import { DEFAULT_LIMITS } from '../../../lib/validators/registration-settings.ts';

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Requests so many minutes ago. */
const ago = (...minutes: number[]) => minutes.map((one) => NOW - one * MINUTE);
const spread = (count: number, of: number) => Array.from({ length: count }, (_, n) => of - n * 15);

describe('The limits that hold the next message', () => {
  it.each<[says: string, times: number[], expected: [setting: string, end: number][]]>([
    ['none where nothing was requested', [], []],
    ['none below the limits, after the pause', ago(60, 16), []],
    ['the first pause, of a minute', ago(0.5), [['limits.resendSeconds', NOW + MINUTE / 2]]],
    ['the pause of the day\u2019s count, in any order', ago(1, 90, 80), [['limits.resendSeconds', NOW + 4 * MINUTE]]],
    ['the last pause, again', ago(...spread(6, 200), 1), [['limits.resendSeconds', NOW + 14 * MINUTE]]],
    [
      'an hour with five messages until its end',
      ago(50, 48, 45, 40, 30),
      [['limits.recipientPerHour', NOW + 10 * MINUTE]],
    ],
    ['no hour that is over', ago(65, 62, 58, 50, 40), []],
    ['a day with ten messages until its end', ago(...spread(10, 300)), [['limits.recipientPerDay', NOW + 19 * HOUR]]],
    ['no day that is over', ago(1_450, ...spread(8, 300), 16), []],
  ])('are %s', (_, times, expected) => {
    expect(reachedLimits(DEFAULT_LIMITS, times, NOW).map(({ setting, until }) => [setting, until])).toEqual(expected);
  });

  it('are listed completely, the longest first', () => {
    const times = ago(...spread(6, 300), 4, 3, 2, 1, 0);
    expect(reachedLimits(DEFAULT_LIMITS, times, NOW).map(({ setting }) => setting)).toEqual([
      'limits.recipientPerDay',
      'limits.recipientPerHour',
      'limits.resendSeconds',
    ]);
  });

  it('do not include disabled limits', () => {
    const limits = {
      ...DEFAULT_LIMITS,
      resendSeconds: 'none',
      recipientPerHour: 'none',
      recipientPerDay: 'none',
    } as const;
    expect(reachedLimits(limits, ago(...Array(20).fill(1)), NOW)).toEqual([]);
  });
});
