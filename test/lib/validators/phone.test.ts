import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normalizePhone } from '../../../lib/validators/phone.ts';

describe('a phone', () => {
  test.each([
    ['44', '7400123456', '+447400123456'],
    ['+44', '7400 123456', '+447400123456'],
    ['44', '07400-123456', '+447400123456'],
    ['44', '(0)7400 123.456', '+447400123456'],
    ['44', '+44 7400 123456', '+447400123456'],
    ['49', '0151 23456789', '+4915123456789'],
    ['39', '06 1234 5678', '+390612345678'],
    ['7', '8 912 345-67-89', '+79123456789'],
    ['36', '06 20 123 4567', '+36201234567'],
    ['54', '011 15 2345-6789', '+5491123456789'],
    ['1', '(202) 555-0123', '+12025550123'],
    ['+1-684', '633 1234', '+16846331234'],
    ['1 684', '633-1234', '+16846331234'],
    ['971', '٠٥٠ ١٢٣ ٤٥٦٧', '+971501234567'],
    ['81', '０９０-１２３４-５６７８', '+819012345678'],
  ])('of dial code %s and number %s is %s in E.164', async (countryCode, number, e164) => {
    expect(await normalizePhone(countryCode, number)).toBe(e164);
  });

  test.each([
    ['44', ''],
    ['', '7400123456'],
    ['', '+447400123456'],
    ['GB', '7400123456'],
    ['044', '7400123456'],
    ['+', '7400123456'],
    ['++44', '7400123456'],
    ['999', '7400123456'],
    ['44', '740012345'],
    ['44', '74001234567'],
    ['44', '447400123456'],
    ['44', '+49 151 23456789'],
    ['44', '7400123456 ext. 5'],
    ['44', '7400123456;ext=5'],
    ['1', '800 FLOWERS'],
    ['1', '0000000000'],
    ['1', '555 555 0100'],
    ['44', 'tel:7400123456'],
    ['44', '7400123456\u0000'],
    ['44', `${'0'.repeat(31)}7400123456`],
  ])('is not made of dial code %j and number %j', async (countryCode, number) => {
    expect(await normalizePhone(countryCode, number)).toBeUndefined();
  });

  test('is either refused or in E.164 under its dial code, whatever was typed, and stays what it is', async () => {
    const code = fc.oneof(fc.string({ maxLength: 6 }), fc.integer({ min: 1, max: 999 }).map(String));
    const number = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^\+?[0-9 ().-]{4,16}$/));
    await fc.assert(
      fc.asyncProperty(code, number, async (countryCode, typed) => {
        const e164 = await normalizePhone(countryCode, typed);
        if (e164 === undefined) return;
        expect(e164).toMatch(/^\+[1-9]\d{6,14}$/);
        expect(await normalizePhone(countryCode, e164)).toBe(e164);
      }),
      { numRuns: 300 },
    );
  });
});
