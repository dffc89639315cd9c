import * as v from 'valibot';
import { CUSTOM_FIELD_TYPES } from './field-values.ts';
import { boundedText, IdSchema, issuePath, type ObjectKind, OneLineSchema, violationMessage } from './primitives.ts';

/** The fixed fields of a registration request, which no form can use as keys. True: the record has the field as it was read. */
export const IS_RECORDED_AS_READ = {
  email: true,
  type: true,
  name: true,
  /** The record has the phone as one text in E.164. */
  phone: false,
  otp_type: true,
  /** The record has a hash of the password. */
  password: false,
  repeat_password: false,
  form_id: true,
  referrer_id: true,
  language: true,
} as const;
export type FixedField = keyof typeof IS_RECORDED_AS_READ;
export const FIXED_FIELDS = Object.keys(IS_RECORDED_AS_READ) as FixedField[];

const RESERVED_KEYS: ReadonlySet<string> = new Set([...FIXED_FIELDS, '__proto__']);

/** A text for people. It may hold links, `I accept the [terms](https://…)`, and no other markup. */
const LinkedTextSchema = v.pipe(
  v.string(),
  v.regex(
    /^(?![\s\S]*\]\((?!https:\/\/[^\s()]+\)))/,
    violationMessage('format', 'must have no links but to https addresses, such as [terms](https://example.com/terms)'),
  ),
);
/** A text, or one for each language by its BCP 47 tag. */
const PageTextSchema = v.union([LinkedTextSchema, v.record(v.string(), LinkedTextSchema)]);
export type PageText = v.InferOutput<typeof PageTextSchema>;

const fieldEntries = {
  /** The random key of the value at the root of the request. */
  key: v.pipe(
    OneLineSchema,
    v.check((key) => !RESERVED_KEYS.has(key), violationMessage('format', 'must not be the name of a fixed field')),
  ),
  type: v.picklist(CUSTOM_FIELD_TYPES),
  /** The label on the page. */
  label: v.optional(PageTextSchema),
  /** A text below the label. */
  help: v.optional(PageTextSchema),
  required: v.optional(v.boolean()),
  /** For boolean: a consent that the person must give; only `true` passes. */
  must: v.optional(v.boolean()),
  /** For boolean: the version of the text that the person agrees to. The registration keeps it. */
  version: v.optional(boundedText(1, 64)),
  /** For radio, select, multiselect and checkbox: the values that may be chosen; absent: any. */
  options: v.optional(v.array(v.string())),
  /** How the page names options. The request has the option itself. */
  option_labels: v.optional(v.record(v.string(), PageTextSchema)),
  /** For document: the media types accepted; absent: any. */
  accept: v.optional(
    v.array(
      v.pipe(
        v.string(),
        v.regex(/^[\w.+-]+\/[\w.+*-]+$/, violationMessage('media_type', 'must be a media type such as image/png')),
      ),
    ),
  ),
};
export type FormField = v.InferOutput<v.ObjectSchema<typeof fieldEntries, undefined>>;

/** Whether a request must fill this field. */
export function isRequired({ required, must }: FormField): boolean {
  return required === true || must === true;
}

/** Keys are unique, only a boolean can be a consent, and labels belong to options. */
function checkFields({ dataset, addIssue }: v.RawCheckContext<FormField[]>): void {
  if (!dataset.typed) return;
  const seen = new Set<string>();
  const refuse = (index: number, member: keyof FormField, detail: string) =>
    addIssue({ message: violationMessage('format', detail), path: issuePath(index, member) });
  for (const [index, field] of dataset.value.entries()) {
    if (seen.has(field.key)) refuse(index, 'key', 'must differ from the keys before');
    seen.add(field.key);
    for (const member of ['must', 'version'] as const) {
      const isMisplaced = field.type !== 'boolean' && field[member] !== undefined;
      if (isMisplaced) refuse(index, member, 'is only for fields of type boolean');
    }
    const { options = [], option_labels: labels = {} } = field;
    if (!Object.keys(labels).every((option) => options.includes(option)))
      refuse(index, 'option_labels', 'must name options of the field');
  }
}

/** The record of a form. @param object refuses members that no form has, or leaves them out */
export function formSchema(object: ObjectKind) {
  const fields = v.pipe(v.array(object(fieldEntries)), v.rawCheck(checkFields));
  return object({ id: IdSchema, name: v.optional(v.string()), fields });
}
export const StoredFormSchema = formSchema(v.object);
export type Form = v.InferOutput<typeof StoredFormSchema>;
