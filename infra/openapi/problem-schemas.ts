import { PROBLEMS, type ProblemType } from '../../lib/problem.ts';
import { IDEMPOTENCY_KEY_DETAIL } from '../../lib/validators/headers.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { MAX_FAULTS, RULES } from '../../lib/validators/primitives.ts';
import { type JsonObject, ref, table } from './json.ts';
import { PROBLEM_NOTES, PROBLEM_TYPES, type ProblemMember, statusesOf } from './problems.ts';

/** `validation_failed` → `ValidationFailed`. */
export function problemName(type: ProblemType): string {
  return type.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The schema of each problem type, by its name. */
export function problemSchemas(): JsonObject {
  return Object.fromEntries(PROBLEM_TYPES.map((type) => [problemName(type), problem(type)]));
}

/** The members that only some problems have. */
const MEMBERS: Readonly<Record<ProblemMember, JsonObject>> = {
  detail: { type: 'string', description: 'A sentence about this occurrence; never a value that was sent.' },
  errors: {
    type: 'array',
    items: ref('schemas', 'Fault'),
    minItems: 1,
    description: `Every fault, in the order of the fields (at most ${MAX_FAULTS} of the body).`,
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
  const { when, whenSettling, operations, members = {} } = PROBLEM_NOTES[type];
  const { title, status } = PROBLEMS[type];
  const [, later] = statusesOf(type);
  const by = operations.map((operation) => `\`${operation}\``).join(', ');
  const meaning = later === undefined ? when : `${status}: ${when} ${later}: ${whenSettling}`;
  const names = (Object.keys(MEMBERS) as ProblemMember[]).filter((name) => members[name] !== undefined);
  return {
    type: 'object',
    title: type,
    description: `${meaning}\n\nAnswered by ${by}.`,
    properties: {
      type: { type: 'string', const: type, description: 'The stable word to switch on.' },
      title: { type: 'string', description: 'What the type means, for people.', examples: [title] },
      status: {
        type: 'integer',
        ...(later === undefined ? { const: status } : { enum: statusesOf(type) }),
        description: 'The HTTP status.',
      },
      request_id: { type: 'string', description: 'The same as the header `x-request-id`.' },
      ...Object.fromEntries(names.map((name) => [name, MEMBERS[name]])),
    },
    required: ['type', 'title', 'status', 'request_id', ...names.filter((name) => members[name] === 'always')],
  };
}

const RULE_WORDS = Object.keys(RULES);

/** `Rule`, and the three kinds of faults. */
export function faultSchemas(): JsonObject {
  return {
    Rule: {
      type: 'string',
      enum: RULE_WORDS,
      description: `The rule that is broken; a stable word.\n\n${table(['Rule', 'Meaning'], Object.entries(RULES))}`,
    },
    Fault: {
      description: 'One fault of the request.',
      oneOf: ['BodyFault', 'ParameterFault', 'HeaderFault'].map((name) => ref('schemas', name)),
    },
    BodyFault: fault('pointer', ref('schemas', 'Rule'), {
      description: 'in the body, as a JSON Pointer (RFC 6901) in a URI fragment.',
      place: '#/phone/number',
      detail: 'is required when otp_type is sms',
    }),
    ParameterFault: fault('parameter', oneRuleOf(['characters', 'length']), {
      description: 'in a path parameter, by its name.',
      place: 'user_id',
      detail: 'must be 8 characters',
    }),
    HeaderFault: fault('header', oneRuleOf(['required', 'format', 'not_supported']), {
      description: 'in a request header, by its name.',
      place: 'Idempotency-Key',
      detail: IDEMPOTENCY_KEY_DETAIL,
    }),
  };
}

function oneRuleOf(rules: readonly string[]): JsonObject {
  return { type: 'string', enum: rules, description: 'The rule that is broken; a stable word.' };
}

/** @param member tells where the fault is; `place` and `detail` are examples */
function fault(
  member: 'pointer' | 'parameter' | 'header',
  rule: JsonObject,
  { description, place, detail }: { description: string; place: string; detail: string },
): JsonObject {
  return {
    type: 'object',
    description: `A fault ${description}`,
    properties: {
      [member]: { type: 'string', description: `Where the fault is: ${description}`, examples: [place] },
      rule,
      detail: {
        type: 'string',
        description: 'A sentence about the field, for people; never the value that was sent.',
        examples: [detail],
      },
    },
    required: [member, 'rule', 'detail'],
  };
}
