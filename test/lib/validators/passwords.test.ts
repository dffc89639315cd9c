import fc from 'fast-check';
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { CHARACTER_CLASSES, tradingPasswordSchema } from '../../../lib/validators/passwords.ts';

test('Every printable ASCII character but the space is of exactly one class', () => {
  const printable = Array.from({ length: 0x7e - 0x21 + 1 }, (_, index) => String.fromCharCode(0x21 + index));
  expect(Object.values(CHARACTER_CLASSES).join('').split('').sort()).toEqual(printable.sort());
});

test.each(['tp5', 'tp4'] as const)('A %s password keeps the rules exactly when it is of the pattern', (version) => {
  const { pattern = '' } = v.getMetadata(tradingPasswordSchema(version)) as { pattern?: string };
  const character = fc.constantFrom(...'aZ5!^]\\-é\n ');
  fc.assert(
    fc.property(fc.string({ unit: character, minLength: 0, maxLength: 17 }), (password) => {
      expect(new RegExp(pattern, 'u').test(password)).toBe(v.is(tradingPasswordSchema(version), password));
    }),
  );
});
