import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { PROBLEMS, type ProblemType } from '../../lib/http/problem.ts';
import { CUSTOM_FIELD_VALUES } from '../../lib/validators/custom-fields.ts';
import type { FormField } from '../../lib/validators/form.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { RegistrationBodySchema } from '../../lib/validators/registration.ts';
import { TradingAccountAnswerSchema, tradingAccountRequestSchema } from '../../lib/validators/trading-account.ts';
import { PROBLEM_NOTES, PROBLEM_TYPES, RULE_MEANINGS, statusesOf } from './problems.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

export function ref(kind: string, name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** The JSON Schema of a validator, as a caller sees it. Rules that no JSON Schema can say stand in the descriptions. */
export function toSchema(schema: v.GenericSchema): Record<string, Json> {
  const { $schema: _, ...converted } = toJsonSchema(schema, {
    target: 'draft-2020-12',
    typeMode: 'input',
    ignoreActions: ['check', 'raw_check', 'finite'],
    overrideSchema: ({ valibotSchema, jsonSchema }) => {
      const { required, ...rest } = jsonSchema;
      const kept = required?.length === 0 ? rest : jsonSchema;
      if (valibotSchema.type === 'literal') return { type: 'string', ...kept };
      return valibotSchema.type === 'loose_object' ? { ...kept, additionalProperties: true } : kept;
    },
  });
  return converted as Record<string, Json>;
}

/** `#/components/schemas` of the document. */
export function schemas(): JsonObject {
  return {
    RegistrationRequest: registrationRequest(),
    ...customFields(),
    Tp5AccountRequest: {
      ...toSchema(tradingAccountRequestSchema('tp5')),
      description: 'The account to open, with the password rules of platform version 5.',
    },
    Tp4AccountRequest: {
      ...toSchema(tradingAccountRequestSchema('tp4')),
      description: 'The account to open, with the password rules of platform version 4.',
    },
    TradingAccount: { ...toSchema(TradingAccountAnswerSchema), description: 'The account that was opened.' },
    ...faults(),
    ...Object.fromEntries(PROBLEM_TYPES.map((type) => [problemName(type), problem(type)])),
    GatewayMessage: {
      type: 'object',
      description: 'An answer that the gateway gives by itself, without asking the service.',
      properties: { message: { type: 'string', description: 'What is wrong.', examples: ['Too Many Requests'] } },
      required: ['message'],
    },
  };
}

function registrationRequest(): JsonObject {
  return {
    ...toSchema(RegistrationBodySchema),
    additionalProperties: ref('schemas', 'CustomFieldValue'),
  };
}

interface FieldKind {
  name: string;
  /** The types of form fields that take it (specification, 2.2). */
  types: readonly FormField['type'][];
  format: string;
  details?: string;
  examples: readonly Json[];
}

const FIELD_KINDS: readonly FieldKind[] = [
  { name: 'TextValue', types: ['text', 'textarea', 'description'], format: 'string', examples: ['Engineer'] },
  { name: 'NumberValue', types: ['number'], format: 'number', examples: [42.5] },
  {
    name: 'NumericStringValue',
    types: ['number_string'],
    format: 'numeric string',
    details: 'A decimal number in a string.',
    examples: ['1500.50'],
  },
  { name: 'BooleanValue', types: ['boolean'], format: 'boolean', examples: [true] },
  {
    name: 'ChoiceValue',
    types: ['radio', 'select'],
    format: 'string',
    details: 'One of the options, where the form lists them.',
    examples: ['some'],
  },
  {
    name: 'AnyValue',
    types: ['dynamicSelect'],
    format: 'any value',
    details: 'At most 20,000 characters of JSON, nested at most 20 levels deep.',
    examples: [{ id: 7, label: 'Seven' }],
  },
  {
    name: 'ChoicesValue',
    types: ['multiselect', 'checkbox'],
    format: 'array of strings',
    details: 'Each one of the options, where the form lists them.',
    examples: [['fx', 'metals']],
  },
  {
    name: 'DateValue',
    types: ['date'],
    format: 'string, YYYY-MM-DD',
    details: 'A date of the calendar.',
    examples: ['1990-02-28'],
  },
  {
    name: 'DocumentsValue',
    types: ['document'],
    format: 'array of `{ id, name, doc }`, `doc` base64-encoded',
    details:
      'A request may have at most 10 documents, of 3 MB each and 4 MB together, decoded. The form may list the media types that it accepts, which are told from the content.',
    examples: [[{ id: 'passport', name: 'passport.pdf', doc: 'JVBERi0xLjQKJSVFT0YK' }]],
  },
  {
    name: 'PhoneValue',
    types: ['phone'],
    format: 'object `{ country_code, number }`',
    details: 'A valid number in the country of its dial code.',
    examples: [{ country_code: '44', number: '07911 123456' }],
  },
  { name: 'EmailValue', types: ['email'], format: 'string', examples: ['office@example.com'] },
  {
    name: 'CountryValue',
    types: ['country', 'nation'],
    format: 'string, a country code',
    details: 'ISO 3166-1 alpha-2.',
    examples: ['PT'],
  },
  {
    name: 'LocationValue',
    types: ['location'],
    format: 'object `{ country, state, city }`',
    examples: [{ country: 'PT', state: 'Lisboa', city: 'Lisboa' }],
  },
  {
    name: 'PeopleValue',
    types: ['participants', 'leads'],
    format: 'array of objects, `id` and `name` among their members',
    details: 'Other members are kept as they are.',
    examples: [[{ id: '1', name: 'Ann Lee', share: 50 }]],
  },
];

/** The values of custom fields, as a table for people. */
function customFieldTable(): string {
  const rows = FIELD_KINDS.map(({ types, format, details = '' }) => [types.join(', '), format, details]);
  return table(['Field type', 'JSON value', 'Rule'], rows);
}

function customFields(): JsonObject {
  return {
    CustomFieldValue: {
      description: `The value of a field of the registration form, under the field's key. Its format depends on the type that the field has in the form:\n\n${customFieldTable()}`,
      anyOf: FIELD_KINDS.map(({ name }) => ref('schemas', name)),
    },
    ...Object.fromEntries(
      FIELD_KINDS.map(({ name, types, format, details, examples }) => {
        const [first = 'text'] = types;
        const description = [`Form fields of type ${types.join(', ')}: ${format}.`, details].filter(Boolean).join(' ');
        return [name, { ...toSchema(CUSTOM_FIELD_VALUES[first]), description, examples }];
      }),
    ),
  };
}

function faults(): JsonObject {
  const words = Object.entries(RULE_MEANINGS);
  const rule = {
    type: 'string',
    enum: words.map(([word]) => word),
    description: `The rule that is broken; a stable word.\n\n${table(['Rule', 'Meaning'], words)}`,
  };
  const fault = (member: string, description: string, [place, detail]: [string, string], rules: readonly string[]) => ({
    type: 'object',
    description: `A fault ${description}`,
    properties: {
      [member]: { type: 'string', description: `Where the fault is: ${description}`, examples: [place] },
      rule:
        rules.length === words.length
          ? ref('schemas', 'Rule')
          : { type: 'string', enum: rules, description: 'The rule that is broken; a stable word.' },
      detail: {
        type: 'string',
        description: 'A sentence about the field, for people; never the value that was sent.',
        examples: [detail],
      },
    },
    required: [member, 'rule', 'detail'],
  });
  const all = words.map(([word]) => word);
  return {
    Rule: rule,
    Fault: {
      description: 'One fault of the request.',
      oneOf: ['BodyFault', 'ParameterFault', 'HeaderFault'].map((name) => ref('schemas', name)),
    },
    BodyFault: fault(
      'pointer',
      'in the body, as a JSON Pointer (RFC 6901) in a URI fragment.',
      ['#/phone/number', 'is required when otp_type is sms'],
      all,
    ),
    ParameterFault: fault(
      'parameter',
      'in a path parameter, by its name.',
      ['user_id', 'must be 8 characters'],
      ['characters', 'length'],
    ),
    HeaderFault: fault(
      'header',
      'in a request header, by its name.',
      ['Idempotency-Key', 'must be 1 to 255 visible ASCII characters'],
      ['format'],
    ),
  };
}

/** `validation_failed` → `ValidationFailed`. */
export function problemName(type: ProblemType): string {
  return type.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function problem(type: ProblemType): JsonObject {
  const { title } = PROBLEMS[type];
  const { when, whenSettling, operations, members = {} } = PROBLEM_NOTES[type];
  const statuses = statusesOf(type);
  const by = operations.map((operation) => `\`${operation}\``).join(', ');
  const meaning = whenSettling === undefined ? when : `${statuses[0]}: ${when} ${statuses[1]}: ${whenSettling}`;
  const more: Record<keyof typeof members, JsonObject> = {
    detail: { type: 'string', description: 'A sentence about this occurrence; never a value that was sent.' },
    errors: {
      type: 'array',
      items: ref('schemas', 'Fault'),
      minItems: 1,
      description: 'Every fault, in the order of the fields (at most 100 of the body).',
    },
    available: {
      type: 'array',
      items: { type: 'string', enum: OTP_TYPES },
      minItems: 1,
      description: 'The channels that this deployment has.',
    },
    operation_id: {
      type: 'string',
      format: 'uuid',
      description: "The operation, by which the broker's operators find it.",
    },
  };
  const names = (Object.keys(more) as (keyof typeof members)[]).filter((name) => members[name] !== undefined);
  return {
    type: 'object',
    title: type,
    description: `${meaning}\n\nAnswered by ${by}.`,
    properties: {
      type: { type: 'string', const: type, description: 'The stable word to switch on.' },
      title: { type: 'string', description: 'What the type means, for people.', examples: [title] },
      status:
        statuses.length === 1
          ? { type: 'integer', const: PROBLEMS[type].status, description: 'The HTTP status.' }
          : { type: 'integer', enum: statuses, description: 'The HTTP status.' },
      request_id: { type: 'string', description: 'The same as the header `x-request-id`.' },
      ...Object.fromEntries(names.map((name) => [name, more[name]])),
    },
    required: ['type', 'title', 'status', 'request_id', ...names.filter((name) => members[name] === 'always')],
  };
}

/** A table in Markdown. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}
