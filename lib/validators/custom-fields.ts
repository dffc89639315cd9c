import * as v from 'valibot';
import {
  CUSTOM_FIELD_VALUES,
  DocumentSchema,
  decodedSize,
  type FieldType,
  MAX_DOCUMENT_BYTES,
  MAX_DOCUMENTS,
  MAX_DOCUMENTS_BYTES,
  MEGABYTE,
} from './field-values.ts';
import { type FormField, isRequired } from './form.ts';
import { PhoneSchema, readPhone } from './phone.ts';
import {
  type BodyViolation,
  dropEmpty,
  dropUnneededPhone,
  isBlank,
  isEmpty,
  isObject,
  jsonPointer,
  listViolations,
  type PathKey,
} from './primitives.ts';

/** A document of a registration, decoded. Its media type is checked later, by its content. */
export interface CheckedDocument {
  fieldKey: string;
  /** The document's position in the field's array. */
  index: number;
  id: string;
  name: string;
  bytes: Uint8Array;
  /** The media types that the form accepts; absent: any. */
  accept?: readonly string[];
}

/**
 * Checks one value against its field of the form. The size of all documents together is not checked here.
 * @returns the value to store, undefined if the field was left empty; or the violations
 */
export async function checkCustomField(
  field: FormField,
  given: unknown,
): Promise<{ value: unknown } | { violations: BodyViolation[] }> {
  const value = readBlank(field, given);
  if (isRequired(field) && isMissing(value, field.type)) {
    return { violations: [{ pointer: jsonPointer([field.key]), rule: 'required', detail: 'is required by the form' }] };
  }
  if (value === undefined) return { value };
  const result = v.safeParse(CUSTOM_FIELD_VALUES[field.type], value);
  if (!result.success) return { violations: listViolations(result.issues, [field.key]) };
  const violations =
    field.type === 'phone'
      ? await phoneViolations(field, v.parse(PhoneSchema, result.output))
      : formViolations(field, result.output);
  return violations.length === 0 ? { value: withoutBlankChoices(field, result.output) } : { violations };
}

type LeftEmpty = Readonly<Record<string, (member: unknown) => boolean>>;
const PERSON: LeftEmpty = { id: isEmpty, name: isBlank };
const isNull = (member: unknown) => member === null;
/** The types with elements, and when an element was left empty. A document may have the id or name `""`. */
const ELEMENTS: Partial<Record<FieldType, LeftEmpty>> = {
  document: { id: isNull, name: isNull, doc: isEmpty },
  participants: PERSON,
  leads: PERSON,
};

/** The value, or undefined if the field was left empty. A list of choices may hold the empty input of a page. */
function readBlank({ type }: FormField, given: unknown): unknown {
  if (type === 'phone' && isObject(given) && given.number !== undefined) return dropUnneededPhone(given);
  if (type === 'phone' || type === 'location') return dropEmpty(given, isBlank);
  if (type === 'email') return isBlank(given) ? undefined : given;
  if (Array.isArray(given)) {
    const elements = ELEMENTS[type];
    if (elements !== undefined) return given.map((element) => withoutEmpty(element, elements));
    return LISTS.includes(type) && given.length > 0 && given.every((choice) => choice === '') ? undefined : given;
  }
  return isEmpty(given) ? undefined : given;
}

function withoutEmpty(element: unknown, members: LeftEmpty): unknown {
  if (!isObject(element)) return element;
  const left = Object.keys(members).filter((name) => Object.hasOwn(element, name) && members[name]?.(element[name]));
  if (left.length === 0) return element;
  return Object.fromEntries(Object.entries(element).filter(([name]) => !left.includes(name)));
}

/** True if the field was left empty: no value, no elements, or for `dynamicSelect` also blank members. */
function isMissing(value: unknown, type: FieldType): boolean {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return true;
  return type === 'dynamicSelect' && dropEmpty(value) === undefined;
}

/** The rules of the form's field that a value of the right type breaks. */
function formViolations(field: FormField, value: unknown): BodyViolation[] {
  if (field.must === true && value !== true) {
    return [{ pointer: jsonPointer([field.key]), rule: 'must_be_true', detail: 'must be true' }];
  }
  return CHOICES.includes(field.type) ? choiceViolations(field, value) : [];
}

async function phoneViolations({ key }: FormField, phone: v.InferOutput<typeof PhoneSchema>): Promise<BodyViolation[]> {
  const parsed = await readPhone(phone.country_code, phone.number);
  return parsed === undefined ? [{ pointer: jsonPointer([key, 'number']), ...IMPOSSIBLE_PHONE }] : [];
}

/**
 * The violation of a number that gets no message. Its plan is not checked: numbering plans change faster than any list
 * of them.
 */
export const IMPOSSIBLE_PHONE = {
  rule: 'phone',
  detail: 'must be as long as the phone numbers of its dial code',
} as const satisfies Pick<BodyViolation, 'rule' | 'detail'>;
export const INVALID_PHONE = {
  rule: 'phone',
  detail: 'must be a valid phone number in the country of its dial code',
} as const satisfies Pick<BodyViolation, 'rule' | 'detail'>;

/** Pages send an empty text next to the choices of a list, so that no choice is sent too. */
function withoutBlankChoices({ type }: FormField, value: unknown): unknown {
  return LISTS.includes(type) && Array.isArray(value) ? value.filter((choice) => choice !== '') : value;
}

const LISTS: readonly FieldType[] = ['multiselect', 'checkbox'];
const CHOICES: readonly FieldType[] = ['radio', 'select', 'multiselect', 'checkbox'];

/** Choices are checked only if the form lists options. */
function choiceViolations({ key, options = [] }: FormField, value: unknown): BodyViolation[] {
  if (options.length === 0) return [];
  const chosen: [PathKey[], unknown][] = Array.isArray(value)
    ? value.map((one, i) => [[key, i], one])
    : [[[key], value]];
  const offered = new Set<unknown>(options);
  return chosen
    .filter(([, choice]) => choice !== '' && !offered.has(choice))
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

/** The documents without violations. */
export function decodeDocuments(
  fields: readonly FormField[],
  values: Readonly<Record<string, unknown>>,
): CheckedDocument[] {
  return sentDocuments(fields, values).flatMap(({ field, index, element }) => {
    const parsed = v.safeParse(DocumentSchema, element);
    if (!parsed.success) return [];
    const { id, name, doc } = parsed.output;
    const { key: fieldKey, accept } = field;
    return {
      fieldKey,
      index,
      id,
      name,
      bytes: Buffer.from(doc, 'base64'),
      ...(accept === undefined ? {} : { accept }),
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
