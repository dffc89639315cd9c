import { EXTENSIONS, type OperationId, ROUTES } from '../routes.ts';
import { problemExample } from './examples.ts';
import { type Json, type JsonObject, ref } from './json.ts';
import { problemName } from './problem-schemas.ts';
import { OPERATIONS, PROBLEM_NOTES, PROBLEM_TYPES, retriesAfter, statusesOf, typesAnswered } from './problems.ts';

/** `#/components/headers` of the document. */
export const HEADERS = {
  CacheControl: {
    description: 'Nothing may be stored.',
    required: true,
    schema: { type: 'string', const: 'no-store' },
  },
  RequestId: {
    description: 'Names the request in the log and in traces; also `request_id` of a problem.',
    required: true,
    schema: { type: 'string', minLength: 1 },
    example: 'JKJaXmPLvHcESHA=',
  },
  NoSniff: {
    description: 'The content type is what it says.',
    required: true,
    schema: { type: 'string', const: 'nosniff' },
  },
  IdempotentReplayed: {
    description: 'There when this is the answer to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
} as const satisfies Record<string, JsonObject>;

const RETRY_AFTER = {
  description: 'After how many seconds to try again.',
  schema: { type: 'integer', minimum: 1 },
  example: 60,
} as const satisfies JsonObject;

const STANDARD_HEADERS = {
  'cache-control': 'CacheControl',
  'x-request-id': 'RequestId',
  'x-content-type-options': 'NoSniff',
} as const;

/** The gateway's own answers, by status; those of authorization on the account operations alone. */
const GATEWAY_ANSWERS: readonly { status: number; message: string; when: string; of: readonly OperationId[] }[] = [
  { status: 400, message: 'Bad Request', when: 'the path is not well encoded', of: accountOperations() },
  { status: 401, message: 'Unauthorized', when: 'the token is absent, expired or not valid', of: accountOperations() },
  {
    status: 403,
    message: 'Forbidden',
    when: 'the signature is absent or not valid, the principal may not invoke the route, or the token lacks the scope',
    of: accountOperations(),
  },
  {
    status: 404,
    message: 'Not Found',
    when: 'the deployment does not have this operation',
    of: EXTENSIONS.map(({ operation }) => operation),
  },
  { status: 413, message: 'Request Too Long', when: 'the request is over the limits of the gateway', of: OPERATIONS },
  { status: 429, message: 'Too Many Requests', when: 'the gateway is throttling', of: OPERATIONS },
  { status: 500, message: 'Internal Server Error', when: 'the function has crashed', of: OPERATIONS },
  { status: 503, message: 'Service Unavailable', when: 'the function did not answer in time', of: OPERATIONS },
];

function accountOperations(): OperationId[] {
  return ROUTES.filter(({ access }) => access === 'accounts').map(({ operation }) => operation);
}

/** The headers of an answer to a request that succeeded, of an operation that takes an `Idempotency-Key`. */
export function successHeaders(): JsonObject {
  return { ...standardHeaders(), 'idempotent-replayed': ref('headers', 'IdempotentReplayed') };
}

/** The headers of every answer of the service. */
export function standardHeaders(): JsonObject {
  return Object.fromEntries(Object.entries(STANDARD_HEADERS).map(([name, header]) => [name, ref('headers', header)]));
}

/** The answers of an operation that are errors, by their status. */
export function errors(operation: OperationId): JsonObject {
  const own = PROBLEM_TYPES.filter((type) => PROBLEM_NOTES[type].operations.includes(operation)).flatMap(statusesOf);
  const gateways = GATEWAY_ANSWERS.filter(({ of }) => of.includes(operation)).map(({ status }) => status);
  const statuses = [...new Set([...own, ...gateways])].sort((a, b) => a - b);
  return Object.fromEntries(statuses.map((status) => [String(status), errorAnswer(operation, status)]));
}

/** The answers of one status: problems of the service, or a message of the gateway. */
function errorAnswer(operation: OperationId, status: number): JsonObject {
  const types = typesAnswered(operation, status);
  const gateway = GATEWAY_ANSWERS.find((answer) => answer.status === status && answer.of.includes(operation));
  const lines = types.map((type) => {
    const { when, whenSettling = when } = PROBLEM_NOTES[type];
    return `- \`${type}\`: ${statusesOf(type)[0] === status ? when : whenSettling}`;
  });
  if (gateway !== undefined) lines.push(`- \`${gateway.message}\` (the gateway's own answer): ${gateway.when}.`);
  return {
    description: lines.join('\n'),
    ...(types.length === 0 ? {} : { headers: problemHeaders(types, status, gateway !== undefined) }),
    content: {
      ...(types.length === 0 ? {} : { 'application/problem+json': problemContent(types, status, operation) }),
      ...(gateway === undefined
        ? {}
        : {
            'application/json': { schema: ref('schemas', 'GatewayMessage'), example: { message: gateway.message } },
          }),
    },
  };
}

function problemContent(types: ReturnType<typeof typesAnswered>, status: number, operation: OperationId): JsonObject {
  const references = types.map((type) => ref('schemas', problemName(type)));
  const [only] = references;
  const schema: JsonObject =
    references.length === 1 && only !== undefined
      ? only
      : {
          oneOf: references,
          discriminator: {
            propertyName: 'type',
            mapping: Object.fromEntries(types.map((type) => [type, ref('schemas', problemName(type)).$ref])),
          },
        };
  const examples = types.map((type) => [type, { value: problemExample(type, status, operation) }]);
  return { schema, examples: Object.fromEntries(examples) };
}

/**
 * Headers that come with some answers of a status only say with which problems, in `x-problem-types`: an answer of the
 * gateway has none of them.
 */
function problemHeaders(types: ReturnType<typeof typesAnswered>, status: number, gatewayToo: boolean): JsonObject {
  const retried = types.filter((type) => retriesAfter(type, status) !== undefined);
  const withSome = (header: JsonObject, some: readonly string[]): Json => ({
    ...header,
    required: false,
    'x-problem-types': some,
  });
  const retryAfter = () => {
    if (retried.some((type) => retriesAfter(type, status) === 'sometimes')) return { ...RETRY_AFTER, required: false };
    const comesWithAll = retried.length === types.length && !gatewayToo;
    return comesWithAll ? { ...RETRY_AFTER, required: true } : withSome(RETRY_AFTER, retried);
  };
  const standard = gatewayToo
    ? Object.entries(STANDARD_HEADERS).map(([name, header]) => [name, withSome(HEADERS[header], types)])
    : Object.entries(standardHeaders());
  return {
    ...Object.fromEntries(standard),
    ...(retried.length === 0 ? {} : { 'retry-after': retryAfter() }),
  };
}
