import * as v from 'valibot';
import { CountrySchema } from './countries.ts';
import { EmailSchema } from './email.ts';
import { PhoneSchema } from './phone.ts';
import {
  boundedLabel,
  boundedList,
  boundedText,
  closedObject,
  documented,
  NumberSchema,
  openObject,
  violationMessage,
} from './primitives.ts';
import { isText } from './typed-text.ts';

/** These limits keep a registration within the 400 KB of a database item. Characters are code points. */
const MAX_CHARACTERS = 10_000;
const MAX_CHOICES = 500;
const MAX_PEOPLE = 100;
/** The length of a value of any shape, as JSON. */
export const MAX_JSON_CHARACTERS = 20_000;
/** The size of all custom fields except documents, as JSON. */
export const MAX_JSON_BYTES = 200_000;
export const MAX_JSON_DEPTH = 20;

export const MEGABYTE = 1024 * 1024;
export const MAX_DOCUMENTS = 10;
export const MAX_DOCUMENT_BYTES = 3 * MEGABYTE;
export const MAX_DOCUMENTS_BYTES = 4 * MEGABYTE;

const TextSchema = boundedText(0, MAX_CHARACTERS);
const ChoicesSchema = boundedList(TextSchema, MAX_CHOICES);
const LabelSchema = boundedLabel(0, 255);
const NameSchema = boundedLabel(0, 255, 'name');

export const DocumentSchema = closedObject({
  id: documented(LabelSchema, 'Id of the document, as the form gives it.'),
  name: documented(NameSchema, 'Name of the file, without a path.'),
  doc: v.pipe(
    v.string(),
    v.check((base64) => base64 !== '', violationMessage('length', 'must not be empty')),
    v.check(isBase64, violationMessage('base64', 'must be base64 with padding, and nothing else')),
    v.check(
      (base64) => decodedSize(base64) <= MAX_DOCUMENT_BYTES,
      violationMessage('size', `must be at most ${MAX_DOCUMENT_BYTES / MEGABYTE} MB`),
    ),
    v.metadata({ contentEncoding: 'base64' }),
    v.description('The content, base64-encoded.'),
  ),
});

/** Some CRMs use texts as ids, others numbers. */
const PersonIdSchema = v.pipe(
  v.unknown(),
  v.rawCheck(({ dataset: { value: id }, addIssue }) => {
    const message =
      typeof id === 'string'
        ? v.safeParse(LabelSchema, id).issues?.[0].message
        : violationMessage('type', 'must be a string or a number');
    if (typeof id !== 'number' && message !== undefined) addIssue({ message });
  }),
  v.metadata({ type: ['string', 'number'], maxLength: 255 }),
);

const PersonSchema = openObject({
  id: v.exactOptional(documented(PersonIdSchema, 'Id of the person.')),
  name: v.exactOptional(documented(NameSchema, 'Name of the person.')),
});

const PeopleSchema = v.pipe(boundedList(PersonSchema, MAX_PEOPLE), v.rawCheck(checkOpenValue));
const OpenValueSchema = v.pipe(v.unknown(), v.rawCheck(checkOpenValue));

const RequiredTextSchema = boundedText(1, 255, 'name');
/** A picture of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The value that each type of form field takes (specification, 2.2), with an example. */
export const CUSTOM_FIELD_VALUES = {
  text: withExample('Engineer', TextSchema),
  textarea: withExample('Ten years in the trade.\nTwo of them abroad.', TextSchema),
  description: withExample('None', TextSchema),
  number: withExample(
    42.5,
    v.pipe(
      NumberSchema,
      v.check((value) => !isRounded(value), violationMessage('number', 'must not be an integer beyond ±(2^53 − 1)')),
    ),
  ),
  number_string: withExample(
    '1500.50',
    v.pipe(
      boundedText(0, 255),
      v.regex(/^[+-]?(?:\d*\.)?\d+$/, violationMessage('format', 'must be a decimal number in a string')),
    ),
  ),
  boolean: withExample(true, v.boolean()),
  radio: withExample('yes', TextSchema),
  select: withExample('some', TextSchema),
  dynamicSelect: withExample({ id: 7, label: 'Seven' }, OpenValueSchema),
  multiselect: withExample(['fx', 'metals'], ChoicesSchema),
  checkbox: withExample(['terms'], ChoicesSchema),
  date: withExample(
    '1990-02-28',
    v.pipe(
      v.string(),
      v.check(isDate, violationMessage('date', 'must be a date as YYYY-MM-DD')),
      v.metadata({ format: 'date' }),
    ),
  ),
  document: withExample(
    [{ id: 'passport', name: 'passport.png', doc: PNG }],
    boundedList(DocumentSchema, MAX_DOCUMENTS),
  ),
  phone: withExample({ country_code: '44', number: '07911123456' }, PhoneSchema),
  email: withExample('office@example.com', EmailSchema),
  country: withExample('PT', CountrySchema),
  nation: withExample('PT', CountrySchema),
  location: withExample(
    { country: 'PT', state: 'Lisboa', city: 'Lisboa' },
    closedObject({
      country: documented(RequiredTextSchema, 'The country.'),
      state: v.exactOptional(documented(boundedText(0, 255, 'name'), 'The state or region; may be empty.'), ''),
      city: documented(RequiredTextSchema, 'The city.'),
    }),
  ),
  participants: withExample([{ id: '1', name: 'Ann Lee', share: 50 }], PeopleSchema),
  leads: withExample([{ id: 2, name: 'Kim' }], PeopleSchema),
} as const satisfies Record<string, v.GenericSchema>;

/** The field types that a registration form may have (specification, 2.2). */
export type FieldType = keyof typeof CUSTOM_FIELD_VALUES;
export const CUSTOM_FIELD_TYPES = Object.keys(CUSTOM_FIELD_VALUES) as FieldType[];

/** A schema with an example of its values. */
function withExample<const S extends v.GenericSchema>(example: v.InferInput<S>, schema: S) {
  return v.pipe(schema, v.examples([example]));
}

/** The example of a type of form field. */
export function exampleValue(type: FieldType): unknown {
  return v.getExamples(CUSTOM_FIELD_VALUES[type])[0];
}

/**
 * True if encoding the decoded bytes gives the same text: alphabet, padding, and zeros in the unused bits (RFC 4648,
 * 3.5).
 */
function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}

/** The number of bytes that a base64 text decodes to, computed from its length. */
export function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor((base64.length * 3) / 4) - padding;
}

/** Whether this is an integer beyond ±(2^53 − 1): the parser has rounded what was sent. */
function isRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

function isDate(text: string): boolean {
  if (!/^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function checkOpenValue<T>({ dataset, addIssue }: v.RawCheckContext<T>): void {
  // A text that breaks its own rule would otherwise count twice.
  const message = dataset.typed && dataset.issues === undefined ? openValueMessage(dataset.value) : undefined;
  if (message !== undefined) addIssue({ message });
}

/**
 * The message for a value of any shape that is too large to store. It reads no more of the value than could be stored.
 */
function openValueMessage(value: unknown): string | undefined {
  const tooLong = violationMessage('length', `must be at most ${MAX_JSON_CHARACTERS} characters of JSON`);
  let room = MAX_JSON_CHARACTERS;

  function memberMessage(inner: unknown, levels: number): string | undefined {
    // Every value is at least one character of JSON, a text at least its length.
    room -= typeof inner === 'string' ? inner.length : 1;
    if (room < 0) return tooLong;
    if (typeof inner === 'string' && !isText(inner)) {
      return violationMessage('characters', 'must be well-formed Unicode without control characters');
    }
    if (typeof inner === 'number' && !Number.isFinite(inner))
      return violationMessage('type', 'must hold finite numbers only');
    if (isRounded(inner)) return violationMessage('number', 'must hold no integer beyond ±(2^53 − 1)');
    if (typeof inner !== 'object' || inner === null) return undefined;
    if (levels === 0) return violationMessage('nesting', `must be nested at most ${MAX_JSON_DEPTH} levels deep`);
    if (Array.isArray(inner)) return firstMessage(inner, levels - 1);
    const names = Object.keys(inner);
    if (names.includes('__proto__'))
      return violationMessage('unknown_field', 'must have no member of the name __proto__');
    return firstMessage(names, levels - 1) ?? firstMessage(Object.values(inner), levels - 1);
  }

  function firstMessage(members: readonly unknown[], levels: number): string | undefined {
    for (const member of members) {
      const violation = memberMessage(member, levels);
      if (violation !== undefined) return violation;
    }
    return undefined;
  }

  return (
    memberMessage(value, MAX_JSON_DEPTH) ?? (JSON.stringify(value).length > MAX_JSON_CHARACTERS ? tooLong : undefined)
  );
}
