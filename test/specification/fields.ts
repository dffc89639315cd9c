import { isDeepStrictEqual } from 'node:util';
import { ACCOUNT_FIELDS } from './account-fields.ts';
import { AGREEING_FIELDS, ROOT_FIELDS, SERVED_COUNTRIES } from './fields-together.ts';
import { FIXED_FIELDS } from './fixed-fields.ts';
import { FORM_FIELDS } from './form-fields.ts';
import { type FieldCase, fieldCases } from './table.ts';

/** Every value of every field, by the section that it belongs to. */
export const FIELDS = {
  '2.1: the registration request': [
    ...[...FIXED_FIELDS, ...ROOT_FIELDS].flatMap(fieldCases),
    ...AGREEING_FIELDS,
    ...SERVED_COUNTRIES,
  ],
  '2.2: the fields of a form': FORM_FIELDS.flatMap(fieldCases),
  '2.3: the request for a trading account': ACCOUNT_FIELDS,
} as const satisfies Record<string, readonly FieldCase[]>;

/**
 * Those that are sent to the running service too. They show that it applies the rules: the first good value of each
 * row and of each promise, and the first value that breaks a rule in an operation.
 */
export function overHttp(cases: readonly FieldCase[]): FieldCase[] {
  const shown = new Set<string>();
  return cases.filter(({ row, rule, operation, violations, served, readAs }) => {
    if (served !== undefined || readAs !== undefined) return false;
    const isPromise = cases.every((one) => one.row !== row || one.rule !== rule || one.violations.length === 0);
    const shows =
      violations.length > 0
        ? violations.map((violation) => `${operation} ${violation.rule}`)
        : [row, ...(isPromise ? [`${row} ${rule}`] : [])];
    const isNew = shows.some((one) => !shown.has(one));
    for (const one of shows) shown.add(one);
    return isNew;
  });
}

/** Requests with as many of these good values as go together: of different rows, and with one value for each member. */
export function goodRequests(cases: readonly FieldCase[]): [FieldCase, ...FieldCase[]][] {
  const requests: [FieldCase, ...FieldCase[]][] = [];
  for (const one of cases) {
    const fitting = requests.find((request) => request.every((other) => fits(one, other)));
    if (fitting === undefined) requests.push([one]);
    else fitting.push(one);
  }
  return requests;
}

function fits(one: FieldCase, other: FieldCase): boolean {
  const hasOneValue = ([name, value]: [string, unknown]) =>
    !Object.hasOwn(other.body ?? {}, name) || isDeepStrictEqual(value, other.body?.[name]);
  return (
    one.operation === other.operation && one.row !== other.row && Object.entries(one.body ?? {}).every(hasOneValue)
  );
}
