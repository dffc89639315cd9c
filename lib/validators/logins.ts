import { wholeNumber } from './primitives.ts';

/** The largest login of each platform: 64 bits for tp5, of which JSON can express 53; 31 bits for tp4. */
const LARGEST_LOGIN = { tp5: Number.MAX_SAFE_INTEGER, tp4: 2 ** 31 - 1 } as const;

/** The login of a trading account. */
export function loginSchema(version: keyof typeof LARGEST_LOGIN) {
  return wholeNumber(1, LARGEST_LOGIN[version]);
}
