import * as v from 'valibot';
import { CountrySchema } from './countries.ts';
import { EmailSchema } from './email.ts';
import type { FormField } from './form.ts';
import { PhoneSchema, parsePhone } from './phone.ts';
import {
  type BodyFault,
  closedObject,
  isObject,
  type Key,
  listOf,
  NumberSchema,
  openObject,
  rule,
  text,
  toPointer,
  toViolations,
} from './primitives.ts';

/** What keeps a registration's record within the 400 KB of a database item. Characters are code points. */
const MAX_CHARACTERS = 10_000;
const MAX_CHOICES = 500;
const MAX_PEOPLE = 100;
/** Of a value of open shape, written as JSON. */
export const MAX_JSON_CHARACTERS = 20_000;
/** Of all custom fields but documents, written as JSON. */
export const MAX_JSON_BYTES = 200_000;
export const DEEPEST = 20;

export const MEGABYTE = 1024 * 1024;
export const MAX_DOCUMENTS = 10;
export const LARGEST_DOCUMENT = 3 * MEGABYTE;
export const LARGEST_DOCUMENTS = 4 * MEGABYTE;

/** A document that came with a registration, decoded. Its media type is not checked here: that takes its content. */
export interface CheckedDocument {
  fieldKey: string;
  /** Its place in the field's array. */
  index: number;
  id: string;
  name: string;
  bytes: Uint8Array;
  /** The media types that the form accepts; absent: any. */
  accept?: readonly string[];
}

const TextSchema = text(0, MAX_CHARACTERS);
const ChoicesSchema = listOf(TextSchema, MAX_CHOICES);
const ShortTextSchema = text(0, 255);

const DocumentSchema = closedObject({
  id: v.pipe(ShortTextSchema, v.description('Id of the document, as the form gives it.')),
  name: v.pipe(ShortTextSchema, v.description('Name of the file.')),
  doc: v.pipe(
    v.string(),
    v.check((base64) => base64 !== '', rule('length', 'must not be empty')),
    v.check(isBase64, rule('base64', 'must be base64 with padding, and nothing else')),
    v.check(
      (base64) => decodedSize(base64) <= LARGEST_DOCUMENT,
      rule('size', `must be at most ${LARGEST_DOCUMENT / MEGABYTE} MB`),
    ),
    v.metadata({ contentEncoding: 'base64' }),
    v.description('The content, base64-encoded.'),
  ),
});

const PersonSchema = openObject({
  id: v.exactOptional(v.pipe(ShortTextSchema, v.description('Id of the person.'))),
  name: v.exactOptional(v.pipe(ShortTextSchema, v.description('Name of the person.'))),
});

const PeopleSchema = v.pipe(
  listOf(PersonSchema, MAX_PEOPLE),
  v.rawCheck(({ dataset, addIssue }) => {
    const fault = dataset.typed ? openValueFault(dataset.value) : undefined;
    if (fault !== undefined) addIssue({ message: fault });
  }),
);

/** The value that each type of form field takes (specification, 2.2). */
export const CUSTOM_FIELD_VALUES = {
  text: TextSchema,
  textarea: TextSchema,
  description: TextSchema,
  number: NumberSchema,
  number_string: v.pipe(
    text(0, 255),
    v.regex(/^[+-]?(?:\d*\.)?\d+$/, rule('format', 'must be a decimal number in a string')),
  ),
  boolean: v.boolean(),
  radio: TextSchema,
  select: TextSchema,
  dynamicSelect: v.pipe(
    v.unknown(),
    v.rawCheck(({ dataset, addIssue }) => {
      const fault = openValueFault(dataset.value);
      if (fault !== undefined) addIssue({ message: fault });
    }),
  ),
  multiselect: ChoicesSchema,
  checkbox: ChoicesSchema,
  date: v.pipe(
    v.string(),
    v.check(isDate, rule('date', 'must be a date as YYYY-MM-DD')),
    v.metadata({ format: 'date' }),
  ),
  document: listOf(DocumentSchema, MAX_DOCUMENTS),
  phone: PhoneSchema,
  email: EmailSchema,
  country: CountrySchema,
  nation: CountrySchema,
  location: closedObject({
    country: v.pipe(ShortTextSchema, v.description('The country.')),
    state: v.pipe(ShortTextSchema, v.description('The state or region.')),
    city: v.pipe(ShortTextSchema, v.description('The city.')),
  }),
  participants: PeopleSchema,
  leads: PeopleSchema,
} as const satisfies Record<FormField['type'], v.GenericSchema>;

/** The faults of one value by its field of the form; what documents weigh together is not looked at here. */
export async function customFieldFaults(field: FormField, value: unknown): Promise<BodyFault[]> {
  if (field.required === true && field.type !== 'dynamicSelect' && isEmpty(value)) {
    return [{ pointer: toPointer([field.key]), rule: 'required', detail: 'must not be empty' }];
  }
  const result = v.safeParse(CUSTOM_FIELD_VALUES[field.type], value);
  if (!result.success) return toViolations(result.issues, [field.key]);
  if (field.type === 'phone') return phoneFaults(field, v.parse(PhoneSchema, value));
  return CHOICES.has(field.type) ? choiceFaults(field, value) : [];
}

function isEmpty(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0);
}

async function phoneFaults({ key }: FormField, phone: v.InferOutput<typeof PhoneSchema>): Promise<BodyFault[]> {
  const parsed = await parsePhone(phone.country_code, phone.number);
  return parsed === undefined ? [{ pointer: toPointer([key, 'number']), ...INVALID_PHONE }] : [];
}

export const INVALID_PHONE = {
  rule: 'phone',
  detail: 'must be a valid phone number in the country of its dial code',
} as const satisfies Pick<BodyFault, 'rule' | 'detail'>;

const CHOICES: ReadonlySet<string> = new Set([
  'radio',
  'select',
  'multiselect',
  'checkbox',
] satisfies FormField['type'][]);

/** Choices are checked when the form lists options. */
function choiceFaults({ key, options = [] }: FormField, value: unknown): BodyFault[] {
  if (options.length === 0) return [];
  const chosen: [Key[], unknown][] = Array.isArray(value) ? value.map((one, i) => [[key, i], one]) : [[[key], value]];
  const offered = new Set<unknown>(options);
  return chosen
    .filter(([, choice]) => !offered.has(choice))
    .map(([keys]) => ({ pointer: toPointer(keys), rule: 'one_of', detail: 'must be one of the options of the form' }));
}

/** What the custom fields break together: the number and size of all documents, and the size of all the rest. */
export function togetherFaults(fields: readonly FormField[], values: Readonly<Record<string, unknown>>): BodyFault[] {
  const faults: BodyFault[] = [];
  const sent = sentDocuments(fields, values);
  const surplus = sent[MAX_DOCUMENTS];
  if (surplus !== undefined) {
    faults.push({
      pointer: toPointer([surplus.field.key, surplus.index]),
      rule: 'too_many',
      detail: `a request may have at most ${MAX_DOCUMENTS} documents`,
    });
  }
  let bytes = 0;
  const excess = sent.find(({ doc }) => {
    const size = decodedSize(doc);
    if (size <= LARGEST_DOCUMENT) bytes += size;
    return bytes > LARGEST_DOCUMENTS;
  });
  if (excess !== undefined) {
    faults.push({
      pointer: toPointer([excess.field.key, excess.index, 'doc']),
      rule: 'size',
      detail: `the documents of a request may have at most ${LARGEST_DOCUMENTS / MEGABYTE} MB together`,
    });
  }
  return faults;
}

/** True when everything but the documents, written as JSON, is more than a record can hold. Only for checked values. */
export function isTooLarge(fields: Readonly<Record<string, unknown>>): boolean {
  return Buffer.byteLength(JSON.stringify(fields)) > MAX_JSON_BYTES;
}

/** The documents of values that have no faults. */
export function toDocuments(
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

/** Alphabet, padding, and zeros in the bits that the padding leaves over (RFC 4648, 3.5): what its bytes are written as. */
function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}

/** Bytes that base64 stands for, told without decoding it. */
function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor((base64.length * 3) / 4) - padding;
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** What keeps a value of open shape from being kept, as the message of an action. Looks at no more of it than could be kept. */
function openValueFault(value: unknown): string | undefined {
  const tooLong = rule('length', `must be at most ${MAX_JSON_CHARACTERS} characters of JSON`);
  let room = MAX_JSON_CHARACTERS;

  function faultOf(inner: unknown, levels: number): string | undefined {
    // Every value is at least one character of JSON, and a text all of its own.
    room -= typeof inner === 'string' ? inner.length : 1;
    if (room < 0) return tooLong;
    if (typeof inner === 'string' && !inner.isWellFormed()) return rule('characters', 'must be well-formed Unicode');
    if (typeof inner === 'number' && !Number.isFinite(inner)) return rule('type', 'must hold finite numbers only');
    if (typeof inner !== 'object' || inner === null) return undefined;
    if (levels === 0) return rule('nesting', `must be nested at most ${DEEPEST} levels deep`);
    if (Array.isArray(inner)) return firstFault(inner, levels - 1);
    const names = Object.keys(inner);
    if (names.includes('__proto__')) return rule('unknown_field', 'must have no member of the name __proto__');
    return firstFault(names, levels - 1) ?? firstFault(Object.values(inner), levels - 1);
  }

  function firstFault(members: readonly unknown[], levels: number): string | undefined {
    for (const member of members) {
      const fault = faultOf(member, levels);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  return faultOf(value, DEEPEST) ?? (JSON.stringify(value).length > MAX_JSON_CHARACTERS ? tooLong : undefined);
}
