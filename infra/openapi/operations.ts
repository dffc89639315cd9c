import type * as v from 'valibot';
import { MAX_CODE_GUESSES } from '../../lib/secrets/one-time-code.ts';
import { MAX_CONFIRMATION_BYTES } from '../../lib/validators/confirmation.ts';
import { CaptchaTokenSchema, IdempotencyKeySchema } from '../../lib/validators/headers.ts';
import { CODE_VALID_MINUTES } from '../../lib/validators/otp-types.ts';
import { MAX_ACCOUNT_BYTES, UserIdSchema } from '../../lib/validators/trading-account.ts';
import { type OperationId, ROUTES } from '../functions.ts';
import { formatBytes, registrationLimits, registrationSizes } from './description.ts';
import { EXAMPLE_USER_ID, OPENED_ACCOUNT, REQUEST_EXAMPLES } from './examples.ts';
import { componentReference, type Json, type JsonObject, jsonSchema } from './json.ts';
import { errorAnswers, STANDARD_HEADERS, SUCCESS_HEADERS } from './problems.ts';

/** `#/components/parameters` of the document. */
export const COMPONENT_PARAMETERS: JsonObject = {
  UserId: {
    name: 'user_id',
    in: 'path',
    required: true,
    description: 'Unique id of the client.',
    schema: jsonSchema(UserIdSchema),
    example: EXAMPLE_USER_ID,
  },
  IdempotencyKey: header('Idempotency-Key', IdempotencyKeySchema, 'See *Retries* at the beginning of this reference.'),
  CaptchaToken: header('captcha-token', CaptchaTokenSchema),
};

function header(name: string, schema: v.GenericSchema<string>, more = ''): JsonObject {
  const { description, ...described } = jsonSchema(schema);
  return { name, in: 'header', required: false, description: `${description} ${more}`.trim(), schema: described };
}

/** `paths` of the document. */
export function documentPaths(): JsonObject {
  const described: Record<OperationId, () => JsonObject> = {
    requestRegistration: registration,
    confirmRegistration: confirmation,
    createTp5Account: () => account('createTp5Account', '5'),
    createTp4Account: () => account('createTp4Account', '4'),
  };
  const paths = ROUTES.map(({ route, setting: needed }) => {
    const setting = needed === undefined ? {} : { 'x-deployment-setting': needed };
    return [route.path, { post: { ...described[route.operation](), ...setting } }] as const;
  });
  return Object.fromEntries(paths);
}

function registration(): JsonObject {
  return {
    operationId: 'requestRegistration',
    tags: ['Registration'],
    summary: 'Send registration request for OTP',
    description: [
      `Accepts a registration request for a new user and sends a one-time password through the channel named by \`otp_type\`: six digits, valid for ${CODE_VALID_MINUTES} minutes. The header \`registration-id\` names the registration: the confirmation asks for it. Each request makes a registration of its own, with its own code; it is kept for 24 hours.`,
      'Fields of the registration form are at the root of the body, next to the fixed fields, each under its key in the form.',
      'Every address gets a code, whether it is a client’s or not: the confirmation says so to whoever has the code.',
      'Pages of the configured origins may call it (CORS).',
      registrationSizes(),
      registrationLimits(),
    ].join('\n\n'),
    security: [],
    parameters: [componentReference('parameters', 'IdempotencyKey'), componentReference('parameters', 'CaptchaToken')],
    requestBody: body('requestRegistration', 'RegistrationRequest'),
    responses: {
      '204': {
        description: 'The request is accepted, and the one-time password is sent.',
        headers: { ...SUCCESS_HEADERS, 'registration-id': componentReference('headers', 'RegistrationId') },
      },
      ...errorAnswers('requestRegistration'),
    },
  };
}

function confirmation(): JsonObject {
  return {
    operationId: 'confirmRegistration',
    tags: ['Registration'],
    summary: 'Confirm a registration by its one-time password',
    description: [
      'An extension: only deployments with the setting `confirmation` have it. On others the gateway answers 404 `Not Found`.',
      'Confirms a registration by its one-time password. The broker then makes the person a client.',
      `A registration allows ${MAX_CODE_GUESSES} guesses. A page that has sent several codes tries its registrations, the newest first.`,
      'Every other refusal is the same `code_not_accepted`.',
      'After a lost answer, send the same body again: for 24 hours the answer is 204 again. No `Idempotency-Key` is needed.',
      `The body may have ${formatBytes(MAX_CONFIRMATION_BYTES)}.`,
      'Pages of the configured origins may call it (CORS).',
    ].join('\n\n'),
    security: [],
    requestBody: body('confirmRegistration', 'ConfirmationRequest'),
    responses: {
      '204': { description: 'The registration is confirmed.', headers: STANDARD_HEADERS },
      ...errorAnswers('confirmRegistration'),
    },
  };
}

function account(operation: 'createTp5Account' | 'createTp4Account', version: '5' | '4'): JsonObject {
  return {
    operationId: operation,
    tags: ['Trading accounts'],
    summary: `Create trading account, platform version ${version}`,
    description: [
      `Opens a trading account on a trading-platform server of version \`tp${version}\` for an existing client, and returns its login and passwords. Absent passwords are generated; no password is ever kept.`,
      'One `Idempotency-Key` never opens a second account, even if answers are lost. Without a key a lost answer cannot be requested again: send one.',
      'A mail or popup that fails does not change the answer.',
      `The body may have ${formatBytes(MAX_ACCOUNT_BYTES)}.`,
    ].join('\n\n'),
    security: [{ iam: [] }, { jwt: ['accounts:create'] }],
    parameters: [componentReference('parameters', 'UserId'), componentReference('parameters', 'IdempotencyKey')],
    requestBody: body(operation, `Tp${version}AccountRequest`),
    responses: {
      '200': {
        description: 'The account is open.',
        headers: SUCCESS_HEADERS,
        content: {
          'application/json': {
            schema: componentReference('schemas', 'TradingAccount'),
            examples: { opened: { value: OPENED_ACCOUNT } },
          },
        },
      },
      ...errorAnswers(operation),
    },
  };
}

function body(operation: OperationId, schema: string): JsonObject {
  return {
    required: true,
    content: {
      'application/json': {
        schema: componentReference('schemas', schema),
        examples: REQUEST_EXAMPLES[operation] as unknown as Json,
      },
    },
  };
}
