import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { KeysMalformed, type Pepper, type PepperKey, parsePepper } from '../../../lib/secrets/keys.ts';
import {
  type CodeBinding,
  isSameSeal,
  makeCode,
  passwordSalt,
  sealCodeAndPassword,
  sealGuess,
} from '../../../lib/secrets/one-time-code.ts';
import { CODE_VALID_MINUTES } from '../../../lib/validators/otp-types.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const VALID_MS = CODE_VALID_MINUTES * 60_000;

function textOf({ hmacKey }: PepperKey): string {
  return hmacKey.export().toString();
}

function pepperOf(current: string, ...versions: string[]): Pepper {
  return parsePepper(JSON.stringify({ current, ...Object.fromEntries(versions.map((v) => [v, `${v}-`.repeat(20)])) }));
}
const pepper = pepperOf('1', '1');

const binding: CodeBinding = { registrationId: 'r-1', channel: 'email', address: 'ann@example.com' };

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

describe('The seals of a code', () => {
  const secrets = { code: '012345', passwordHash: '$argon2id$hash' };
  const seals = sealCodeAndPassword(secrets, binding, pepper, NOW);

  it('are HMAC-SHA-256 under the current key over registration, channel, address and code, next to a digest', () => {
    const hmacOf = (text: string) => createHmac('sha256', '1-'.repeat(20)).update(text).digest('base64url');
    expect(seals).toEqual({
      pepper_version: '1',
      code: hmacOf('code\n["r-1","email","ann@example.com","012345"]'),
      password: createHash('sha256').update('$argon2id$hash').digest('base64url'),
      expires_at_ms: NOW + VALID_MS,
    });
  });

  it('match no other code, and none of another registration, channel or address', () => {
    expect(sealGuess('012345', binding, seals, pepper)).toBe(seals.code);
    for (const guess of ['012346', '12345', '0123450', '', '①②③④⑤⑥']) {
      expect(sealGuess(guess, binding, seals, pepper)).not.toBe(seals.code);
    }
    for (const other of [{ registrationId: 'r-2' }, { channel: 'sms' }, { address: 'bob@example.com' }] as const) {
      expect(sealGuess('012345', { ...binding, ...other }, seals, pepper)).not.toBe(seals.code);
    }
  });

  it('of an older key match while that key exists', () => {
    expect(sealGuess('012345', binding, seals, pepperOf('2', '1', '2'))).toBe(seals.code);
    expect(sealGuess('012345', binding, seals, pepperOf('2', '2'))).toBeUndefined();
  });

  it('can be compared even if one of them is malformed', () => {
    expect(isSameSeal(seals.code, seals.code)).toBe(true);
    for (const broken of ['', 'AAAA', seals.password]) expect(isSameSeal(seals.code, broken)).toBe(false);
  });
});

describe('The salt of a password', () => {
  const key = pepper.current;

  it('is the same for one channel and address, and differs for every other, and under another key', () => {
    const salts = [
      passwordSalt(key, 'email', 'ann@example.com'),
      passwordSalt(key, 'sms', 'ann@example.com'),
      passwordSalt(key, 'email', 'bob@example.com'),
      passwordSalt(pepperOf('2', '2').current, 'email', 'ann@example.com'),
    ];
    expect(salts.every((salt) => salt.length === 16)).toBe(true);
    expect(new Set(salts.map(String)).size).toBe(4);
    expect(passwordSalt(key, 'email', 'ann@example.com')).toEqual(salts[0]);
  });
});
