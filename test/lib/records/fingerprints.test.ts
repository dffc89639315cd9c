import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprintKey, fingerprints } from '../../../lib/records/idempotency-keys.ts';

const fingerprint = (body: Record<string, unknown>, key: string) => fingerprints(body, [key])[0];

describe('The fingerprint of a body', () => {
  it('does not depend on the order of members', () => {
    expect(fingerprint({ a: 1, b: { c: 2, d: 3 } }, 'k')).toBe(fingerprint({ b: { d: 3, c: 2 }, a: 1 }, 'k'));
  });

  it('differs for another body, an array in another order, and another key', () => {
    expect(fingerprint({ a: [1, 2] }, 'k')).not.toBe(fingerprint({ a: [2, 1] }, 'k'));
    expect(fingerprint({ a: 1 }, 'k')).not.toBe(fingerprint({ a: '1' }, 'k'));
    expect(fingerprint({ a: 1 }, 'k')).not.toBe(fingerprint({ a: 1 }, 'l'));
    expect(fingerprint({ a: {} }, 'k')).not.toBe(fingerprint({ a: [] }, 'k'));
    expect(fingerprint({ a: '\ud800' }, 'k')).not.toBe(fingerprint({ a: '\ud801' }, 'k'));
    expect(fingerprint({ a: '\ud800' }, 'k')).not.toBe(fingerprint({ a: '\ufffd' }, 'k'));
    expect(fingerprint({ a: ['1', 1, null] }, 'k')).not.toBe(fingerprint({ a: [1, '1', null] }, 'k'));
  });

  it('is made with each key, without the excluded members', () => {
    const body = { a: 1, secret: 'x' };
    expect(fingerprints(body, ['k', 'l'])).toEqual([fingerprint(body, 'k'), fingerprint(body, 'l')]);
    expect(fingerprints(body, ['k'], ['secret'])).toEqual([fingerprint({ a: 1 }, 'k')]);
    expect(fingerprint({ b: body }, 'k')).not.toBe(fingerprint({ b: { a: 1 } }, 'k'));
  });

  it('is equal for equal JSON, and differs otherwise', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()), (a, b) => {
        const sorted = (value: unknown): unknown =>
          Array.isArray(value)
            ? value.map(sorted)
            : typeof value === 'object' && value !== null
              ? Object.fromEntries(
                  Object.entries(value)
                    .sort(([x], [y]) => (x < y ? -1 : 1))
                    .map(([k, m]) => [k, sorted(m)]),
                )
              : value;
        const same = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
        expect(fingerprint(a, 'k') === fingerprint(b, 'k')).toBe(same);
      }),
    );
  });
});

describe('The key of fingerprints', () => {
  it('differs from the secret that it is derived from, and is always the same', () => {
    const keyFrom = (secret: string) => fingerprintKey(secret).export().toString();
    expect(keyFrom('a secret')).toMatch(/^[\w-]{43}$/);
    expect(keyFrom('a secret')).toBe(keyFrom('a secret'));
    expect(keyFrom('a secret')).not.toBe(keyFrom('another secret'));
  });
});
