import { writeFile } from 'node:fs/promises';
import { DEFAULT_LIMITS } from '../../lib/records/send-limits.ts';
import { MOST_REGISTRATION_BYTES } from '../../lib/validators/registration.ts';
import { MOST_ACCOUNT_BYTES, UserIdSchema } from '../../lib/validators/trading-account.ts';
import { EXAMPLE_USER_ID, OPENED_ACCOUNT, problemExample, REQUEST_EXAMPLES } from './examples.ts';
import { toTypes } from './openapi-to-types.ts';
import {
  OPERATIONS,
  type OperationId,
  PROBLEM_NOTES,
  PROBLEM_TYPES,
  retriesAfter,
  statusesOf,
  typesAnswered,
} from './problems.ts';
import { type Json, type JsonObject, problemName, ref, schemas, table, toSchema } from './schemas.ts';

/**
 * The OpenAPI document of the service, made from the validators and the table of public errors, so that it cannot
 * differ from what is checked. `npm run openapi` writes it to `infra/openapi.json`.
 */
export function openapi(): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Registration and trading accounts',
      version: '1.0.0',
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
      description: description(),
    },
    servers: [
      {
        url: '{base_url}',
        description: 'The deployed service; `cdk deploy` prints its address.',
        variables: {
          base_url: { default: 'https://api.broker.example', description: 'Where the paths begin, without a slash.' },
        },
      },
    ],
    tags: [
      { name: 'Registration', description: 'Called by a registration page; open to everybody, within limits.' },
      { name: 'Trading accounts', description: 'Called by systems of the broker.' },
    ],
    paths: {
      '/public/v1/account/register/request': { post: registration() },
      '/public/v1/users/{user_id}/tp5/accounts': { post: account('createTp5Account', '5') },
      '/public/v1/users/{user_id}/tp4/accounts': { post: account('createTp4Account', '4') },
    },
    components: {
      schemas: schemas(),
      parameters: { UserId: USER_ID, IdempotencyKey: IDEMPOTENCY_KEY },
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const SUMMARIES: Readonly<Record<OperationId, string>> = {
  requestRegistration: 'Send registration request for OTP',
  createTp5Account: 'Create trading account, platform version 5',
  createTp4Account: 'Create trading account, platform version 4',
};

const USER_ID: JsonObject = {
  name: 'user_id',
  in: 'path',
  required: true,
  description: 'Unique id of the client.',
  schema: toSchema(UserIdSchema),
  example: EXAMPLE_USER_ID,
};

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes a request safe to repeat: 1 to 255 visible ASCII characters, optionally in double quotes, such as a UUID. See *Safe repeats* above.',
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: 257,
    pattern: '^(?:"[\\x21\\x23-\\x7e]{1,255}"|[\\x21\\x23-\\x7e][\\x21-\\x7e]{0,254})$',
  },
};

const HEADERS = {
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

const SECURITY_SCHEMES: JsonObject = {
  iam: {
    type: 'apiKey',
    name: 'Authorization',
    in: 'header',
    description:
      "AWS Signature Version 4 (`AWS4-HMAC-SHA256 …`, service `execute-api`) of an IAM principal that may invoke the route. The deployment's default.",
    'x-amazon-apigateway-authtype': 'awsSigv4',
  },
  jwt: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'An access token with the scope `accounts:create`, where the deployment names an issuer and audience; it then replaces IAM.',
  },
};

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
  { status: 413, message: 'Request Too Long', when: 'the request is over the limits of the gateway', of: OPERATIONS },
  { status: 429, message: 'Too Many Requests', when: 'the gateway is throttling', of: OPERATIONS },
  { status: 500, message: 'Internal Server Error', when: 'the function has crashed', of: OPERATIONS },
  { status: 503, message: 'Service Unavailable', when: 'the function did not answer in time', of: OPERATIONS },
];

function accountOperations(): OperationId[] {
  return OPERATIONS.filter((operation) => operation !== 'requestRegistration');
}

function registration(): JsonObject {
  return {
    operationId: 'requestRegistration',
    tags: ['Registration'],
    summary: SUMMARIES.requestRegistration,
    description: [
      'Accepts a registration request for a new user and sends a one-time password through the channel named by `otp_type`: six digits, valid for 10 minutes; a new request replaces the code before.',
      'Fields of the registration form stand at the root of the body, beside the fixed fields, each under its key in the form.',
      "The answer does not tell whether the address is a client's already: then its owner gets a notice instead of a code.",
      'Pages of the origins that the deployment names may call it (CORS).',
      sizes(),
      limits(),
    ].join('\n\n'),
    security: [],
    parameters: [ref('parameters', 'IdempotencyKey')],
    requestBody: body('requestRegistration', 'RegistrationRequest'),
    responses: {
      '204': {
        description: 'The request is accepted, and the one-time password is sent.',
        headers: successHeaders(),
      },
      ...errors('requestRegistration'),
    },
  };
}

function account(operation: 'createTp5Account' | 'createTp4Account', version: '5' | '4'): JsonObject {
  return {
    operationId: operation,
    tags: ['Trading accounts'],
    summary: SUMMARIES[operation],
    description: [
      `Opens a trading account on a trading-platform server of version \`tp${version}\` for an existing client, and returns its login and passwords. Absent passwords are generated; no password is ever kept.`,
      'For the same `Idempotency-Key` never a second account is opened, whatever goes wrong in between. Without a key an answer that got lost cannot be asked for again: send one.',
      'A mail or popup that fails changes nothing in the answer, once the account exists.',
      `The body may have ${bytes(MOST_ACCOUNT_BYTES)}.`,
    ].join('\n\n'),
    security: [{ iam: [] }, { jwt: ['accounts:create'] }],
    parameters: [ref('parameters', 'UserId'), ref('parameters', 'IdempotencyKey')],
    requestBody: body(operation, `Tp${version}AccountRequest`),
    responses: {
      '200': {
        description: 'The account is open.',
        headers: successHeaders(),
        content: {
          'application/json': {
            schema: ref('schemas', 'TradingAccount'),
            examples: { opened: { value: OPENED_ACCOUNT } },
          },
        },
      },
      ...errors(operation),
    },
  };
}

function body(operation: OperationId, schema: string): JsonObject {
  return {
    required: true,
    content: {
      'application/json': {
        schema: ref('schemas', schema),
        examples: REQUEST_EXAMPLES[operation] as unknown as Json,
      },
    },
  };
}

function successHeaders(): JsonObject {
  return { ...standardHeaders(), 'idempotent-replayed': ref('headers', 'IdempotentReplayed') };
}

function standardHeaders(): JsonObject {
  return Object.fromEntries(Object.entries(STANDARD_HEADERS).map(([name, header]) => [name, ref('headers', header)]));
}

function errors(operation: OperationId): JsonObject {
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

function description(): string {
  return [
    'Accepts registration requests of new users and sends each a one-time password by e-mail, SMS, call or WhatsApp; opens trading accounts for existing clients on trading-platform servers of version 5 (`tp5`) and version 4 (`tp4`).',
    'Requests and answers are JSON in UTF-8, with an object at the root. A field that is not known is refused. New members may be added to answers: ignore those that you do not know.',
    'Every answer of the service has the headers `x-request-id` (name it when you ask for help), `cache-control: no-store` and `x-content-type-options: nosniff`.',
    '## Safe repeats',
    'Send an `Idempotency-Key` of your own, one for each thing that you want done, and repeat the very same request with it as often as you like. It is kept for 24 hours, for its route, caller and user.',
    table(
      ['A repeat', 'is answered'],
      [
        ['of a finished request', 'with the first answer again and `idempotent-replayed: true`'],
        ['of one that is still running', '409 `request_in_progress`, with `Retry-After`'],
        ['with another body', '422 `idempotency_key_reused`'],
        ['after the first try failed before anything was created or sent', 'as if it were the first'],
        ['after the first try may have sent the code', '204; the code is never sent again by itself'],
        [
          'after the first try may have opened the account',
          'with that account where the platform can tell, else 409 `account_outcome_unknown`; never with a second account',
        ],
      ],
    ),
    '## Errors',
    'Every error of the service is a problem document (RFC 9457, `application/problem+json`). Switch on `type`, which never changes; `title` and `detail` are for people. `errors` lists every fault of the request at once.',
    '<details>\n<summary>All error types, and the operations that answer them</summary>',
    problemTable(),
    '</details>',
    'The gateway answers some requests by itself, as `application/json` with nothing but a `message` and without the headers of the service: 404 `Not Found` to a path or method that is none of these, 401 and 403 where authorization fails, 429 when it throttles, 413, 500 and 503.',
  ].join('\n\n');
}

function problemTable(): string {
  const short: Record<OperationId, string> = {
    requestRegistration: 'registration',
    createTp5Account: 'tp5',
    createTp4Account: 'tp4',
  };
  const rows = PROBLEM_TYPES.flatMap((type) => statusesOf(type).map((status) => ({ type, status })));
  return table(
    ['Status', 'Type', 'Operations', 'When'],
    rows
      .sort((a, b) => a.status - b.status)
      .map(({ type, status }) => {
        const { operations, when, whenSettling = when } = PROBLEM_NOTES[type];
        const by = operations.length === OPERATIONS.length ? 'all' : operations.map((one) => short[one]).join(', ');
        return [String(status), `\`${type}\``, by, status === statusesOf(type)[0] ? when : whenSettling];
      }),
  );
}

function bytes(count: number): string {
  return `${count.toLocaleString('en')} bytes`;
}

function sizes(): string {
  return [
    'Sizes:',
    [
      `- the body: ${bytes(MOST_REGISTRATION_BYTES)}`,
      '- documents: 10 in a request, each 3 MB and all together 4 MB when decoded (1 MB is 1024² bytes)',
      '- all other fields of the form together, as JSON: 200,000 bytes',
    ].join('\n'),
  ].join('\n\n');
}

function limits(): string {
  const { resendSeconds, recipientPerHour, recipientPerDay, sourcePer10Minutes, sourcePerHour, prefixPerHour } =
    DEFAULT_LIMITS;
  return [
    'Limits (settings of the deployment; these are the defaults):',
    [
      `- the next message to the same recipient after ${resendSeconds.join(', ')} seconds`,
      `- ${recipientPerHour} messages an hour and ${recipientPerDay} in 24 hours to a recipient`,
      `- ${sourcePer10Minutes} requests in 10 minutes and ${sourcePerHour} an hour from a source address`,
      `- ${prefixPerHour} messages an hour to a phone prefix (the number less its last four digits)`,
    ].join('\n'),
  ].join('\n\n');
}

/** The generated files as they stand in `infra/`, by name. */
export async function generatedFiles(): Promise<Record<string, string>> {
  return {
    'openapi.json': `${JSON.stringify(openapi(), null, 2)}\n`,
    'openapi/openapi-types.ts': await toTypes({
      requestRegistration: { body: 'RegistrationRequest', summary: SUMMARIES.requestRegistration },
      createTp5Account: { body: 'Tp5AccountRequest', answer: 'TradingAccount', summary: SUMMARIES.createTp5Account },
      createTp4Account: { body: 'Tp4AccountRequest', answer: 'TradingAccount', summary: SUMMARIES.createTp4Account },
    }),
  };
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(await generatedFiles())) {
    await writeFile(new URL(`../${name}`, import.meta.url), text);
  }
}
