import { describe, expect, it } from 'vitest';
import { keyExpiry, keyItem } from '../../../lib/records/idempotency-keys.ts';

describe('An Idempotency-Key', () => {
  it('is kept for 24 hours and five minutes, since clocks differ, and for no part of a second less', () => {
    expect(keyExpiry(1_000_000)).toBe(1_000 + 86_400 + 300);
    expect(keyExpiry(1_000_001)).toBe(1_001 + 86_400 + 300);
  });

  it('is stored as a digest of the key and the scope in which it is unique', () => {
    const scopes = [
      ['a', 'b c'],
      ['a b', 'c'],
      ['a', 'b', 'c'],
      ['ab', 'c'],
    ];
    expect(new Set(scopes.map(keyItem)).size).toBe(4);
    for (const scope of scopes) expect(keyItem(scope)).toMatch(/^key#[\w-]{43}$/);
  });
});
