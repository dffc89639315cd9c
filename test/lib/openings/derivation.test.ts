import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import {
  DERIVATION,
  deriveIdentity,
  derivePasswords,
  deriveSeed,
  loginSequence,
  parseDerivationKeys,
} from '../../../lib/openings/derivation.ts';
import { fingerprints, keyItem } from '../../../lib/records/idempotency-keys.ts';
import { CHARACTER_CLASSES, tradingPasswordSchema } from '../../../lib/validators/passwords.ts';
import vectors from './derivation-vectors.json' with { type: 'json' };

const VERSIONS = ['tp5', 'tp4'] as const;
const ROLES = ['master', 'investor'] as const;
const [KEY] = parseDerivationKeys(JSON.stringify(vectors.secret));
if (KEY === undefined) throw new Error('The vectors have no key.');
const [OTHER_KEY = KEY] = parseDerivationKeys(JSON.stringify({ current: '1', 1: 'another key'.repeat(4) }));
const take = (count: number, logins: Generator<number>) =>
  Array.from({ length: count }, () => Number(logins.next().value));

describe('The identity of an operation', () => {
  it.each(vectors.operations)('never changes between releases: $operation_id', (expected) => {
    const pk = keyItem(expected.scope);
    const [fingerprint = ''] = fingerprints(expected.body, [KEY.fingerprints]);
    const identity = deriveIdentity(KEY, pk, fingerprint);
    const seed = deriveSeed([KEY], identity);
    const platform = expected.platform as (typeof VERSIONS)[number];
    expect({
      ...expected,
      pk,
      fingerprint,
      operation_id: identity.operationId,
      passwords: derivePasswords(seed, platform),
      ranges: expected.ranges.map(({ from, to, logins }) => ({
        ...{ from, to },
        logins: take(logins.length, loginSequence(seed, [{ from, to }])),
      })),
    }).toEqual(expected);
    expect(identity).toMatchObject({ secret: vectors.key_id, derivation: vectors.derivation });
  });

  it('differs with another key, item or fingerprint', () => {
    const ids = [
      deriveIdentity(KEY, 'key#a', '1.a'),
      deriveIdentity(OTHER_KEY, 'key#a', '1.a'),
      deriveIdentity(KEY, 'key#b', '1.a'),
      deriveIdentity(KEY, 'key#a', '1.b'),
    ].map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it('is found under the key that made it, current or older, and not without that key', () => {
    const identity = deriveIdentity(KEY, 'key#a', '1.a');
    const seed = deriveSeed([KEY], identity);
    expect(seed).toMatch(/^[\w-]{43}$/);
    expect(deriveSeed([OTHER_KEY, KEY], identity)).toBe(seed);
    expect(() => deriveSeed([OTHER_KEY], identity)).toThrow();
  });

  it('cannot be derived by another version of the derivation', () => {
    const identity = { ...deriveIdentity(KEY, 'key#a', '1.a'), derivation: DERIVATION + 1 };
    expect(() => deriveSeed([KEY], identity)).toThrow();
  });
});

const seeds = fc.string({ minLength: 16, maxLength: 43 });
const samples = (version: (typeof VERSIONS)[number]) =>
  Array.from({ length: 12_000 }, (_, index) => derivePasswords(`a seed of this test, ${index}`, version).master);

describe('A generated password', () => {
  it('keeps every rule of its version, has 12 characters, no look-alikes and nothing that a protocol gives a meaning', () => {
    fc.assert(
      fc.property(seeds, fc.constantFrom(...VERSIONS), fc.constantFrom(...ROLES), (seed, version, role) => {
        const password = derivePasswords(seed, version)[role];
        expect(v.is(tradingPasswordSchema(version), password)).toBe(true);
        expect(password).toMatch(/^[\x21-\x7e]{12}$/);
        expect(password).not.toMatch(/[0O1lI|=\\"'&<>]/);
      }),
      { numRuns: 100 },
    );
  });

  it('differs for another seed, role or version', () => {
    const made = ['a seed', 'another seed'].flatMap((seed) =>
      VERSIONS.flatMap((version) => Object.values(derivePasswords(seed, version))),
    );
    expect(new Set(made).size).toBe(8);
  });
});

/** Chi-square over its degrees of freedom, as a number of standard deviations (Wilson and Hilferty). */
function deviation(observed: readonly number[]): number {
  const expected = observed.reduce((sum, count) => sum + count, 0) / observed.length;
  const chiSquare = observed.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  const freedom = observed.length - 1;
  const spread = 2 / (9 * freedom);
  return ((chiSquare / freedom) ** (1 / 3) - (1 - spread)) / Math.sqrt(spread);
}

describe.each(VERSIONS)('Over many operations the passwords of %s', (version) => {
  const alphabets = Object.values(CHARACTER_CLASSES).map((characters) =>
    [...characters].filter((character) => !'0O1lI|=\\"\'&<>'.includes(character)),
  );
  const passwords = samples(version);

  it('use 81 characters', () => {
    expect(alphabets.flat()).toHaveLength(81);
    expect([...new Set(passwords.join(''))].sort()).toEqual(alphabets.flat().sort());
  });

  // The seeds are always the same ones, so the figures are too. A byte taken modulo 81 would deviate by more than 5.
  it('have every character as often as the others of its class, in each of the 12 places', () => {
    for (let place = 0; place < 12; place += 1) {
      for (const alphabet of alphabets) {
        const counts = new Map(alphabet.map((character) => [character, 0]));
        for (const password of passwords) {
          const count = counts.get(password.charAt(place));
          if (count !== undefined) counts.set(password.charAt(place), count + 1);
        }
        expect(Math.abs(deviation([...counts.values()])), `place ${place}`).toBeLessThan(3.5);
      }
    }
  });

  it('are all different', () => {
    expect(new Set(passwords).size).toBe(passwords.length);
  });
});

describe('The sequence of logins', () => {
  it('contains every login of every range once, one range after the other', () => {
    const ranges = [
      { from: 500, to: 1_499 },
      { from: 100, to: 200 },
    ];
    const logins = [...loginSequence('a seed', ranges)];
    const ascending = (some: number[]) => some.toSorted((one, other) => one - other);
    const [first, second] = [logins.slice(0, 1_000), logins.slice(1_000)];
    expect(ascending(first)).toEqual(Array.from({ length: 1_000 }, (_, index) => 500 + index));
    expect(ascending(second)).toEqual(Array.from({ length: 101 }, (_, index) => 100 + index));
  });

  it('does not depend on later ranges, so a range may be appended', () => {
    const range = { from: 1, to: 1_000 };
    const appended = [range, { from: 5_000, to: 6_000 }];
    expect(take(1_000, loginSequence('a seed', appended))).toEqual([...loginSequence('a seed', [range])]);
  });

  it('differs for another seed or another range', () => {
    const range = { from: 1, to: 100_000 };
    const logins = take(5, loginSequence('a seed', [range]));
    expect(take(5, loginSequence('another seed', [range]))).not.toEqual(logins);
    expect(take(5, loginSequence('a seed', [{ ...range, to: 100_001 }]))).not.toEqual(logins);
  });

  it('is empty without a range', () => {
    expect([...loginSequence('a seed', [])]).toEqual([]);
  });

  it.each([0, 1, 9])('has every login equally often in place %i', (place) => {
    const counts = Array.from({ length: 10 }, () => 0);
    for (let index = 0; index < 5_000; index += 1) {
      const login = take(10, loginSequence(`a seed of this test, ${index}`, [{ from: 0, to: 9 }]))[place] ?? 0;
      counts[login] = (counts[login] ?? 0) + 1;
    }
    expect(Math.abs(deviation(counts))).toBeLessThan(3.5);
  });

  it('is exact if the platform allows more than 32 bits', () => {
    const wide = { from: 2 ** 40, to: Number.MAX_SAFE_INTEGER };
    for (const login of take(100, loginSequence('a seed', [wide]))) {
      expect(Number.isSafeInteger(login)).toBe(true);
      expect(login).toBeGreaterThanOrEqual(wide.from);
    }
  });
});

describe('The secret of derived passwords', () => {
  it('names the current key, and holds the earlier key', () => {
    const secret = { current: '2', 1: vectors.secret['1'], 2: 'the next key'.repeat(4) };
    const ids = parseDerivationKeys(JSON.stringify(secret)).map(({ id }) => id);
    expect(ids).toEqual([expect.not.stringContaining(vectors.key_id), vectors.key_id]);
  });
});
