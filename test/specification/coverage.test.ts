import { describe, expect, it } from 'vitest';
import { PROBLEM_TYPES } from '../../infra/openapi/problems.ts';
import { PROBLEMS } from '../../lib/problem.ts';
import { CUSTOM_FIELD_TYPES } from '../../lib/validators/field-values.ts';
import { VIOLATION_RULES } from '../../lib/validators/primitives.ts';
import { RegistrationBodySchema } from '../../lib/validators/registration.ts';
import { tradingAccountBodySchema } from '../../lib/validators/trading-account.ts';
import { FIELDS } from './fields.ts';
import { PARTS } from './parts.ts';
import { FIELD_VERDICTS, ROWS } from './rows.ts';
import { SEVERAL_ERRORS } from './several-errors.ts';
import { gaps } from './table.ts';

const cases = PARTS.flatMap(({ sections }) => sections.flatMap((section) => section.cases));
const values = Object.values(FIELDS).flat();
const stands = [...cases.flatMap((one) => one.stands), ...FIELD_VERDICTS];

describe('Nothing of the specification is missing', () => {
  it('every row has a good case, every rule of it a bad one, and every promise is kept', () => {
    expect(gaps(ROWS, stands)).toEqual([]);
  });

  it('every type of form field has a row', () => {
    const rows = ROWS.filter(({ id }) => id.startsWith('2.2 ')).map(({ id }) => id.slice('2.2 '.length));
    expect(rows.sort()).toEqual([...CUSTOM_FIELD_TYPES].sort());
  });

  it.each([
    ['2.1', '', RegistrationBodySchema],
    ['2.3', ', tp5', tradingAccountBodySchema('tp5')],
    ['2.3', ', tp4', tradingAccountBodySchema('tp4')],
  ])('every fixed field of a body has a row with good and bad values: %s%s', (section, version, { entries }) => {
    const has = (name: string, isGood: boolean) =>
      values.some(({ row, violations }) => {
        const isOf = row === `${section} ${name}${version}` || row.startsWith(`${section} ${name}.`);
        return isOf && (violations.length === 0) === isGood;
      });
    const names = Object.keys(entries);
    expect(names.length).toBeGreaterThan(9);
    expect(names.filter((name) => !has(name, true) || !has(name, false))).toEqual([]);
  });

  it('every error that the service knows has a case, at each of its statuses', () => {
    const answered = new Set(cases.flatMap(({ error }) => error ?? []));
    const known = PROBLEM_TYPES.map((type) => `${PROBLEMS[type].status} ${type}`);
    expect([...answered].sort()).toEqual(known.sort());
  });

  it('every rule that an answer can name has a case that breaks it', () => {
    const words = [...values, ...SEVERAL_ERRORS].flatMap(({ violations }) => violations.map(({ rule }) => rule));
    const broken = new Set([...cases.flatMap((one) => one.broken ?? []), ...words]);
    expect([...broken].sort()).toEqual(Object.keys(VIOLATION_RULES).sort());
  });

  it('a row without a case would be noticed', () => {
    const rows = [{ id: '9.9 row', rules: ['rule'], promises: ['promise'], limits: ['limit'] }];
    expect(gaps(rows, [])).toEqual([
      '9.9 row has no good case',
      '9.9 row: nothing breaks "rule"',
      '9.9 row: nothing breaks "limit"',
      '9.9 row: nothing keeps "promise"',
      '9.9 row: nothing keeps "limit"',
    ]);
    expect(
      gaps(rows, [
        { row: '9.9 row', rule: 'other', kept: true },
        { row: '9.8', rule: 'rule', kept: false },
      ]),
    ).toEqual(expect.arrayContaining(['9.9 row does not say "other"', '9.8 is no row']));
  });
});
