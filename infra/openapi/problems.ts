import { PROBLEMS, type ProblemType } from '../../lib/problem.ts';
import { KEY_HOURS } from '../../lib/records/idempotency-keys.ts';
import { type OperationId, ROUTES } from '../functions.ts';
import { problemExample } from './examples.ts';
import { componentReference, type JsonObject, markdownTable } from './json.ts';

const REGISTRATION = ['requestRegistration'] as const;
const CONFIRMATION = ['confirmRegistration'] as const;
const TP5 = ['createTp5Account'] as const;
const TP4 = ['createTp4Account'] as const;
const ACCOUNTS = [...TP5, ...TP4] as const;
/** The operations that keep an `Idempotency-Key`. */
const KEYED = [...REGISTRATION, ...ACCOUNTS] as const;
const EVERY = [...REGISTRATION, ...CONFIRMATION, ...ACCOUNTS] as const;

/** A member of the problem document next to `type`, `title`, `status` and `request_id`. */
export type ProblemMember = 'detail' | 'errors' | 'available' | 'operation_id';

interface ProblemNote {
  /** The operations that answer with the problem. */
  operations: readonly OperationId[];
  when: string;
  /** The advice to the caller, in the table of errors. */
  remedy: string;
  /** Whether the problem comes with `Retry-After`. */
  retryAfter?: 'always' | 'sometimes';
  /** The problem's members, and whether they are always present. */
  members?: Partial<Record<ProblemMember, 'always' | 'sometimes'>>;
}

/**
 * The description of each public error type, for the OpenAPI document. `PROBLEMS` has the status and the title; these
 * notes are here so that no function loads them.
 */
const NOTES = {
  malformed_json: {
    operations: EVERY,
    when: 'The body is empty, not JSON, not UTF-8, or not an object at the root.',
    remedy: 'Send one JSON object in UTF-8.',
  },
  validation_failed: {
    operations: EVERY,
    when: 'A field, the path parameter or a header breaks its rule. `errors` lists every violation.',
    remedy: 'Correct the fields of `errors`, and show each sentence at its field.',
    members: { detail: 'sometimes', errors: 'always' },
  },
  form_not_found: {
    operations: REGISTRATION,
    when: 'No form has this `form_id`.',
    remedy: 'Take the id of a form that the broker has loaded.',
  },
  referrer_not_found: {
    operations: REGISTRATION,
    when: 'No client has this referral code.',
    remedy: 'Let the person correct the referral code, or leave it out.',
  },
  otp_type_unavailable: {
    operations: REGISTRATION,
    when: 'This deployment has no integration for that channel. `available` lists those that it has.',
    remedy: 'Offer the channels of `available`.',
    members: { available: 'always' },
  },
  tp5_connection_not_found: {
    operations: TP5,
    when: 'No `tp5` connection has this `connection_id`.',
    remedy: 'Take the id of a `tp5` connection from the broker.',
  },
  tp4_connection_not_found: {
    operations: TP4,
    when: 'No `tp4` connection has this `connection_id`.',
    remedy: 'Take the id of a `tp4` connection from the broker.',
  },
  account_type_not_found: {
    operations: ACCOUNTS,
    when: 'The `account_type_id` is unknown, or of the other platform version.',
    remedy: 'Take an account type of this platform version.',
  },
  account_type_required: {
    operations: ACCOUNTS,
    when: 'The connection is a demo one and `account_type_id` is absent.',
    remedy: 'Send `account_type_id`: it names the deposit of a demo account.',
  },
  rebate_user_not_found: {
    operations: ACCOUNTS,
    when: 'No client has this `rebate_user_id`.',
    remedy: 'Correct the id, or leave it out.',
  },
  group_not_found: {
    operations: ACCOUNTS,
    when: 'The platform does not know the group, or the connection does not offer it.',
    remedy: 'Take a group that the connection offers.',
  },
  password_rejected: {
    operations: ACCOUNTS,
    when: 'The password keeps the rules of its version, but the group on the platform asks for more.',
    remedy: 'Send a longer password of more kinds of characters, or none: the service then makes one.',
  },
  not_supported_by_connection: {
    operations: TP4,
    when: "This connection's protocol cannot do what was asked. `errors` names the fields. Nothing was sent to the platform.",
    remedy: 'Leave the fields of `errors` out, or take a connection of another protocol.',
    members: { errors: 'always' },
  },
  code_not_accepted: {
    operations: CONFIRMATION,
    when: 'The code is wrong, expired or used up, or there is no such registration.',
    remedy: 'Let the person type again, or ask for another code by a new registration.',
  },
  captcha_failed: {
    operations: REGISTRATION,
    when: 'The deployment requires a captcha, and its provider refused the `captcha-token`.',
    remedy: 'Let the person solve the captcha again: a token is valid once.',
  },
  front_required: {
    operations: [...REGISTRATION, ...CONFIRMATION],
    when: 'The deployment accepts requests only through its front. This request bypassed it.',
    remedy: 'Call the address of the front.',
  },
  user_not_found: {
    operations: ACCOUNTS,
    when: 'No client has this `user_id`.',
    remedy: 'Correct the id, or write the client.',
  },
  already_registered: {
    operations: CONFIRMATION,
    when: "The code is right, and its address is a client's already, or was confirmed within a day. Nothing is confirmed.",
    remedy: 'Tell the person to log in.',
  },
  login_taken: {
    operations: ACCOUNTS,
    when: 'The custom `login` is in use.',
    remedy: 'Send another `login`, or none.',
  },
  request_in_progress: {
    operations: KEYED,
    when: 'A request with the same `Idempotency-Key` is being processed. Try again after `Retry-After`.',
    remedy: 'Wait for `Retry-After` seconds, and repeat with the same key.',
    members: { detail: 'sometimes' },
    retryAfter: 'always',
  },
  payload_too_large: {
    operations: EVERY,
    when: 'The body exceeds its limit. If a document or the custom fields exceed theirs, `errors` names them.',
    remedy: 'Send less: smaller or fewer documents.',
    members: { detail: 'sometimes', errors: 'sometimes' },
  },
  unsupported_media_type: {
    operations: EVERY,
    when: 'The content type is not `application/json` or a `+json` type.',
    remedy: 'Send `content-type: application/json`.',
  },
  idempotency_key_reused: {
    operations: KEYED,
    when: `The \`Idempotency-Key\` was used with another body: within the last ${KEY_HOURS} hours, or at any time if an account may have been opened.`,
    remedy: 'Send a new key with a new body.',
    members: { detail: 'sometimes' },
  },
  too_many_requests: {
    operations: REGISTRATION,
    when: 'A limit of the operation is reached. Try again after `Retry-After`.',
    remedy: 'Wait for `Retry-After` seconds. Do not repeat before.',
    retryAfter: 'always',
  },
  internal_error: {
    operations: EVERY,
    when: 'An error of the service. Safe to repeat, with the same `Idempotency-Key` if there was one.',
    remedy: 'Repeat with the same key, later each time. If it lasts, name `request_id` to the broker.',
  },
  otp_delivery_failed: {
    operations: REGISTRATION,
    when: 'The message provider refused or failed. Certainly nothing was sent; safe to repeat.',
    remedy: 'Offer another channel, or repeat.',
  },
  platform_refused: {
    operations: ACCOUNTS,
    when: 'The platform refused the service: credentials, permissions or address. An operator must fix it. No account is known to exist for the request.',
    remedy: 'Name `request_id` to the broker: an operator must act. Then repeat with the same key.',
  },
  platform_unavailable: {
    operations: ACCOUNTS,
    when: 'The platform cannot be reached or is busy, or no free login was found in time. No account is known to exist for the request. Safe to repeat with the same `Idempotency-Key`, which goes on with the same login.',
    remedy: 'Wait for `Retry-After` seconds, and repeat with the same key.',
    retryAfter: 'always',
  },
  login_range_exhausted: {
    operations: ACCOUNTS,
    when: 'The platform, or the login range of the connection, has no free login left. No account is known to exist for the request.',
    remedy: 'Name it to the broker, who adds a range. Then repeat with the same key.',
  },
  account_limit_reached: {
    operations: TP5,
    when: "The platform's license allows no further account. No account is known to exist for the request.",
    remedy: 'Name it to the broker, who extends the license. Then repeat with the same key.',
  },
  account_outcome_unknown: {
    operations: ACCOUNTS,
    when: 'The platform may have opened the account and did not answer in time. With `Retry-After`: repeat with the same `Idempotency-Key`. Without it an operator must decide the operation `operation_id`. Without a key do not repeat: a second account could be opened.',
    remedy: 'With `Retry-After` repeat with the same key and body, else name `operation_id` to the broker.',
    retryAfter: 'sometimes',
    members: { detail: 'sometimes', operation_id: 'always' },
  },
} as const satisfies Record<ProblemType, ProblemNote>;
export const PROBLEM_NOTES: Readonly<Record<ProblemType, ProblemNote>> = NOTES;

/** The types of problems that a registration page gets. */
export type PageProblem = {
  [T in ProblemType]: (typeof REGISTRATION | typeof CONFIRMATION)[0] &
    (typeof NOTES)[T]['operations'][number] extends never
    ? never
    : T;
}[ProblemType];

export const PROBLEM_TYPES = Object.keys(PROBLEMS) as ProblemType[];

/** The problem types that an operation answers. */
function typesAnswered(operation: OperationId): ProblemType[] {
  return PROBLEM_TYPES.filter((type) => PROBLEM_NOTES[type].operations.includes(operation));
}

const SHORT_NAMES: Readonly<Record<OperationId, string>> = {
  requestRegistration: 'registration',
  confirmRegistration: 'confirmation',
  createTp5Account: 'tp5',
  createTp4Account: 'tp4',
};

/** All errors by their status, as Markdown. */
export function problemTable(): string {
  const rows = PROBLEM_TYPES.map((type) => ({ type, status: PROBLEMS[type].status }));
  return markdownTable(
    ['status', 'type', 'operations', 'when', 'what to do'],
    rows
      .sort((a, b) => a.status - b.status)
      .map(({ type, status }) => {
        const { operations } = PROBLEM_NOTES[type];
        const by = operations.length === EVERY.length ? 'all' : operations.map((one) => SHORT_NAMES[one]).join(', ');
        return [String(status), `\`${type}\``, by, PROBLEM_NOTES[type].when, PROBLEM_NOTES[type].remedy];
      }),
  );
}

/** `#/components/headers` of the document. */
export const COMPONENT_HEADERS = {
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
  RegistrationId: {
    description: 'The id of the registration, which its confirmation names. Not secret.',
    schema: { type: 'string', format: 'uuid' },
  },
  RetryAfter: {
    description: 'The seconds to wait before the next try.',
    schema: { type: 'integer', format: 'int32', minimum: 1 },
    example: 60,
  },
} as const satisfies Record<string, JsonObject>;

/** The headers of every answer of the service. */
export const STANDARD_HEADERS = {
  'cache-control': componentReference('headers', 'CacheControl'),
  'x-request-id': componentReference('headers', 'RequestId'),
  'x-content-type-options': componentReference('headers', 'NoSniff'),
  'strict-transport-security': componentReference('headers', 'StrictTransport'),
};

/** The headers of a success, in an operation that takes an `Idempotency-Key`. */
export const SUCCESS_HEADERS = {
  ...STANDARD_HEADERS,
  'idempotent-replayed': componentReference('headers', 'IdempotentReplayed'),
};

interface GatewayAnswer {
  status: number;
  message: string;
  when: string;
  of: readonly OperationId[];
  /**
   * Whether the answer is likely at a status that the service also uses. Many generators read only the schema of the
   * first content type. A likely answer is then first, and its schema includes the problems.
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
    of: ROUTES.filter(({ setting }) => setting !== undefined).map(({ route }) => route.operation),
  },
  {
    status: 413,
    message: 'Request Too Long',
    when: 'the request exceeds the limits of the gateway, which are lower for other types than `application/json`',
    of: EVERY,
    likely: true,
  },
  { status: 429, message: 'Too Many Requests', when: 'the gateway is throttling', of: EVERY, likely: true },
  { status: 500, message: 'Internal Server Error', when: 'the function has crashed', of: EVERY, likely: true },
  { status: 503, message: 'Service Unavailable', when: 'the function did not answer in time', of: EVERY, likely: true },
];

/** The error answers of an operation, by their status. */
export function errorAnswers(operation: OperationId): JsonObject {
  const ofProblems = typesAnswered(operation).map((type) => PROBLEMS[type].status);
  const ofGateway = GATEWAY_ANSWERS.filter(({ of }) => of.includes(operation)).map(({ status }) => status);
  const statuses = [...new Set([...ofProblems, ...ofGateway])].sort((a, b) => a - b);
  return Object.fromEntries(statuses.map((status) => [String(status), errorAnswer(operation, status)]));
}

function errorAnswer(operation: OperationId, status: number): JsonObject {
  const types = typesAnswered(operation).filter((type) => PROBLEMS[type].status === status);
  const gateway = GATEWAY_ANSWERS.find((answer) => answer.status === status && answer.of.includes(operation));
  const lines = types.map((type) => `- \`${type}\`: ${PROBLEM_NOTES[type].when}`);
  if (gateway !== undefined) lines.push(`- \`${gateway.message}\` (the gateway's own answer): ${gateway.when}.`);
  const names = types.map((type) => problemName(type));
  const retried = types.some((type) => PROBLEM_NOTES[type].retryAfter !== undefined);
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
      headers: { ...STANDARD_HEADERS, ...(retried && { 'retry-after': componentReference('headers', 'RetryAfter') }) },
    }),
    content: gateway?.likely ? { ...message, ...problems } : { ...problems, ...message },
  };
}

/** A choice of these schemas. The type of problems is the discriminator; the gateway's message has none. */
function schemaChoice(names: readonly string[]): JsonObject {
  const references = names.map((name) => componentReference('schemas', name));
  const [only] = references;
  if (references.length === 1 && only !== undefined) return only;
  if (names.includes('GatewayMessage')) return { oneOf: references };
  const mapping = PROBLEM_TYPES.filter((type) => names.includes(problemName(type))).map((type) => [
    type,
    componentReference('schemas', problemName(type)).$ref,
  ]);
  return { oneOf: references, discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) } };
}

/** `validation_failed` → `ValidationFailed`. */
export function problemName(type: ProblemType): string {
  return type.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
