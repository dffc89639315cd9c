import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { CHARACTER_CLASSES, tradingPasswordSchema } from '../../../lib/validators/passwords.ts';
import { toViolations } from '../../../lib/validators/primitives.ts';

const rulesOf = (version: 'tp5' | 'tp4', password: unknown) => {
  const result = v.safeParse(tradingPasswordSchema(version), password);
  return result.success ? [] : toViolations(result.issues).map(({ rule }) => rule);
};

test('Every printable ASCII character but the space is of exactly one class', () => {
  const printable = Array.from({ length: 0x7e - 0x21 + 1 }, (_, index) => String.fromCharCode(0x21 + index));
  expect(Object.values(CHARACTER_CLASSES).join('').split('').sort()).toEqual(printable.sort());
});

test.each(['tp5', 'tp4'] as const)('A %s password keeps the rules exactly when it is of the pattern', (version) => {
  const { pattern = '' } = v.getMetadata(tradingPasswordSchema(version)) as { pattern?: string };
  const character = fc.constantFrom(...'aZ5!^]\\-é\n ');
  fc.assert(
    fc.property(fc.string({ unit: character, minLength: 0, maxLength: 17 }), (password) => {
      expect(new RegExp(pattern, 'u').test(password)).toBe(rulesOf(version, password).length === 0);
    }),
  );
});

describe('a tp5 password', () => {
  test.each(['aA1!aaaa', 'Zz9~Zz9~Zz9~Zz9', 'Tr4de-It-Now', '1a|=\\"\'A', ' aA1! aa '])('may be %s', (password) => {
    expect(rulesOf('tp5', password)).toEqual([]);
  });

  test.each([
    ['aA1!aaa', ['length']],
    ['aA1!aaaaaaaaaaaa', ['length']],
    ['AA1!AAAA', ['complexity']],
    ['aa1!aaaa', ['complexity']],
    ['aaA!aaaa', ['complexity']],
    ['aA11aaaa', ['complexity']],
    ['aA1 aaaa', ['complexity']],
    ['aA1!aaaé', ['characters']],
    ['aA1!aaa\n', ['characters']],
    ['', ['length', 'complexity']],
    [12345678, ['type']],
    [null, ['type']],
  ])('may not be %j (%j)', (password, rules) => {
    expect(rulesOf('tp5', password)).toEqual(rules);
  });
});

describe('a tp4 password', () => {
  test.each(['abcD1', 'abcD!', 'abc12', 'ABC12', 'abcdefghijklmN1', 'aB cd'])('may be %s', (password) => {
    expect(rulesOf('tp4', password)).toEqual([]);
  });

  test.each([
    ['abC1', ['length']],
    ['abcdefghijklmnO1', ['length']],
    ['abcde', ['complexity']],
    ['ABCDE', ['complexity']],
    ['12345', ['complexity']],
    ['abc!!', ['complexity']],
    ['!!!!!', ['complexity']],
    ['aBcd\u0000', ['characters']],
  ])('may not be %j (%j)', (password, rules) => {
    expect(rulesOf('tp4', password)).toEqual(rules);
  });
});
