import { CUSTOM_FIELD_VALUES, DEEPEST, MAX_JSON_CHARACTERS } from '../../lib/validators/custom-fields.ts';
import type { FormField } from '../../lib/validators/form.ts';
import { type JsonObject, ref, table } from './json.ts';
import { documentSizes } from './sizes.ts';
import { toSchema } from './to-schema.ts';

interface FieldKind {
  name: string;
  /** The types of form fields that take it (specification, 2.2). */
  types: readonly FormField['type'][];
  format: string;
  details?: string;
}

const FIELD_KINDS: readonly FieldKind[] = [
  { name: 'TextValue', types: ['text', 'textarea', 'description'], format: 'string' },
  { name: 'NumberValue', types: ['number'], format: 'number' },
  {
    name: 'NumericStringValue',
    types: ['number_string'],
    format: 'numeric string',
    details: 'A decimal number in a string.',
  },
  { name: 'BooleanValue', types: ['boolean'], format: 'boolean' },
  {
    name: 'ChoiceValue',
    types: ['radio', 'select'],
    format: 'string',
    details: 'One of the options, where the form lists them.',
  },
  {
    name: 'AnyValue',
    types: ['dynamicSelect'],
    format: 'any value',
    details: `At most ${MAX_JSON_CHARACTERS.toLocaleString('en')} characters of JSON, nested at most ${DEEPEST} levels deep.`,
  },
  {
    name: 'ChoicesValue',
    types: ['multiselect', 'checkbox'],
    format: 'array of strings',
    details: 'Each one of the options, where the form lists them.',
  },
  {
    name: 'DateValue',
    types: ['date'],
    format: 'string, YYYY-MM-DD',
    details: 'A date of the calendar.',
  },
  {
    name: 'DocumentsValue',
    types: ['document'],
    format: 'array of `{ id, name, doc }`, `doc` base64-encoded',
    details: `A request may have at most ${documentSizes()}. The form may list the media types that it accepts, which are told from the content.`,
  },
  {
    name: 'PhoneValue',
    types: ['phone'],
    format: 'object `{ country_code, number }`',
    details: 'A valid number in the country of its dial code.',
  },
  { name: 'EmailValue', types: ['email'], format: 'string' },
  {
    name: 'CountryValue',
    types: ['country', 'nation'],
    format: 'string, a country code',
    details: 'ISO 3166-1 alpha-2.',
  },
  {
    name: 'LocationValue',
    types: ['location'],
    format: 'object `{ country, state, city }`',
  },
  {
    name: 'PeopleValue',
    types: ['participants', 'leads'],
    format: 'array of objects, `id` and `name` among their members',
    details: 'Other members are kept as they are.',
  },
];

/** The values of custom fields, as a table for people. */
function customFieldTable(): string {
  const rows = FIELD_KINDS.map(({ types, format, details = '' }) => [types.join(', '), format, details]);
  return table(['Field type', 'JSON value', 'Rule'], rows);
}

/** `CustomFieldValue`, and the schema of each kind of value. */
export function customFields(): JsonObject {
  return {
    CustomFieldValue: {
      description: `The value of a field of the registration form, under the field's key. Its format depends on the type that the field has in the form:\n\n${customFieldTable()}`,
      anyOf: FIELD_KINDS.map(({ name }) => ref('schemas', name)),
    },
    ...Object.fromEntries(
      FIELD_KINDS.map(({ name, types, format, details }) => {
        const [first = 'text'] = types;
        const description = [`Form fields of type ${types.join(', ')}: ${format}.`, details].filter(Boolean).join(' ');
        return [name, { ...toSchema(CUSTOM_FIELD_VALUES[first]), description }];
      }),
    ),
  };
}
