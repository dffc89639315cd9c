import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { ConfirmationRequestSchema } from '../../../lib/validators/confirmation.ts';
import { listViolations } from '../../../lib/validators/primitives.ts';

const ID = '5f0c1f6e-8d3a-8b52-9a57-2f3f8f6f3f10';
const VALID = { registration_id: ID, code: '012345' };

function rulesOf(body: unknown): string[] {
  const result = v.safeParse(ConfirmationRequestSchema, body);
  return (result.issues ? listViolations(result.issues) : []).map(({ pointer, rule }) => `${pointer} ${rule}`);
}

describe('a confirmation', () => {
  it('names a registration and its code', () => {
    expect(v.parse(ConfirmationRequestSchema, VALID)).toEqual(VALID);
    const pasted = { ...VALID, registration_id: ` ${ID.toUpperCase()}\n` };
    expect(v.parse(ConfirmationRequestSchema, pasted)).toEqual(VALID);
  });

  it.each([
    ' 012345\r\n',
    '012 345',
    '012-345',
    '0 1 2 3 4 5',
    '０１２３４５',
    '٠١٢٣٤٥',
    '०१२‒३४५',
    '\u200e012\u00ad345',
    '012ー345',
    '012_345.',
    '#012345',
    '(012) 345',
    '0️⃣1️⃣2️⃣345',
    '«012·345»',
  ])('accepts the code as people type it: %j', (code) => {
    expect(v.parse(ConfirmationRequestSchema, { ...VALID, code })).toEqual(VALID);
  });

  it.each([[undefined], [null], [''], [' ']])('needs both fields: none may be %j', (empty) => {
    for (const field of ['registration_id', 'code'])
      expect(rulesOf({ ...VALID, [field]: empty })).toEqual([`#/${field} required`]);
  });

  it.each([
    ['registration_id', 'unknown', 'format'],
    ['registration_id', ID.slice(1), 'format'],
    ['registration_id', 5, 'type'],
    ['code', '12345', 'format'],
    ['code', '12345a', 'format'],
    ['code', '1234567', 'format'],
    ['code', '12345½', 'format'],
    ['code', '123カ456', 'format'],
    ['code', '123456\u0000', 'format'],
    ['code', ' '.repeat(2_000), 'format'],
    ['code', 123456, 'type'],
    ['password', 'correct horse', 'unknown_field'],
    ['email', 'ann@example.com', 'unknown_field'],
  ])('with %s %j breaks rule %s', (field, value, rule) => {
    expect(rulesOf({ ...VALID, [field]: value })).toEqual([`#/${field} ${rule}`]);
  });
});
