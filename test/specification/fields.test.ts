import { describe, expect, it } from 'vitest';
import { violationPlace } from './checks.ts';
import { FIELDS, overHttp } from './fields.ts';
import { checkRules } from './judge.ts';
import { SEVERAL_ERRORS } from './several-errors.ts';

for (const [section, cases] of Object.entries(FIELDS)) {
  describe(`${section}, on the rules`, () => {
    for (const one of cases) {
      const words = one.violations.map((violation) => `${violation.rule} at ${violationPlace(violation)}`).join(', ');
      const outcome = words === '' ? 'is accepted' : `is refused with ${words}`;
      it(`${one.row}: ${one.rule} — ${one.says} ${outcome}`, () => checkRules(one));
    }
  });
}

describe('Several errors of one request are listed at once, up to a hundred', () => {
  for (const one of SEVERAL_ERRORS) it(`${one.operation}: ${one.says}`, () => checkRules(one));
});

it('The comparison notices a value that the rules judge otherwise than the table', async () => {
  const [good] = FIELDS['2.1: the registration request'].filter(({ violations }) => violations.length === 0);
  const [bad] = FIELDS['2.1: the registration request'].filter(({ violations }) => violations.length > 0);
  if (good === undefined || bad === undefined) throw new Error('The table is empty.');
  await expect(checkRules({ ...good, violations: [{ pointer: '#/email', rule: 'format' }] })).rejects.toThrow();
  await expect(checkRules({ ...bad, violations: [] })).rejects.toThrow();
});

it('Every row with values has one value that goes over HTTP', () => {
  const all = Object.values(FIELDS).flat();
  const rowsOf = (cases: readonly { row: string }[]) => [...new Set(cases.map(({ row }) => row))];
  expect(rowsOf(overHttp(all))).toEqual(rowsOf(all));
});
