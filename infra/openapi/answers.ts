import { EXTENSIONS, type OperationId, ROUTES } from '../routes.ts';
import { problemExample } from './examples.ts';
import { type JsonObject, ref } from './json.ts';
import { meaning, PROBLEM_NOTES, PROBLEM_TYPES, problemStatuses, retryAfterRule, typesAnswered } from './problems.ts';
import { problemName } from './schemas.ts';

/** `#/components/headers` of the document. */
export const HEADERS = {
  CacheControl: {
    description: 'No answer may be stored. On every answer of the service.',
    schema: { type: 'string', const: 'no-store' },
  },
  RequestId: {
    description: 'The request in logs and traces; also `request_id` of a problem. On every answer of the service.',
    schema: { type: 'string', minLength: 1 },
    example: 'JKJaXmPLvHcESHA=',
  },
  NoSniff: {
    description: 'The content type is as declared. On every answer of the service.',
    schema: { type: 'string', const: 'nosniff' },
  },
  StrictTransport: {
    description: 'Browsers call this host by HTTPS alone. On every answer of the service.',
    schema: { type: 'string' },
    example: 'max-age=63072000',
  },
  IdempotentReplayed: {
    description: 'Present if this is the answer to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  RetryAfter: {
    description: 'The seconds to wait before the next try.',
    schema: { type: 'integer', format: 'int32', minimum: 1 },
    example: 60,
  },
} as const satisfies Record<string, JsonObject>;

/** The headers of every answer of the service. */
export const STANDARD_HEADERS = {
  'cache-control': ref('headers', 'CacheControl'),
  'x-request-id': ref('headers', 'RequestId'),
  'x-content-type-options': ref('headers', 'NoSniff'),
  'strict-transport-security': ref('headers', 'StrictTransport'),
};

/** The headers of a success, in an operation that takes an `Idempotency-Key`. */
export const SUCCESS_HEADERS = { ...STANDARD_HEADERS, 'idempotent-replayed': ref('headers', 'IdempotentReplayed') };

const ALL = [...ROUTES, ...EXTENSIONS].map(({ operation }) => operation);
const ACCOUNTS = ROUTES.filter(({ access }) => access === 'accounts').map(({ operation }) => operation);

interface GatewayAnswer {
  status: number;
  message: string;
  when: string;
  of: readonly OperationId[];
  /**
   * Whether it is likely at a status that the service also uses. Many generators read only the schema of the first
   * content type. This answer is then first, and its schema includes the problems.
   */
  likely?: true;
}

const GATEWAY_ANSWERS: readonly GatewayAnswer[] = [
  { status: 400, message: 'Bad Request', when: 'the path is not well encoded', of: ACCOUNTS },
  { status: 401, message: 'Unauthorized', when: 'the token is absent, expired or not valid', of: ACCOUNTS },
  {
    status: 403,
    message: 'Forbidden',
    when: 'the signature is absent or not valid, the principal may not invoke the route, or the token lacks the scope',
    of: ACCOUNTS,
  },
  {
    status: 404,
    message: 'Not Found',
    when: 'the deployment does not have this operation',
    of: EXTENSIONS.map(({ operation }) => operation),
  },
  {
    status: 413,
    message: 'Request Too Long',
    when: 'the request exceeds the limits of the gateway',
    of: ALL,
    likely: true,
  },
  { status: 429, message: 'Too Many Requests', when: 'the gateway is throttling', of: ALL, likely: true },
  { status: 500, message: 'Internal Server Error', when: 'the function has crashed', of: ALL, likely: true },
  { status: 503, message: 'Service Unavailable', when: 'the function did not answer in time', of: ALL, likely: true },
];

/** The answers of an operation that are errors, by their status. */
export function errors(operation: OperationId): JsonObject {
  const own = PROBLEM_TYPES.filter((type) => PROBLEM_NOTES[type].operations.includes(operation)).flatMap(
    problemStatuses,
  );
  const gateways = GATEWAY_ANSWERS.filter(({ of }) => of.includes(operation)).map(({ status }) => status);
  const statuses = [...new Set([...own, ...gateways])].sort((a, b) => a - b);
  return Object.fromEntries(statuses.map((status) => [String(status), errorAnswer(operation, status)]));
}

function errorAnswer(operation: OperationId, status: number): JsonObject {
  const types = typesAnswered(operation, status);
  const gateway = GATEWAY_ANSWERS.find((answer) => answer.status === status && answer.of.includes(operation));
  const lines = types.map((type) => `- \`${type}\`: ${meaning(type, status)}`);
  if (gateway !== undefined) lines.push(`- \`${gateway.message}\` (the gateway's own answer): ${gateway.when}.`);
  const names = types.map((type) => problemName(type));
  const retried = types.some((type) => retryAfterRule(type, status) !== undefined);
  const problems = names.length > 0 && {
    'application/problem+json': {
      schema: schemaChoice(names),
      examples: Object.fromEntries(types.map((type) => [type, { value: problemExample(type, status, operation) }])),
    },
  };
  const message = gateway !== undefined && {
    'application/json': {
      schema: schemaChoice([...(gateway.likely ? names : []), 'GatewayMessage']),
      example: { message: gateway.message },
    },
  };
  return {
    description: lines.join('\n'),
    ...(problems && {
      headers: { ...STANDARD_HEADERS, ...(retried && { 'retry-after': ref('headers', 'RetryAfter') }) },
    }),
    content: gateway?.likely ? { ...message, ...problems } : { ...problems, ...message },
  };
}

/** One of these schemas. The type of problems is the discriminator; the gateway's message has none. */
function schemaChoice(names: readonly string[]): JsonObject {
  const references = names.map((name) => ref('schemas', name));
  const [only] = references;
  if (references.length === 1 && only !== undefined) return only;
  if (names.includes('GatewayMessage')) return { oneOf: references };
  const mapping = PROBLEM_TYPES.filter((type) => names.includes(problemName(type))).map((type) => [
    type,
    ref('schemas', problemName(type)).$ref,
  ]);
  return { oneOf: references, discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) } };
}
