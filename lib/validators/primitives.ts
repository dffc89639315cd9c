import * as v from 'valibot';
import { isBlankText, isLabel, isLine, isText, isVisible, TEXT_READINGS, type TextKind } from './typed-text.ts';

/** The names of the rules in an answer, with their meanings. Integrators switch on them: none is ever renamed. */
export const VIOLATION_RULES = {
  required: 'a required field is absent or empty',
  type: 'the value has another JSON type',
  unknown_field: 'neither a field of the request nor of the form',
  one_of: 'not one of the values that may be chosen',
  format: 'not of the format',
  characters: 'holds a character that is not allowed, or lacks one that is needed',
  length: 'too short or too long',
  minimum: 'too small',
  maximum: 'too large',
  integer: 'not a whole number',
  number: 'an integer beyond ±(2^53 − 1), which would be rounded',
  password_mismatch: '`repeat_password` differs from `password`',
  common: 'a password that is guessed first',
  complexity: 'a password without the kinds of characters that its platform version asks for',
  phone: 'not a number of its dial code: one that gets a message must be valid, another one of a possible length',
  number_type: 'a number of a kind that gets no messages, such as a premium-rate one',
  country_not_served: 'a number of a country that this deployment does not serve',
  date: 'not a date of the calendar',
  country: 'not an ISO 3166-1 alpha-2 code',
  language: 'not a BCP 47 language tag',
  must_be_true: 'a consent that the form asks for and that was not given',
  base64: 'not base64',
  media_type: 'a document of a kind that the form does not accept',
  too_many: 'an array or an object with too many members',
  nesting: 'nested too deeply',
  size: 'too large in bytes',
  not_supported: "the protocol of the connection, or of a header the caller's token, does not allow it",
  not_offered: 'the trading platform does not accept this value',
  reserved: 'the login is reserved on another trading server',
} as const;
export type ViolationRule = keyof typeof VIOLATION_RULES;

/**
 * One rule that a request breaks: its place (a JSON Pointer, RFC 6901, into the body as a URI fragment, a path
 * parameter or a header), the word of the rule, and a sentence.
 */
export type Violation = ({ pointer: string } | { parameter: string } | { header: string }) & {
  rule: ViolationRule;
  detail: string;
};
/** A rule that the body breaks. */
export type BodyViolation = Extract<Violation, { pointer: string }>;

export type PathKey = string | number;
/** The members of an issue that `listViolations` reads. The received value is not one of them. */
type Issue = Pick<v.BaseIssue<unknown>, 'kind' | 'type' | 'expected' | 'input' | 'message' | 'path'>;

/** The maximum number of listed violations, so that a hostile body cannot produce an answer larger than itself. */
export const MAX_VIOLATIONS = 100;
/**
 * The longest name of a member that an answer repeats. For a longer one, the pointer names the object that has the
 * member.
 */
const MAX_NAME = 255;

/** The message of an action: the rule's word and a sentence about the field. It never holds the received value. */
export function violationMessage(singleLine: ViolationRule, detail: string): `${ViolationRule}: ${string}` {
  return `${singleLine}: ${detail}`;
}

/**
 * The violations that a parse found, in the order of the schema. Valibot's own messages quote the received value and
 * are never used. The sentence comes from `rule`, or is built here from the schema.
 * @param under the place of the parsed value in the body
 */
export function listViolations(issues: readonly Issue[], under: readonly PathKey[] = []): BodyViolation[] {
  const violations: BodyViolation[] = [];
  const seen = new Set<string>();
  for (const issue of issues) {
    if (violations.length === MAX_VIOLATIONS) break;
    const keys = (issue.path ?? []).map(({ key }) => (typeof key === 'number' ? key : String(key)));
    const violation = { pointer: jsonPointer([...under, ...keys]), ...explain(issue) };
    const identity = `${violation.rule} ${violation.pointer}`;
    if (!seen.has(identity)) violations.push(violation);
    seen.add(identity);
  }
  return violations;
}

/** A JSON Pointer as a URI fragment: `~` and `/` escaped, then percent-encoded as UTF-8. */
export function jsonPointer(keys: readonly PathKey[]): string {
  const long = keys.findIndex((key) => String(key).length > MAX_NAME);
  const named = long === -1 ? keys : keys.slice(0, long);
  const segments = named.map((key) => String(key).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1'));
  return ['#', ...segments.map(encodeURIComponent)].join('/');
}

function explain(issue: Issue): Pick<BodyViolation, 'rule' | 'detail'> {
  if (issue.kind !== 'schema') {
    // Our messages come from `rule`. Those of valibot begin with a capital letter.
    const [, word, detail] = /^([a-z0-9_]+): (.+)$/.exec(issue.message) ?? [];
    return word === undefined || detail === undefined
      ? { rule: 'format', detail: 'is not valid' }
      : { rule: word as ViolationRule, detail };
  }
  if (issue.expected === 'never') return { rule: 'unknown_field', detail: 'is not a field of this request' };
  if (issue.input === undefined) return { rule: 'required', detail: 'is required' };
  const options = ['picklist', 'literal', 'variant'].includes(issue.type);
  if (options && typeof issue.input === 'string') {
    return {
      rule: 'one_of',
      detail: `must be ${issue.expected?.replaceAll(/[()]/g, '').replaceAll(' | ', ' or ')}`,
    };
  }
  return { rule: 'type', detail: `must be ${options ? 'a string' : (TYPE_NAMES[issue.type] ?? 'of another type')}` };
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  record: 'an object',
  object: 'an object',
  loose_object: 'an object',
  strict_object: 'an object',
};

/** The schema with the words and examples that OpenAPI shows. */
export function documented<const S extends v.GenericSchema>(
  schema: S,
  meaning: string,
  ...examples: v.InferInput<S>[]
) {
  const description = v.description<v.InferOutput<S>, string>(meaning);
  return examples.length === 0 ? v.pipe(schema, description) : v.pipe(schema, description, v.examples(examples));
}

/** The path of an issue that an action adds. */
export function issuePath(first: PathKey, ...more: PathKey[]): [v.UnknownPathItem, ...v.UnknownPathItem[]] {
  const item = (key: PathKey): v.UnknownPathItem => ({
    type: 'unknown',
    origin: 'value',
    input: undefined,
    key,
    value: undefined,
  });
  return [item(first), ...more.map(item)];
}

/** Whether this is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value was left empty: HTML forms send `""`, typed clients send `null`. */
export function isEmpty(value: unknown): boolean {
  return value === '' || value === null || value === undefined;
}

/** The longest text that is searched for anything but white space. A longer one is too long for its field. */
const MAX_BLANK_UNITS = 1_016;

/** Whether a field was left empty that is stored without white space and invisible marks: those alone are nothing. */
export function isBlank(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > MAX_BLANK_UNITS) return isEmpty(value);
  return isBlankText(value);
}

/**
 * A value, or an object without the members that were left empty.
 * @param isLeft whether a text or a member was left empty
 * @returns undefined if nothing is left
 */
export function dropEmpty(value: unknown, isLeft = isEmpty): unknown {
  if (isLeft(value)) return undefined;
  if (!isObject(value)) return value;
  const given = Object.entries(value);
  const members = given.filter(([, member]) => !isLeft(member));
  if (members.length === 0) return undefined;
  return members.length === given.length ? value : Object.fromEntries(members);
}

/** A phone that gets no message. Without a number it was left empty: a page may preselect its dial code. */
export function dropUnneededPhone(given: unknown): unknown {
  if (!isObject(given) || !isBlank(given.number)) return dropEmpty(given, isBlank);
  const { country_code: _, ...rest } = given;
  return dropEmpty(rest, isBlank);
}

/** The phone of a body, whose messages go by email unless it names another channel. */
function readPhoneMember({ phone, otp_type }: Record<string, unknown>): unknown {
  return isEmpty(otp_type) || otp_type === 'email' ? dropUnneededPhone(phone) : dropEmpty(phone, isBlank);
}

/** The fields whose reading removes white space: blanks alone count as empty. Every other text stays as it was typed. */
const TRIMMED: ReadonlySet<string> = new Set(['email', 'name', 'code', 'registration_id']);

/**
 * The first step of every route: its body without the fields that were left empty. An optional field is then absent, and
 * a required one breaks the rule `required`.
 * @param names of the fields that the route knows; other members stay as they came
 */
export function readBody(names: readonly string[]) {
  return v.pipe(
    v.unknown(),
    v.transform((body) => {
      if (!isObject(body)) return body;
      const read = names
        .filter((name) => Object.hasOwn(body, name))
        .map((name) => [name, name === 'phone' ? readPhoneMember(body) : body[name]] as const);
      const empty = read.filter(([name, value]) => (TRIMMED.has(name) ? isBlank : isEmpty)(value));
      // To copy a body of thousands of members costs as much as to parse it.
      if (empty.length === 0 && read.every(([name, value]) => value === body[name])) return body;
      const filled = { ...body, ...Object.fromEntries(read) };
      for (const [name] of empty) delete filled[name];
      return filled;
    }),
  );
}

/**
 * A kind of object with these members. For a file of an operator, `closedObject` refuses every other member by name. For
 * a stored item, `v.object` leaves it out: a newer version may have written it.
 */
export type ObjectKind = <const E extends v.ObjectEntries>(
  entries: E,
) => v.ObjectSchema<E, undefined> | v.StrictObjectSchema<E, undefined>;

/**
 * An object of exactly these members. Unlike `v.strictObject` it refuses an array, and names every unknown member
 * instead of the first one.
 */
export function closedObject<const E extends v.ObjectEntries>(entries: E): v.StrictObjectSchema<E, undefined> {
  const strict = v.strictObject(entries);
  const known = v.object(entries);
  const { type, reference, expects, message } = strict;
  const schema = v.lazy((input): v.GenericSchema => {
    if (!isObject(input)) return refuseAs(strict);
    const unknown = Object.keys(input).filter((key) => !Object.hasOwn(entries, key));
    if (unknown.length === 0) return known;
    const never = unknown.slice(0, MAX_VIOLATIONS).map((key) => [key, v.never()]);
    return v.object({ ...entries, ...Object.fromEntries(never) });
  });
  // Other schemas and documents read the members of this one.
  return { ...schema, type, reference, expects, message, entries } as v.StrictObjectSchema<E, undefined>;
}

/** Refuses a value as the schema refuses `null`, by its type. */
function refuseAs(schema: v.GenericSchema): v.GenericSchema {
  return v.pipe(
    v.unknown(),
    v.transform(() => null),
    schema,
  );
}

/**
 * An object of these members and any others, which are kept as they came. Unlike `v.looseObject` it refuses an array,
 * and keeps members with names such as `constructor`, so that a later rule can refuse them by name.
 */
export function openObject<const E extends v.ObjectEntries>(entries: E): v.LooseObjectSchema<E, undefined> {
  const loose = v.looseObject(entries);
  const { type, reference, expects, message } = loose;
  const schema = v.lazy((input): v.GenericSchema => {
    if (!isObject(input)) return refuseAs(loose);
    const reserved = ['__proto__', 'constructor', 'prototype'].filter((name) => Object.hasOwn(input, name));
    if (reserved.length === 0) return loose;
    return v.pipe(
      loose,
      v.transform((kept) => {
        for (const name of reserved) {
          const descriptor = { value: input[name], enumerable: true, writable: true, configurable: true };
          Object.defineProperty(kept, name, descriptor);
        }
        return kept;
      }),
    );
  });
  return { ...schema, type, reference, expects, message, entries } as v.LooseObjectSchema<E, undefined>;
}

/** An array of at most `max` elements. A longer one is refused before its elements are checked. */
export function boundedList<const S extends v.GenericSchema>(item: S, max: number) {
  const list = v.array(item);
  const { type, reference, expects, message } = list;
  const tooLong = v.pipe(
    v.unknown(),
    v.rawTransform(({ addIssue, NEVER }) => {
      addIssue({ message: violationMessage('too_many', `must have at most ${max} elements`) });
      return NEVER;
    }),
  );
  const schema = v.lazy((value): v.GenericSchema => (Array.isArray(value) && value.length > max ? tooLong : list));
  const bounded = { ...schema, type, reference, expects, message, item } as v.ArraySchema<S, undefined>;
  return v.pipe(bounded, v.metadata({ maxItems: max }));
}

/**
 * A string of at most `max` UTF-16 units. `read` returns its normal form, which the rules then check. A longer string
 * is refused unread.
 */
export function normalizedString(max: number, message: string, read: (value: string) => string) {
  const isShort = ({ length }: string) => length <= max;
  return v.pipe(v.string(), v.check(isShort, message), v.transform(read));
}

/** A string of `min` to `max` characters (code points), in the normal form of its kind. */
export function boundedText(min: number, max: number, kind: TextKind = 'text') {
  const length = violationMessage('length', `must be ${describeLength(min, max)}`);
  return v.pipe(
    // A code point has one unit or two. Reading composes up to two code points of two units each.
    normalizedString((kind === 'text' ? 2 : 4) * max, length, TEXT_READINGS[kind]),
    v.check((value) => hasCodePoints(value, min, max), length),
    v.check(isText, violationMessage('characters', 'must be well-formed Unicode without control characters')),
    v.metadata({ ...(min > 0 ? { minLength: min } : {}), maxLength: max }),
  );
}

function hasCodePoints(value: string, min: number, max: number): boolean {
  if (value.length >= 2 * min && value.length <= max) return true;
  const count = [...value].length;
  return count >= min && count <= max;
}

function describeLength(min: number, max: number): string {
  if (min === max) return `${max} characters`;
  return min === 0 ? `at most ${max} characters` : `${min} to ${max} characters`;
}

/** A text on one line. */
export function boundedLine(min: number, max: number) {
  return v.pipe(boundedText(min, max), v.check(isLine, violationMessage('characters', 'must be one line')));
}

/** The id or name of a document or person: a line without what changes the direction of writing, `/` and `\\`. */
export function boundedLabel(min: number, max: number, kind: TextKind = 'text') {
  const message = violationMessage('characters', 'must be one line without direction marks, slashes and backslashes');
  return v.pipe(boundedText(min, max, kind), v.check(isLabel, message));
}

/** A person's name. A reader sees everything that it holds. */
export function personName(max: number) {
  return v.pipe(
    // The last rule refuses an empty name, so that it breaks one rule only.
    boundedText(0, max, 'name'),
    v.metadata({ minLength: 1 }),
    v.check(isVisible, violationMessage('characters', 'must hold no control or invisible characters')),
    v.check((name) => /[\p{L}\p{N}]/u.test(name), violationMessage('characters', 'must hold a letter or a digit')),
  );
}

/** A text of one line, such as ids and names in the CRM. */
export const OneLineSchema = boundedLine(1, 255);

/** The ids and codes of the CRM: exactly 8 visible ASCII characters. */
export const IdSchema = v.pipe(
  boundedText(8, 8),
  v.regex(/^[\x21-\x7e]*$/, violationMessage('characters', 'must be visible ASCII characters')),
);

/** A number that JSON can express: `1e999` is read as infinity and refused. */
export const NumberSchema = v.pipe(v.number(), v.finite(violationMessage('type', 'must be a finite number')));

/** A whole number within bounds. */
export function wholeNumber(least: number, most: number = Number.MAX_SAFE_INTEGER) {
  return v.pipe(
    NumberSchema,
    v.integer(violationMessage('integer', 'must be an integer')),
    v.minValue(least, violationMessage('minimum', `must be at least ${least}`)),
    v.maxValue(most, violationMessage('maximum', `must be at most ${most}`)),
  );
}

/** The beginning of a text, cut between visible characters. @param units the maximum length, in UTF-16 units */
export function cutText(text: string, units: number): string {
  if (text.length <= units) return text;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (kept.length + segment.length > units) break;
    kept += segment;
  }
  return kept;
}

const MAX_LANGUAGE = 64;
const NO_LANGUAGE = violationMessage('language', 'must be a BCP 47 language tag such as en or pt-BR');

/**
 * A language tag that `Intl` takes. `pt_BR` and `pt_BR.UTF-8`, as systems write it, are read as `pt-BR`.
 */
export const LanguageSchema = v.pipe(
  normalizedString(MAX_LANGUAGE, NO_LANGUAGE, TEXT_READINGS.language),
  v.check(isLanguageTag, NO_LANGUAGE),
  v.metadata({ minLength: 2, maxLength: MAX_LANGUAGE }),
);

function isLanguageTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

/** The largest login of each platform: 64 bits for tp5, of which JSON can express 53; 31 bits for tp4. */
const LARGEST_LOGIN = { tp5: Number.MAX_SAFE_INTEGER, tp4: 2 ** 31 - 1 } as const;

/** The login of a trading account. */
export function loginSchema(version: keyof typeof LARGEST_LOGIN) {
  return wholeNumber(1, LARGEST_LOGIN[version]);
}

/** Whether a platform can have this login. */
export function isLogin(version: keyof typeof LARGEST_LOGIN, login: number): boolean {
  return v.is(loginSchema(version), login);
}
