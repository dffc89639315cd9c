import { expect, test } from 'vitest';
import { CHARACTER_CLASSES } from '../../../lib/validators/passwords.ts';

test('Every printable ASCII character but the space belongs to exactly one class', () => {
  const printable = Array.from({ length: 0x7e - 0x21 + 1 }, (_, index) => String.fromCharCode(0x21 + index));
  expect(Object.values(CHARACTER_CLASSES).join('').split('').sort()).toEqual(printable.sort());
});
