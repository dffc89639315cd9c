/**
 * The specification as a table: rows (`rows.ts`), values of fields (`fixed-fields.ts`, `form-fields.ts`,
 * `account-fields.ts`), requests with several errors (`several-errors.ts`), and cases over HTTP
 * (`*-cases.ts`, `*-errors.ts`).
 *
 * To add a row or a value:
 * 1. The values of a field go to a `*-fields.ts` file: `row` is its section and name, and they are listed under the words of
 *    its columns: `good` ones, and `bad` ones with the word of every broken rule (`['x', 'length', 'format@/0/id']`; after
 *    `@` the place below the field). A rule with a number is a limit, which needs both (`limit` makes them). Numbers are
 *    literals of the specification. They are never imported from `lib`, or a wrong number there would pass.
 * 2. What no single value can show gets a row in `rows.ts`: `rules`, `promises` and `limits` are the words of its columns.
 *    A decision of ours where the specification is silent begins with `decided`.
 * 3. That is all. `fields.test.ts` runs every value on the schemas, in milliseconds. `overHttp` sends some of them to
 *    the running service as well: the first good value of each row and promise, as many in a request as go together,
 *    and the first bad one for each rule.
 * 4. What a single value cannot show (a message, an account, a limit) is a case over HTTP: `keeps`, `breaks` or
 *    `meets` of `cases.ts`, in a `*-cases.ts` file.
 * `coverage.test.ts` fails for a row without a good case, a rule that nothing breaks, and an error that no case causes.
 * To see the cases by row: `npm run specification`.
 */

export type Version = 'tp5' | 'tp4';
export const VERSIONS = ['tp5', 'tp4'] as const satisfies readonly Version[];
/** The three operations of the specification; each account operation by its platform version. */
export const OPERATIONS = ['registration', ...VERSIONS] as const;
export type Operation = (typeof OPERATIONS)[number];

/** The channels that a one-time password goes to a phone by. */
export const PHONE_CHANNELS = ['sms', 'call', 'whatsapp'] as const;

/** One row of the specification, or a decision of ours. */
export interface Row {
  /** Its section and its name there, as in `2.1 email`. */
  id: string;
  /** What its columns demand; each must be broken by one case at least. */
  rules?: readonly string[];
  /** Its promises that no request can break; each needs at least one case. */
  promises?: readonly string[];
  /** Its numbers; each must be kept by a case that goes up to it, and broken by one that goes beyond. */
  limits?: readonly string[];
}

/** Where something is wrong with a request, and which rule it breaks. */
export type Violation = { rule: string } & ({ pointer: string } | { parameter: string } | { header: string });

/** The differences of a request from a good one. */
export interface Change {
  operation: Operation;
  /** Members of the body, instead of or next to the good ones; `ABSENT` removes one. */
  body?: Readonly<Record<string, unknown>>;
  userId?: string;
  headers?: Readonly<Record<string, string>>;
}

/** A request, and the verdict of its rules. */
export interface RuleCase extends Change {
  /** The request, in words. */
  says: string;
  /** All violations that the answer must list; none: the request is accepted. */
  violations: readonly Violation[];
  /** The countries whose numbers get messages, if not all of them. */
  served?: readonly string[];
}

/** A value of a field, and the verdict of the rules. */
export interface FieldCase extends RuleCase {
  row: string;
  rule: string;
  /** The values that the request is read with, by their keys, if they are not those that were sent. */
  readAs?: Readonly<Record<string, unknown>>;
}

export const ABSENT = Symbol('absent');

/** A value with its title. */
class Named {
  readonly words: string;
  readonly value: unknown;

  constructor(words: string, value: unknown) {
    this.words = words;
    this.value = value;
  }
}

export function named(words: string, value: unknown): Named {
  return new Named(words, value);
}

/** A value that is read as another one; `ABSENT`: as if the field were not sent. */
class ReadAs extends Named {
  readonly as: unknown;

  constructor(value: unknown, as: unknown, words: string) {
    super(words, value);
    this.as = as;
  }
}

export function readAs(value: unknown, as: unknown, words = JSON.stringify(value)): ReadAs {
  return new ReadAs(value, as, words);
}

/** A number as it is spelled here, which `JSON.stringify` would spell otherwise or could not. */
export function spelled(number: string): Named {
  return new Named(number, (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(number));
}

/**
 * A value that breaks rules: the words of all of them, each followed by `@` and the place below the field, if it
 * differs.
 */
export type Bad = readonly [value: unknown, ...violations: string[]];

/** Several values that break the same rule. */
export function each(violation: string, ...values: unknown[]): Bad[] {
  return values.map((value) => [value, violation]);
}

/** A limit and its figure: the value of that size is accepted, and the next larger one breaks the rule. */
export function limit(most: number, make: (size: number) => unknown, ...violations: string[]) {
  const ofSize = (size: number) => named(`${size} of at most ${most}`, make(size));
  return {
    good: [ofSize(most)],
    bad: [[ofSize(most + 1), ...(violations.length === 0 ? ['length'] : violations)] as Bad],
  };
}

const WRONG_TYPES = {
  string: [1, true, null, [], {}],
  number: ['1', true, null, [], {}],
  boolean: ['true', 1, 0, null, [], {}],
  object: ['x', 1, true, null, []],
  array: ['x', 1, true, null, {}],
} as const;

/** A field of a body, as a row of the specification has it. */
export interface Field {
  row: string;
  operation: Operation;
  /** Its place, such as `phone/number`. */
  at: string;
  /** The members of the body that contain a value, if it is not just the one named by `at`. */
  carried?: (value: unknown) => Record<string, unknown>;
  type?: keyof typeof WRONG_TYPES;
  /** The column `Required`; without it the row has none. */
  required?: boolean;
  /** By the words of the row's rules and promises. */
  values?: Readonly<Record<string, { good?: readonly unknown[]; bad?: readonly Bad[] }>>;
}

/** Violations by their words: `format@#/email`, `length@user_id` of a path, `format@Idempotency-Key` of a header. */
export function listed(...violations: string[]): Violation[] {
  return violations.map((violation) => {
    const [rule = '', place = ''] = violation.split('@');
    if (place.startsWith('#')) return { pointer: place, rule };
    return /^[a-z_]+$/.test(place) ? { parameter: place, rule } : { header: place, rule };
  });
}

/** The cases of a field: those of its columns, and those of its values. */
export function fieldCases(field: Field): FieldCase[] {
  const { row, operation, at, type, required, values = {} } = field;
  const carried = field.carried ?? ((value) => ({ [at]: value }));
  const make = (rule: string, value: unknown, violations: readonly string[]): FieldCase => ({
    row,
    rule,
    says: inWords(value),
    operation,
    body: carried(value instanceof Named ? value.value : value),
    ...(value instanceof ReadAs ? { readAs: { [at]: value.as } } : {}),
    violations: listed(...violations.map((violation) => violation.replace(/@|$/, `@#/${at}`))),
  });

  // HTML forms send empty strings for empty inputs, typed clients `null`.
  const isBlankAbsent = required !== true;
  const wrongTypes = type === undefined ? [] : WRONG_TYPES[type].filter((value) => value !== null);
  const ofType = type === undefined ? [] : wrongTypes.map((value) => make(type, value, ['type']));
  const absent = [ABSENT, '', null];
  const blank = isBlankAbsent ? [readAs('', ABSENT), readAs(null, ABSENT)] : [];
  const presence = [
    ...(required === true ? absent.map((value) => make('required', value, ['required'])) : []),
    ...(required === false ? [ABSENT, ...blank].map((value) => make('not required', value, [])) : []),
  ];
  const ofValues = Object.entries(values).flatMap(([rule, { good = [], bad = [] }]) => [
    ...good.map((value) => make(rule, value, [])),
    ...bad.map(([value, ...violations]) => make(rule, value, violations)),
  ]);
  return [...ofType, ...presence, ...ofValues];
}

function inWords(value: unknown): string {
  if (value instanceof Named) return value.words;
  return value === ABSENT ? 'its absence' : JSON.stringify(value);
}

/** Whether a case keeps the rule, or breaks it and is refused. */
export interface Stand {
  row: string;
  rule: string;
  kept: boolean;
}

/** The rows of fields: a rule with a number is a limit. Another one is a rule if a value breaks it. */
export function rowsOf(stands: readonly Stand[]): Row[] {
  return [...Map.groupBy(stands, ({ row }) => row)].map(([id, own]) => {
    const words = [...new Set(own.map(({ rule }) => rule))];
    const limits = words.filter((rule) => /(^| )\d/.test(rule));
    const rules = words.filter((rule) => !limits.includes(rule) && own.some((one) => one.rule === rule && !one.kept));
    return { id, limits, rules, promises: words.filter((rule) => ![...limits, ...rules].includes(rule)) };
  });
}

/** The rows without a required case, in words; and the cases without a row. */
export function gaps(rows: readonly Row[], stands: readonly Stand[]): string[] {
  const found = new Set<string>();
  for (const { id, rules = [], promises = [], limits = [] } of rows) {
    const own = stands.filter(({ row }) => row === id);
    if (!own.some(({ kept }) => kept)) found.add(`${id} has no good case`);
    for (const rule of [...rules, ...limits]) {
      if (!own.some((one) => one.rule === rule && !one.kept)) found.add(`${id}: nothing breaks "${rule}"`);
    }
    for (const promise of [...promises, ...limits]) {
      if (!own.some((one) => one.rule === promise && one.kept)) found.add(`${id}: nothing keeps "${promise}"`);
    }
  }
  for (const { row, rule } of stands) {
    const known = rows
      .filter(({ id }) => id === row)
      .flatMap(({ rules, promises, limits }) => [rules, promises, limits]);
    if (known.length === 0) found.add(`${row} is no row`);
    else if (!known.some((says) => says?.includes(rule))) found.add(`${row} does not say "${rule}"`);
  }
  return [...found];
}
