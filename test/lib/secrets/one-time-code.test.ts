import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { KeysMalformed, keyedUuid, type Pepper, type PepperKey, parsePepper } from '../../../lib/secrets/keys.ts';
import { isCodeOf, makeCode, sealCode } from '../../../lib/secrets/one-time-code.ts';

function textOf({ hmacKey }: PepperKey): string {
  return hmacKey.export().toString();
}

function pepperOf(current: string, ...versions: string[]): Pepper {
  return parsePepper(JSON.stringify({ current, ...Object.fromEntries(versions.map((v) => [v, `${v}-`.repeat(20)])) }));
}
const pepper = pepperOf('1', '1');

describe('A one-time password', () => {
  it('is six digits, each of them equally likely in every place', () => {
    const codes = Array.from({ length: 60_000 }, makeCode);
    expect(codes.every((code) => /^\d{6}$/.test(code))).toBe(true);
    for (let place = 0; place < 6; place += 1) {
      const counts = Array.from({ length: 10 }, () => 0);
      for (const code of codes) {
        const digit = Number(code[place]);
        counts[digit] = (counts[digit] ?? 0) + 1;
      }
      // Chi-squared with 9 degrees of freedom: a uniform source is above 50 once in about 10 million tries.
      const expected = codes.length / 10;
      const chiSquared = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
      expect(chiSquared, `place ${place}: ${counts.join(' ')}`).toBeLessThan(50);
    }
  });

  it('differs each time', () => {
    // Among 1,000 draws from a million, half a pair is expected; 20 pairs occur once in more than 10^20 runs.
    expect(new Set(Array.from({ length: 1_000 }, makeCode)).size).toBeGreaterThan(980);
  });
});

describe('The pepper secret', () => {
  it('names the key that new codes are sealed with, and holds the older ones', () => {
    const two = pepperOf('2', '1', '2', '3');
    expect(two.current).toBe(two.keys[0]);
    expect(two.keys.map(({ version }) => version)).toEqual(['2', '1', '3']);
    expect(two.keys.map(textOf)).toEqual(['2-', '1-', '3-'].map((text) => text.repeat(20)));
    expect(new Set(two.keys.map(({ hashKey }) => hashKey)).size).toBe(3);
  });

  it.each([
    ['no JSON', 'a secret that is no JSON'],
    ['no object', '"a secret that is no object"'],
    ['a list', '["a secret that is a list"]'],
    ['without `current`', JSON.stringify({ 1: 'secret'.repeat(10) })],
    ['without the version it names', JSON.stringify({ current: '2', 1: 'secret'.repeat(10) })],
    ['with itself as the version', JSON.stringify({ current: 'current' })],
    ['with a short key', JSON.stringify({ current: '1', 1: 'secret'.repeat(10), 2: 'secret' })],
    ['with a key that is no text', JSON.stringify({ current: '1', 1: 'secret'.repeat(10), 2: { secret: 1 } })],
  ])('is refused when it is %s, and the error does not quote it', (_, text) => {
    const refusal = (() => {
      try {
        return parsePepper(text);
      } catch (error) {
        return error;
      }
    })();
    expect(refusal).toBeInstanceOf(KeysMalformed);
    expect(String((refusal as Error).stack)).not.toMatch(/secret(secret| that)/);
    expect((refusal as Error).cause).toBeUndefined();
  });
});

describe('The seal of a code', () => {
  const sealed = sealCode('r-1', '012345', pepper);

  it('is HMAC-SHA-256 under the current key over the registration and the code', () => {
    const hmac = createHmac('sha256', '1-'.repeat(20)).update('code\n["r-1","012345"]').digest('base64url');
    expect(sealed).toEqual({ code_seal: hmac, pepper_version: '1' });
  });

  it('matches no other code, and no other registration', () => {
    expect(isCodeOf('r-1', '012345', sealed, pepper)).toBe(true);
    for (const guess of ['012346', '12345', '0123450', '', '①②③④⑤⑥'])
      expect(isCodeOf('r-1', guess, sealed, pepper)).toBe(false);
    expect(isCodeOf('r-2', '012345', sealed, pepper)).toBe(false);
    for (const broken of [{}, { pepper_version: '1' }, { ...sealed, code_seal: 'AAAA' }])
      expect(isCodeOf('r-1', '012345', broken, pepper)).toBe(false);
  });

  it('of an older key matches while that key exists', () => {
    expect(isCodeOf('r-1', '012345', sealed, pepperOf('2', '1', '2'))).toBe(true);
    expect(isCodeOf('r-1', '012345', sealed, pepperOf('2', '2'))).toBe(false);
  });
});

describe('An id that follows from a key', () => {
  it('is a UUID of version 8, and differs for every text and key', () => {
    const [{ hashKey }, { hashKey: other }] = [pepper.current, pepperOf('2', '2').current];
    const ids = [keyedUuid(hashKey, 'a'), keyedUuid(hashKey, 'b'), keyedUuid(other, 'a')];
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(ids).size).toBe(3);
    expect(keyedUuid(hashKey, 'a')).toBe(ids[0]);
  });
});
