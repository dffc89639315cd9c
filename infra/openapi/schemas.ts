import { PROBLEMS, type ProblemType } from '../../lib/problem.ts';
import { ConfirmationBodySchema } from '../../lib/validators/confirmation.ts';
import {
  MAX_DOCUMENT_BYTES,
  MAX_DOCUMENTS,
  MAX_DOCUMENTS_BYTES,
  MAX_JSON_CHARACTERS,
  MAX_JSON_DEPTH,
  MEGABYTE,
} from '../../lib/validators/field-values.ts';
import type { FormField } from '../../lib/validators/form.ts';
import { isPhoneChannel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { MAX_VIOLATIONS, VIOLATION_RULES } from '../../lib/validators/primitives.ts';
import { RegistrationBodySchema } from '../../lib/validators/registration.ts';
import { TradingAccountAnswerSchema, tradingAccountBodySchema } from '../../lib/validators/trading-account.ts';
import { componentReference, type Json, type JsonObject, jsonSchema, markdownTable } from './json.ts';
import { PROBLEM_NOTES, PROBLEM_TYPES, type ProblemMember, problemName } from './problems.ts';

/**
 * `#/components/schemas` of the document. Every object has a name: generators give inline objects names of their own,
 * which collide.
 */
export function componentSchemas(): JsonObject {
  return {
    ...registrationSchemas({
      ...jsonSchema(RegistrationBodySchema),
      additionalProperties: { description: customFieldDescription() },
      ...PHONE_OF_CHANNEL,
    }),
    ConfirmationRequest: {
      ...jsonSchema(ConfirmationBodySchema),
      description: 'The registration, and the one-time password of its message.',
    },
    Tp5AccountRequest: {
      ...jsonSchema(tradingAccountBodySchema('tp5')),
      description: 'The account to open, with the password rules of platform version 5.',
    },
    Tp4AccountRequest: {
      ...jsonSchema(tradingAccountBodySchema('tp4')),
      description: 'The account to open, with the password rules of platform version 4.',
    },
    TradingAccount: { ...jsonSchema(TradingAccountAnswerSchema), description: 'The account that was opened.' },
    ...violationSchemas(),
    ...Object.fromEntries(PROBLEM_TYPES.map((type) => [problemName(type), problem(type)])),
    GatewayMessage: {
      type: 'object',
      description: 'An answer of the gateway itself. The service did not see the request, or did not answer in time.',
      properties: { message: { type: 'string', description: 'What is wrong.', examples: ['Too Many Requests'] } },
      required: ['message'],
    },
  };
}

/** A message to a phone needs its number. */
export const PHONE_OF_CHANNEL: JsonObject = {
  if: { properties: { otp_type: { enum: OTP_TYPES.filter(isPhoneChannel) } }, required: ['otp_type'] },
  then: {
    properties: {
      phone: {
        properties: { country_code: { minLength: 1 }, number: { minLength: 1 } },
        required: ['country_code', 'number'],
      },
    },
    required: ['phone'],
  },
};

/** The schema of the registration, and that of its phone. */
function registrationSchemas(schema: JsonObject): JsonObject {
  const properties = schema.properties as { phone: Json };
  const phone = componentReference('schemas', 'RegistrationPhone');
  return {
    RegistrationRequest: { ...schema, properties: { ...properties, phone } },
    RegistrationPhone: properties.phone,
  };
}

/** The JSON value of each type of form field (specification, 2.2). */
const FIELD_VALUES: readonly { types: readonly FormField['type'][]; value: string; rule?: string }[] = [
  { types: ['text', 'textarea', 'description'], value: 'string' },
  { types: ['number'], value: 'number' },
  { types: ['number_string'], value: 'numeric string', rule: 'A decimal number in a string.' },
  { types: ['boolean'], value: 'boolean', rule: 'The form may accept `true` alone.' },
  { types: ['radio', 'select'], value: 'string', rule: 'One of the options, where the form lists them.' },
  {
    types: ['dynamicSelect'],
    value: 'any value',
    rule: `At most ${MAX_JSON_CHARACTERS.toLocaleString('en')} characters of JSON, nested at most ${MAX_JSON_DEPTH} levels deep.`,
  },
  {
    types: ['multiselect', 'checkbox'],
    value: 'array of strings',
    rule: 'Each one of the options, where the form lists them.',
  },
  { types: ['date'], value: 'string, YYYY-MM-DD', rule: 'A date of the calendar.' },
  {
    types: ['document'],
    value: 'array of `{ id, name, doc }`, `doc` base64-encoded',
    rule: `A request may have at most ${documentSizes()}. The form may list the media types that it accepts. The content decides which type a document has. Its id and its name are one line without slashes.`,
  },
  {
    types: ['phone'],
    value: 'object `{ country_code, number }`',
    rule: 'A number of a possible length for its dial code.',
  },
  { types: ['email'], value: 'string', rule: 'An email address; its domain is kept in Unicode.' },
  { types: ['country', 'nation'], value: 'string, a country code', rule: 'ISO 3166-1 alpha-2.' },
  { types: ['location'], value: 'object `{ country, state, city }`', rule: 'Strings.' },
  {
    types: ['participants', 'leads'],
    value: 'array of objects, `id` and `name` among their members',
    rule: 'Other members are kept as they are.',
  },
];

function customFieldDescription(): string {
  const rows = FIELD_VALUES.map(({ types, value, rule = '' }) => [types.join(', '), value, rule]);
  return `The value of a field of the registration form, under the field's key. The field's type in the form decides the format:\n\n${markdownTable(['Field type', 'JSON value', 'Rule'], rows)}`;
}

/** The members that only some problems have. */
const MEMBERS: Readonly<Record<ProblemMember, JsonObject>> = {
  detail: { type: 'string', description: 'A sentence about this occurrence; never a value that was sent.' },
  errors: {
    type: 'array',
    items: componentReference('schemas', 'Violation'),
    minItems: 1,
    description: `Every violation, in the order of the fields (at most ${MAX_VIOLATIONS} of the body).`,
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

function problem(type: ProblemType): JsonObject {
  const { when, operations, members = {} } = PROBLEM_NOTES[type];
  const { status, title } = PROBLEMS[type];
  const names = (Object.keys(MEMBERS) as ProblemMember[]).filter((name) => members[name] !== undefined);
  return {
    type: 'object',
    title: type,
    description: `${when}\n\nAnswered by ${operations.map((name) => `\`${name}\``).join(', ')}.`,
    properties: {
      type: { type: 'string', const: type, description: 'The stable word to switch on.' },
      title: { type: 'string', description: 'What the type means, for people.', examples: [title] },
      status: {
        type: 'integer',
        format: 'int32',
        const: status,
        description: 'The HTTP status.',
      },
      request_id: { type: 'string', description: 'The same as the header `x-request-id`.' },
      ...Object.fromEntries(names.map((name) => [name, MEMBERS[name]])),
    },
    required: ['type', 'title', 'status', 'request_id', ...names.filter((name) => members[name] === 'always')],
  };
}

/**
 * The schemas of a rule and of a violation. A violation is one object with three members of which one is present: of
 * three objects, generated clients do not know which one they have read.
 */
function violationSchemas(): JsonObject {
  const where = (description: string, example: string) => ({ type: 'string', description, examples: [example] });
  return {
    Rule: {
      type: 'string',
      enum: Object.keys(VIOLATION_RULES),
      description: `The rule that is broken; a stable word.\n\n${markdownTable(['Rule', 'Meaning'], Object.entries(VIOLATION_RULES))}`,
    },
    Violation: {
      type: 'object',
      description:
        'One violation: of the body (`pointer`), of a path parameter (`parameter`) or of a header (`header`).',
      properties: {
        pointer: where('The field of the body, as a JSON Pointer (RFC 6901) in a URI fragment.', '#/phone/number'),
        parameter: where('The name of the path parameter.', 'user_id'),
        header: where('The name of the header.', 'Idempotency-Key'),
        rule: componentReference('schemas', 'Rule'),
        detail: {
          type: 'string',
          description: 'A sentence about the field, for people; never the value that was sent.',
          examples: ['is required when otp_type is sms'],
        },
      },
      required: ['rule', 'detail'],
    },
  };
}

/** How many documents a registration may have, and how large they may be. */
export function documentSizes(): string {
  return `${MAX_DOCUMENTS} documents, of ${MAX_DOCUMENT_BYTES / MEGABYTE} MB each and ${MAX_DOCUMENTS_BYTES / MEGABYTE} MB together when decoded (1 MB is 1024² bytes)`;
}
