import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { CaptchaTokenSchema, IdempotencyKeySchema } from '../../../lib/validators/headers.ts';
import { listViolations } from '../../../lib/validators/primitives.ts';

function rulesOf(schema: v.GenericSchema, value: unknown): string[] {
  return listViolations(v.safeParse(schema, value).issues ?? []).map(({ rule }) => rule);
}

describe('The header Idempotency-Key', () => {
  it.each([
    ['abc', 'abc'],
    ['"abc"', 'abc'],
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['x'.repeat(255), 'x'.repeat(255)],
    ['a"b', 'a"b'],
    ['k,k', 'k'],
    ['k, k', 'k'],
    ['"k","k"', 'k'],
    ['"k", "k"', 'k'],
    ['a,b,a,b', 'a,b'],
    ['a,b', 'a,b'],
    ['k,k,k', 'k,k,k'],
    [`${'x'.repeat(255)},${'x'.repeat(255)}`, 'x'.repeat(255)],
  ])('%j is the key %j', (header, key) => {
    expect(v.parse(IdempotencyKeySchema, header)).toBe(key);
  });

  it.each(['', ' ', '""', 'a b', 'é', 'x'.repeat(256), '"abc', 'a\tb', 'a, b', ', '])('%j is refused', (header) => {
    expect(rulesOf(IdempotencyKeySchema, header)).toEqual(['format']);
  });
});

describe('The header captcha-token', () => {
  it.each(['10000000-aaaa-bbbb-cccc-000000000001', 'XXXX.DUMMY.TOKEN.XXXX', 'x'.repeat(8_192)])(
    'may be %s',
    (header) => {
      expect(rulesOf(CaptchaTokenSchema, header)).toEqual([]);
    },
  );

  it('is required, visible ASCII, and no longer than a header can be', () => {
    expect(rulesOf(CaptchaTokenSchema, undefined)).toEqual(['required']);
    for (const header of ['', 'a b', 'é', 'x'.repeat(8_193)]) {
      expect(rulesOf(CaptchaTokenSchema, header)).toEqual(['format']);
    }
  });
});
