import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { derivePasswords, type PasswordOrigin, parsePasswordKey } from '../../../lib/platform/passwords.ts';
import type { PasswordRole } from '../../../lib/platform/platform.ts';
import { CHARACTER_CLASSES, tradingPasswordSchema } from '../../../lib/validators/passwords.ts';

const VERSIONS = ['tp5', 'tp4'] as const;
const ROLES = ['master', 'investor'] as const;
const origin = { key: 'the deployment’s secret', nonce: 'n1', role: 'master', version: 'tp5' } as const;

const derivePassword = ({ role, ...from }: PasswordOrigin & { role: PasswordRole }) => derivePasswords(from)[role];

const origins = fc.record({
  key: fc.string({ minLength: 16, maxLength: 43 }),
  nonce: fc.string({ minLength: 1 }),
  role: fc.constantFrom(...ROLES),
  version: fc.constantFrom(...VERSIONS),
});

describe('a generated password', () => {
  it('keeps every rule of its version, has 12 characters, no look-alikes and nothing that a protocol gives a meaning', () => {
    fc.assert(
      fc.property(origins, (from) => {
        const password = derivePassword(from);
        expect(v.is(tradingPasswordSchema(from.version), password)).toBe(true);
        expect(password).toMatch(/^[\x21-\x7e]{12}$/);
        expect(password).not.toMatch(/[0O1lI|=\\"'&<>]/);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the same for the same origin, and another for another key, nonce, role or version', () => {
    const changed = [
      { ...origin, key: 'another secret' },
      { ...origin, nonce: 'n2' },
      { ...origin, role: 'investor' },
      { ...origin, version: 'tp4' },
    ] as const;
    fc.assert(
      fc.property(origins, (from) => {
        expect(derivePassword({ ...from })).toBe(derivePassword(from));
      }),
    );
    expect(new Set([origin, ...changed].map(derivePassword)).size).toBe(5);
  });

  it('never changes between releases, because a replay must answer it again', () => {
    const made = VERSIONS.flatMap((version) => ROLES.map((role) => derivePassword({ ...origin, version, role })));
    expect(made).toMatchInlineSnapshot(`
      [
        "NZ[4FC$-nJcg",
        "7MMiZ}br2XW#",
        "_ZH{e_Sx7z-(",
        ";#a*jFNQ@swg",
      ]
    `);
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

describe.each(VERSIONS)('over many operations the passwords of %s', (version) => {
  const LENGTH = 12;
  const SAMPLES = 12_000;
  const alphabets = Object.values(CHARACTER_CLASSES).map((characters) =>
    [...characters].filter((character) => !'0O1lI|=\\"\'&<>'.includes(character)),
  );
  const samples = Array.from({ length: SAMPLES }, (_, index) =>
    derivePassword({ ...origin, nonce: `sample ${index}`, version }),
  );

  it('use 81 characters', () => {
    expect(alphabets.flat()).toHaveLength(81);
    expect([...new Set(samples.join(''))].sort()).toEqual(alphabets.flat().sort());
  });

  // The operations are always the same ones, so the figures are too. A byte taken modulo 81 would deviate by more than
  // 5.
  it('have every character as often as the others of its class, in each of the 12 places', () => {
    for (let place = 0; place < LENGTH; place += 1) {
      for (const alphabet of alphabets) {
        const counts = new Map(alphabet.map((character) => [character, 0]));
        for (const password of samples) {
          const count = counts.get(password.charAt(place));
          if (count !== undefined) counts.set(password.charAt(place), count + 1);
        }
        expect(Math.abs(deviation([...counts.values()])), `place ${place}`).toBeLessThan(3.5);
      }
    }
  });

  it('are all different', () => {
    expect(new Set(samples).size).toBe(SAMPLES);
  });
});

describe('the password secret', () => {
  const key = Buffer.alloc(32, 1).toString('base64');

  it('holds a key of at least 32 bytes in base64', () => {
    expect(parsePasswordKey(JSON.stringify({ key })).export().toString()).toBe(key);
  });

  it.each(['', 'hunter2', '{}', 'null', '{"key":"hunter2"}', `{"key":"${key.slice(4)}"}`, `{"key":["${key}"]}`])(
    'is refused in another shape, without being quoted: %s',
    (secret) => {
      expect(() => parsePasswordKey(secret)).toThrow('The password secret must be {"key": "<32 bytes in base64>"}.');
    },
  );
});
