import { hash } from 'node:crypto';

/** How long callers may use an `Idempotency-Key` again, counted from the last step. */
export const KEY_HOURS = 24;
/** The clocks of two workers may differ by this much. */
const CLOCK_MARGIN_SECONDS = 5 * 60;

/** The partition key of an idempotency key. @param scope the key and the scope in which it is unique */
export function keyItem(scope: readonly string[]): string {
  return `key#${hash('sha256', JSON.stringify(scope), 'base64url')}`;
}

/**
 * When a key expires, in epoch seconds. A worker whose clock is ahead must not start a second time what its caller may
 * still repeat, so it is a little later than documented.
 * @param at when the last step was, in epoch milliseconds
 */
export function keyExpiry(at: number): number {
  return Math.ceil(at / 1_000) + KEY_HOURS * 60 * 60 + CLOCK_MARGIN_SECONDS;
}
