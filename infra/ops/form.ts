import { getCountries, getExampleNumber } from 'libphonenumber-js/max';
import examples from 'libphonenumber-js/mobile/examples';
import * as v from 'valibot';
import { crmKey } from '../../lib/records/crm-records.ts';
import { COUNTRY_CODES } from '../../lib/validators/countries.ts';
import {
  CUSTOM_FIELD_VALUES,
  MAX_DOCUMENT_BYTES,
  MAX_DOCUMENTS,
  MAX_DOCUMENTS_BYTES,
} from '../../lib/validators/field-values.ts';
import {
  FIXED_FIELDS,
  type FixedField,
  type Form,
  type FormField,
  isRequired,
  type PageText,
  StoredFormSchema,
} from '../../lib/validators/form.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { RegistrationBodySchema } from '../../lib/validators/registration.ts';
import { CHANNELS } from '../channels.ts';
import { jsonSchema } from '../openapi/json.ts';
import { PHONE_OF_CHANNEL } from '../openapi/schemas.ts';
import { CommandError, recordsRefused } from './command.ts';
import { CrmFileError, describeRule, issuePath } from './crm-items.ts';
import type { CrmTable } from './crm-table.ts';
import type { Target } from './target.ts';
import { jsonLines, type Terminal } from './terminal.ts';

/** Prints a form as JSON Schema. */
export async function printForm({ name, table }: Target, id: string, terminal: Terminal): Promise<void> {
  const form = await readForm(table, id);
  if (form === undefined) throw new CommandError(`There is no form with this id in ${name}.`);
  terminal.print(jsonLines(formJsonSchema(form)));
}

/** @throws CommandError if the record is not a form */
export async function readForm(table: Pick<CrmTable, 'read'>, id: string): Promise<Form | undefined> {
  const item = await table.read(crmKey.form(id));
  if (item === undefined) return undefined;
  const result = v.safeParse(StoredFormSchema, item.record);
  if (result.success) return result.output;
  const errors = result.issues.map((issue) => ({ path: issuePath(item.pk, issue), rule: describeRule(issue) }));
  throw recordsRefused('The record is not a form', new CrmFileError(errors));
}

/** JSON Schema of draft 7, which form libraries read. */
type Schema = Record<string, unknown>;
type Schemas = Record<string, Schema>;

export type FormJsonSchema = ReturnType<typeof formJsonSchema>;

/** A property, how a page shows it, and whether a request needs it. */
interface Property {
  schema: Schema;
  ui: Schema;
  required: boolean;
}

/** How a page shows the fixed fields that need more than a label with their name. */
const FIXED_PROPERTIES: Partial<Record<FixedField, { title?: string; schema?: Schema; ui: Schema }>> = {
  email: { ui: { 'ui:widget': 'email', 'ui:autocomplete': 'email' } },
  type: { ui: { 'ui:widget': 'hidden' } },
  name: { schema: { pattern: '[\\p{L}\\p{N}]' }, ui: { 'ui:autocomplete': 'name' } },
  phone: {
    ui: {
      country_code: { 'ui:autocomplete': 'tel-country-code', 'ui:options': { inputType: 'tel' } },
      number: { 'ui:autocomplete': 'tel-national', 'ui:options': { inputType: 'tel' } },
    },
  },
  otp_type: {
    title: 'Send my code by',
    ui: { 'ui:widget': 'radio', 'ui:enumNames': OTP_TYPES.map((channel) => CHANNELS[channel].title) },
  },
  password: { ui: { 'ui:widget': 'password', 'ui:autocomplete': 'new-password' } },
  repeat_password: { ui: { 'ui:widget': 'password', 'ui:autocomplete': 'new-password' } },
  form_id: { ui: { 'ui:widget': 'hidden' } },
  referrer_id: { title: 'Referral code', ui: {} },
  language: { ui: { 'ui:widget': 'hidden' } },
};

/** The fixed fields that a page shows before and after the form's fields. */
const BEFORE = ['name', 'email'] as const;
const AFTER = FIXED_FIELDS.filter((name) => !BEFORE.some((one) => one === name));

const COUNTRY_NAMES = new Intl.DisplayNames('en', { type: 'region' });
/** Codes and names, in the order of the names. */
const COUNTRIES = [...COUNTRY_CODES]
  .map((code) => [code, COUNTRY_NAMES.of(code) ?? code] as const)
  .sort(([, one], [, other]) => one.localeCompare(other, 'en'));
/** `countries`: our page names them in the person's language. */
const COUNTRY_WIDGET = {
  'ui:widget': 'select',
  'ui:enumNames': COUNTRIES.map(([, name]) => name),
  'ui:options': { countries: true },
};
/** What our page needs and JSON Schema cannot express: the limits of files, and a mobile number of each country. */
const PAGE_OPTIONS = {
  maxDocuments: MAX_DOCUMENTS,
  maxDocumentBytes: MAX_DOCUMENT_BYTES,
  maxDocumentsBytes: MAX_DOCUMENTS_BYTES,
  phones: Object.fromEntries(
    getCountries().map((country) => [country, getExampleNumber(country, examples)?.formatInternational()]),
  ),
};

const WIDGETS: Partial<Record<FormField['type'], Schema>> = {
  number: { 'ui:inputmode': 'decimal' },
  number_string: { 'ui:inputmode': 'decimal' },
  textarea: { 'ui:widget': 'textarea' },
  description: { 'ui:widget': 'textarea' },
  radio: { 'ui:widget': 'radio' },
  checkbox: { 'ui:widget': 'checkboxes' },
  date: { 'ui:widget': 'date' },
  email: { 'ui:widget': 'email' },
  country: COUNTRY_WIDGET,
  nation: COUNTRY_WIDGET,
  location: { country: { 'ui:autocomplete': 'country', 'ui:options': { countries: true } } },
};

/**
 * The whole registration with this form as JSON Schema, made from the schemas of the validators, with the hints that
 * @rjsf/core reads: `<Form schema={form} uiSchema={form.uiSchema} />`. Properties are in the order of a page.
 */
export function formJsonSchema(form: Form) {
  const fixed = fixedProperties(form.id);
  const properties: (readonly [string, Property])[] = [
    ...BEFORE.map((name) => [name, fixed[name]] as const),
    ...form.fields.map((field) => [field.key, customProperty(field)] as const),
    ...AFTER.map((name) => [name, fixed[name]] as const),
  ];
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: form.name ?? form.id,
    type: 'object',
    properties: Object.fromEntries(properties.map(([name, { schema }]) => [name, schema])),
    required: properties.filter(([, { required }]) => required).map(([name]) => name),
    additionalProperties: false,
    allOf: [PHONE_OF_CHANNEL],
    uiSchema: Object.fromEntries<Schema | string[]>([
      ['ui:order', properties.map(([name]) => name)],
      ['ui:options', PAGE_OPTIONS],
      ...properties.map(([name, { ui }]) => [name, ui] as const),
    ]),
  };
}

function fixedProperties(formId: string): Record<FixedField, Property> {
  const { properties, required } = addTitles(jsonSchema(RegistrationBodySchema, 'draft-07')) as {
    properties: Schemas;
    required: string[];
  };
  const values: Schemas = { form_id: { const: formId, default: formId }, type: { default: 'trader' } };
  const entries = FIXED_FIELDS.map((name) => {
    const { title = fieldTitle(name), schema, ui = {} } = FIXED_PROPERTIES[name] ?? {};
    const property = { ...properties[name], ...values[name], ...schema, title };
    return [name, { schema: property, ui, required: required.includes(name) }];
  });
  return Object.fromEntries(entries) as Record<FixedField, Property>;
}

function customProperty(field: FormField): Property {
  const required = isRequired(field);
  const { description: _, ...valueSchema } = addTitles(jsonSchema(CUSTOM_FIELD_VALUES[field.type], 'draft-07'));
  const schema = {
    title: plainText(field.label ?? field.key),
    ...(field.version === undefined ? {} : { description: `Version ${field.version}` }),
    ...valueSchema,
    ...fieldRules(field, valueSchema),
  };
  return { schema: required ? { ...schema, ...requireContent(schema) } : schema, ui: fieldUi(field), required };
}

/** A text without links, in English, else in its first language. */
function plainText(text: PageText): string {
  const chosen = typeof text === 'string' ? text : (text.en ?? Object.values(text)[0] ?? '');
  return chosen.replaceAll(/\[([^\]]*)\]\(https:[^)]*\)/g, '$1');
}

function fieldUi(field: FormField): Schema {
  const { label, help, options = [], option_labels: labels, version } = field;
  return {
    ...typeUi(field),
    ...(help === undefined ? {} : { 'ui:help': plainText(help) }),
    ...(labels === undefined ? {} : { 'ui:enumNames': options.map((option) => plainText(labels[option] ?? option)) }),
    // For our page: with links, in all languages.
    'ui:texts': { label, help, options: labels },
    ...(version === undefined ? {} : { 'ui:options': { version } }),
  };
}

function typeUi({ type, accept }: FormField): Schema {
  if (type !== 'document') return WIDGETS[type] ?? {};
  const options = accept === undefined ? {} : { 'ui:options': { accept: accept.join(',') } };
  return { items: { doc: { 'ui:widget': 'file', ...options } } };
}

function fieldRules({ type, options = [], must }: FormField, valueSchema: Schema): Schema {
  switch (type) {
    case 'boolean':
      return must === true ? { const: true } : {};
    case 'radio':
    case 'select':
      return options.length === 0 ? {} : { enum: options };
    case 'multiselect':
    case 'checkbox':
      return options.length === 0 ? {} : { items: { type: 'string', enum: options }, uniqueItems: true };
    case 'country':
    case 'nation':
      return { enum: COUNTRIES.map(([code]) => code) };
    case 'dynamicSelect':
      return { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] };
    default:
      return valueSchema;
  }
}

function requireContent({ type }: Schema): Schema {
  if (type === 'string') return { minLength: 1 };
  return type === 'array' ? { minItems: 1 } : {};
}

/** A schema for people who fill in a form: its members have titles, and nothing is suggested as an example. */
function addTitles({ examples: _, ...schema }: Schema): Schema {
  const { properties, items } = schema as { properties?: Schemas; items?: Schema };
  return {
    ...schema,
    ...(items === undefined ? {} : { items: addTitles(items) }),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(Object.entries(properties).map(titled)) }),
  };
}

function titled([name, member]: [string, Schema]): [string, Schema] {
  const { description: _, ...schema } = addTitles(member);
  return [name, { title: fieldTitle(name), ...schema }];
}

/** `repeat_password` is labeled `Repeat password`. */
function fieldTitle(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`;
}
