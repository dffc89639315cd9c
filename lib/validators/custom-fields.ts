import * as v from 'valibot';
import { CountrySchema } from './countries.ts';
import { EmailSchema } from './email.ts';
import { type FormField, isRequired } from './form.ts';
import { PhoneSchema, parsePhone } from './phone.ts';
import {
  type BodyViolation,
  boundedList,
  closedObject,
  dropEmpty,
  isObject,
  jsonPointer,
  type Key,
  listViolations,
  NumberSchema,
  openObject,
  rule,
  text,
} from './primitives.ts';

/** These limits keep a registration within the 400 KB of a database item. Characters are code points. */
const MAX_CHARACTERS = 10_000;
const MAX_CHOICES = 500;
const MAX_PEOPLE = 100;
/** Of a value of any shape, as JSON. */
export const MAX_JSON_CHARACTERS = 20_000;
/** Of all custom fields except documents, as JSON. */
export const MAX_JSON_BYTES = 200_000;
export const MAX_DEPTH = 20;

export const MEGABYTE = 1024 * 1024;
export const MAX_DOCUMENTS = 10;
export const MAX_DOCUMENT_BYTES = 3 * MEGABYTE;
export const MAX_DOCUMENTS_BYTES = 4 * MEGABYTE;

/** A document of a registration, decoded. Its media type is checked later, by its content. */
export interface CheckedDocument {
  fieldKey: string;
  /** Its position in the field's array. */
  index: number;
  id: string;
  name: string;
  bytes: Uint8Array;
  /** The media types that the form accepts; absent: any. */
  accept?: readonly string[];
}

const TextSchema = text(0, MAX_CHARACTERS);
const ChoicesSchema = boundedList(TextSchema, MAX_CHOICES);
const ShortTextSchema = text(0, 255);

const DocumentSchema = closedObject({
  id: v.pipe(ShortTextSchema, v.description('Id of the document, as the form gives it.')),
  name: v.pipe(ShortTextSchema, v.description('Name of the file.')),
  doc: v.pipe(
    v.string(),
    v.check((base64) => base64 !== '', rule('length', 'must not be empty')),
    v.check(isBase64, rule('base64', 'must be base64 with padding, and nothing else')),
    v.check(
      (base64) => decodedSize(base64) <= MAX_DOCUMENT_BYTES,
      rule('size', `must be at most ${MAX_DOCUMENT_BYTES / MEGABYTE} MB`),
    ),
    v.metadata({ contentEncoding: 'base64' }),
    v.description('The content, base64-encoded.'),
  ),
});

/** Some CRMs have texts as ids, others numbers. */
const PersonIdSchema = v.pipe(
  v.unknown(),
  v.rawCheck(({ dataset: { value: id }, addIssue }) => {
    const message =
      typeof id === 'string'
        ? v.safeParse(ShortTextSchema, id).issues?.[0].message
        : rule('type', 'must be a string or a number');
    if (typeof id !== 'number' && message !== undefined) addIssue({ message });
  }),
  v.metadata({ type: ['string', 'number'], maxLength: 255 }),
);

const PersonSchema = openObject({
  id: v.exactOptional(v.pipe(PersonIdSchema, v.description('Id of the person.'))),
  name: v.exactOptional(v.pipe(ShortTextSchema, v.description('Name of the person.'))),
});

const PeopleSchema = v.pipe(
  boundedList(PersonSchema, MAX_PEOPLE),
  v.rawCheck(({ dataset, addIssue }) => {
    const violation = dataset.typed ? openValueMessage(dataset.value) : undefined;
    if (violation !== undefined) addIssue({ message: violation });
  }),
);

const OpenValueSchema = v.pipe(
  v.unknown(),
  v.rawCheck(({ dataset, addIssue }) => {
    const violation = openValueMessage(dataset.value);
    if (violation !== undefined) addIssue({ message: violation });
  }),
);

const RequiredTextSchema = text(1, 255);
/** A picture of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The value that each type of form field takes (specification, 2.2), with an example. */
export const CUSTOM_FIELD_VALUES = {
  text: withExample('Engineer', TextSchema),
  textarea: withExample('Ten years in the trade.\nTwo of them abroad.', TextSchema),
  description: withExample('None', TextSchema),
  number: withExample(42.5, NumberSchema),
  number_string: withExample(
    '1500.50',
    v.pipe(text(0, 255), v.regex(/^[+-]?(?:\d*\.)?\d+$/, rule('format', 'must be a decimal number in a string'))),
  ),
  boolean: withExample(true, v.boolean()),
  radio: withExample('yes', TextSchema),
  select: withExample('some', TextSchema),
  dynamicSelect: withExample({ id: 7, label: 'Seven' }, OpenValueSchema),
  multiselect: withExample(['fx', 'metals'], ChoicesSchema),
  checkbox: withExample(['terms'], ChoicesSchema),
  date: withExample(
    '1990-02-28',
    v.pipe(v.string(), v.check(isDate, rule('date', 'must be a date as YYYY-MM-DD')), v.metadata({ format: 'date' })),
  ),
  document: withExample(
    [{ id: 'passport', name: 'passport.png', doc: PNG }],
    boundedList(DocumentSchema, MAX_DOCUMENTS),
  ),
  phone: withExample({ country_code: '44', number: '07911 123456' }, PhoneSchema),
  email: withExample('office@example.com', EmailSchema),
  country: withExample('PT', CountrySchema),
  nation: withExample('PT', CountrySchema),
  location: withExample(
    { country: 'PT', state: 'Lisboa', city: 'Lisboa' },
    closedObject({
      country: v.pipe(RequiredTextSchema, v.description('The country.')),
      state: v.exactOptional(v.pipe(ShortTextSchema, v.description('The state or region; may be empty.')), ''),
      city: v.pipe(RequiredTextSchema, v.description('The city.')),
    }),
  ),
  participants: withExample([{ id: '1', name: 'Ann Lee', share: 50 }], PeopleSchema),
  leads: withExample([{ id: 2, name: 'Kim' }], PeopleSchema),
} as const satisfies Record<FormField['type'], v.GenericSchema>;

/** A schema with an example of its values. */
function withExample<const S extends v.GenericSchema>(example: v.InferInput<S>, schema: S) {
  return v.pipe(schema, v.examples([example]));
}

/** The example of a type of form field. */
export function exampleValue(type: FormField['type']): unknown {
  return v.getExamples(CUSTOM_FIELD_VALUES[type])[0];
}

/**
 * Checks one value against its field of the form. The size of all documents together is not checked here.
 * @returns the value to store, undefined if the field was left empty; or the violations
 */
export async function checkCustomField(
  field: FormField,
  given: unknown,
): Promise<{ value: unknown } | { violations: BodyViolation[] }> {
  const value = OBJECTS.has(field.type) || given === '' ? dropEmpty(given) : given;
  if (isRequired(field) && isEmpty(value, field.type)) {
    return { violations: [{ pointer: jsonPointer([field.key]), rule: 'required', detail: 'is required by the form' }] };
  }
  if (value === undefined) return { value };
  const result = v.safeParse(CUSTOM_FIELD_VALUES[field.type], value);
  if (!result.success) return { violations: listViolations(result.issues, [field.key]) };
  const violations =
    field.type === 'phone'
      ? await phoneViolations(field, v.parse(PhoneSchema, result.output))
      : formViolations(field, result.output);
  return violations.length === 0 ? { value: result.output } : { violations };
}

/** The types whose values are objects that a person fills in member by member. */
const OBJECTS: ReadonlySet<string> = new Set(['phone', 'location'] satisfies FormField['type'][]);

/** True if the field was left empty: no value, no elements, or for `dynamicSelect` also null and blank members. */
function isEmpty(value: unknown, type: FormField['type']): boolean {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return true;
  return type === 'dynamicSelect' && (value === null || dropEmpty(value) === undefined);
}

/** The rules of its field that a value of the right type breaks. */
function formViolations(field: FormField, value: unknown): BodyViolation[] {
  if (field.must === true && value !== true) {
    return [{ pointer: jsonPointer([field.key]), rule: 'must_be_true', detail: 'must be true' }];
  }
  return CHOICES.has(field.type) ? choiceViolations(field, value) : [];
}

async function phoneViolations({ key }: FormField, phone: v.InferOutput<typeof PhoneSchema>): Promise<BodyViolation[]> {
  const parsed = await parsePhone(phone.country_code, phone.number);
  return parsed === undefined ? [{ pointer: jsonPointer([key, 'number']), ...INVALID_PHONE }] : [];
}

export const INVALID_PHONE = {
  rule: 'phone',
  detail: 'must be a valid phone number in the country of its dial code',
} as const satisfies Pick<BodyViolation, 'rule' | 'detail'>;

const CHOICES: ReadonlySet<string> = new Set([
  'radio',
  'select',
  'multiselect',
  'checkbox',
] satisfies FormField['type'][]);

/** Choices are checked only if the form lists options. */
function choiceViolations({ key, options = [] }: FormField, value: unknown): BodyViolation[] {
  if (options.length === 0) return [];
  const chosen: [Key[], unknown][] = Array.isArray(value) ? value.map((one, i) => [[key, i], one]) : [[[key], value]];
  const offered = new Set<unknown>(options);
  return chosen
    .filter(([, choice]) => !offered.has(choice))
    .map(([keys]) => ({
      pointer: jsonPointer(keys),
      rule: 'one_of',
      detail: 'must be one of the options of the form',
    }));
}

/** The rules that all documents of a request break together: their number and their size. */
export function documentViolations(
  fields: readonly FormField[],
  values: Readonly<Record<string, unknown>>,
): BodyViolation[] {
  const violations: BodyViolation[] = [];
  const sent = sentDocuments(fields, values);
  const surplus = sent[MAX_DOCUMENTS];
  if (surplus !== undefined) {
    violations.push({
      pointer: jsonPointer([surplus.field.key, surplus.index]),
      rule: 'too_many',
      detail: `a request may have at most ${MAX_DOCUMENTS} documents`,
    });
  }
  let bytes = 0;
  const excess = sent.find(({ doc }) => {
    const size = decodedSize(doc);
    if (size <= MAX_DOCUMENT_BYTES) bytes += size;
    return bytes > MAX_DOCUMENTS_BYTES;
  });
  if (excess !== undefined) {
    violations.push({
      pointer: jsonPointer([excess.field.key, excess.index, 'doc']),
      rule: 'size',
      detail: `the documents of a request may have at most ${MAX_DOCUMENTS_BYTES / MEGABYTE} MB together`,
    });
  }
  return violations;
}

/** True if the custom fields without documents are larger than a record can be. Only for checked values. */
export function isTooLarge(fields: Readonly<Record<string, unknown>>): boolean {
  return Buffer.byteLength(JSON.stringify(fields)) > MAX_JSON_BYTES;
}

/** The documents of checked values. */
export function decodeDocuments(
  fields: readonly FormField[],
  values: Readonly<Record<string, unknown>>,
): CheckedDocument[] {
  return sentDocuments(fields, values).map(({ field, index, element }) => {
    const { id, name, doc } = v.parse(DocumentSchema, element);
    return {
      fieldKey: field.key,
      index,
      id,
      name,
      bytes: Buffer.from(doc, 'base64'),
      ...(field.accept === undefined ? {} : { accept: field.accept }),
    };
  });
}

function sentDocuments(fields: readonly FormField[], values: Readonly<Record<string, unknown>>) {
  return fields.flatMap((field) => {
    const value = field.type === 'document' && Object.hasOwn(values, field.key) ? values[field.key] : [];
    if (!Array.isArray(value) || value.length > MAX_DOCUMENTS) return [];
    return value.map((element: unknown, index) => {
      const doc = isObject(element) && typeof element.doc === 'string' ? element.doc : '';
      return { field, index, element, doc };
    });
  });
}

/**
 * True if encoding the decoded bytes gives the same text: alphabet, padding, and zeros in the unused bits (RFC 4648,
 * 3.5).
 */
function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}

/** The size of the decoded bytes, without decoding them. */
function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor((base64.length * 3) / 4) - padding;
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** The message for a value of any shape that cannot be kept. It reads no more of the value than could be kept. */
function openValueMessage(value: unknown): string | undefined {
  const tooLong = rule('length', `must be at most ${MAX_JSON_CHARACTERS} characters of JSON`);
  let room = MAX_JSON_CHARACTERS;

  function memberMessage(inner: unknown, levels: number): string | undefined {
    // Every value is at least one character of JSON, a text at least its length.
    room -= typeof inner === 'string' ? inner.length : 1;
    if (room < 0) return tooLong;
    if (typeof inner === 'string' && !inner.isWellFormed()) return rule('characters', 'must be well-formed Unicode');
    if (typeof inner === 'number' && !Number.isFinite(inner)) return rule('type', 'must hold finite numbers only');
    if (typeof inner !== 'object' || inner === null) return undefined;
    if (levels === 0) return rule('nesting', `must be nested at most ${MAX_DEPTH} levels deep`);
    if (Array.isArray(inner)) return firstMessage(inner, levels - 1);
    const names = Object.keys(inner);
    if (names.includes('__proto__')) return rule('unknown_field', 'must have no member of the name __proto__');
    return firstMessage(names, levels - 1) ?? firstMessage(Object.values(inner), levels - 1);
  }

  function firstMessage(members: readonly unknown[], levels: number): string | undefined {
    for (const member of members) {
      const violation = memberMessage(member, levels);
      if (violation !== undefined) return violation;
    }
    return undefined;
  }

  return memberMessage(value, MAX_DEPTH) ?? (JSON.stringify(value).length > MAX_JSON_CHARACTERS ? tooLong : undefined);
}
