import type * as v from 'valibot';
import { PROBLEMS, type ProblemType } from '../../lib/problem.ts';
import { type ConfirmationBodySchema, MAX_CONFIRMATION_BYTES } from '../../lib/validators/confirmation.ts';
import { exampleValue } from '../../lib/validators/custom-fields.ts';
import { CUSTOM_FIELD_TYPES } from '../../lib/validators/form.ts';
import { MAX_REGISTRATION_BYTES, type RegistrationBodySchema } from '../../lib/validators/registration.ts';
import { MAX_ACCOUNT_BYTES, type TradingAccountRequest } from '../../lib/validators/trading-account.ts';
import type { OperationId } from '../routes.ts';
import type { Json, JsonObject } from './json.ts';

interface Example<Body> {
  summary: string;
  value: Body;
}

/** The demo client of the local service, in the path of the account operations. */
export const EXAMPLE_USER_ID = 'CLIENT01';

const PASSWORD = 'correct horse battery';

const PHONE = { country_code: '44', number: '07911 123456' };
const MARIA = {
  email: 'maria@example.com',
  type: 'trader',
  name: 'Maria Silva',
  password: PASSWORD,
  repeat_password: PASSWORD,
} as const;
const NOTICES = { send_email: true, send_pop_up: true };
const CHOICES = {
  leverage: 30,
  login: 700123,
  rebate_user_id: 'CLIENT02',
  enable_rebate: true,
  ...NOTICES,
  language: 'es',
};

/** Bodies that the service accepts. They fit the demo records of the local service. */
export const REQUEST_EXAMPLES: {
  requestRegistration: Record<string, Example<v.InferInput<typeof RegistrationBodySchema>>>;
  confirmRegistration: Record<string, Example<v.InferInput<typeof ConfirmationBodySchema>>>;
  createTp5Account: Record<string, Example<TradingAccountRequest>>;
  createTp4Account: Record<string, Example<TradingAccountRequest>>;
} = {
  requestRegistration: {
    email: {
      summary: 'The code by e-mail',
      value: { ...MARIA, otp_type: 'email', form_id: 'FORM0001', k3J9xQ: 'some', language: 'pt-BR' },
    },
    sms: {
      summary: 'The code by SMS, with a referrer',
      value: {
        ...MARIA,
        email: 'sam@example.com',
        name: 'Sam Fox',
        phone: PHONE,
        otp_type: 'sms',
        form_id: 'FORM0002',
        referrer_id: 'REFANN01',
      },
    },
    every_type_of_field: {
      summary: 'A form with a field of every type',
      value: {
        ...MARIA,
        email: 'jo@example.com',
        name: 'Jo Park',
        otp_type: 'email',
        form_id: 'FORMFULL',
        ...Object.fromEntries(CUSTOM_FIELD_TYPES.map((type) => [`field_${type}`, exampleValue(type)])),
      },
    },
  },
  confirmRegistration: {
    email: {
      summary: 'The code came by e-mail',
      value: { otp_type: 'email', email: MARIA.email, code: '012345', password: PASSWORD },
    },
    phone: {
      summary: 'The code came to a phone',
      value: { otp_type: 'sms', phone: PHONE, code: '012345', password: PASSWORD },
    },
  },
  createTp5Account: {
    live: {
      summary: 'A live account, passwords made by the service',
      value: { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 },
    },
    demo: {
      summary: 'A demo account, funded, with a mail to the client',
      value: {
        connection_id: 'tp5-demo-1',
        group: 'demo\\standard',
        leverage: 500,
        account_type_id: 'ATDEMO01',
        ...NOTICES,
        language: 'en',
      },
    },
    every_field: {
      summary: 'Every field',
      value: {
        connection_id: 'tp5-live-1',
        group: 'real\\raw',
        account_type_id: 'ATLIVE05',
        ...CHOICES,
        master_password: 'Tr4de-It-Now',
        investor_password: 'L00k-Only-Pls',
        enable_readonly: false,
      },
    },
  },
  createTp4Account: {
    live: {
      summary: 'A live account, passwords made by the service',
      value: { connection_id: 'tp4-live-1', group: 'standard', leverage: 100 },
    },
    demo: {
      summary: 'A demo account, funded, with a mail to the client',
      value: {
        connection_id: 'tp4-gw-1',
        group: 'demoforex',
        leverage: 500,
        account_type_id: 'ATDEMO04',
        ...NOTICES,
        language: 'en',
      },
    },
    every_field: {
      summary: 'Every field, on a connection that lets the login be chosen',
      value: {
        connection_id: 'tp4-gw-2',
        group: 'standard',
        account_type_id: 'ATLIVE04',
        ...CHOICES,
        master_password: 'Tr4deItNow',
        investor_password: 'L00kOnlyPls',
        enable_readonly: true,
      },
    },
  },
};

export const OPENED_ACCOUNT = { login: 954402, master_password: 'h7K-mWq4Yt%2', investor_password: 'Zc3+dRn8Xa_e' };

const REQUEST_ID = 'JKJaXmPLvHcESHA=';
const OPERATION = { operation_id: '7f1f4a52-0f5c-4f0e-9d0a-3c1b2a4d5e6f' };

const ACCOUNT_VIOLATIONS = [
  { parameter: 'user_id', rule: 'length', detail: 'must be 8 characters' },
  { pointer: '#/leverage', rule: 'maximum', detail: 'must be at most 5000' },
];
const VIOLATIONS: Readonly<Record<OperationId, Json>> = {
  requestRegistration: [
    { pointer: '#/phone/number', rule: 'required', detail: 'is required when otp_type is sms' },
    { pointer: '#/repeat_password', rule: 'password_mismatch', detail: 'must equal password' },
  ],
  confirmRegistration: [
    { pointer: '#/code', rule: 'format', detail: 'must be six digits' },
    { pointer: '#/password', rule: 'required', detail: 'is required' },
  ],
  createTp5Account: ACCOUNT_VIOLATIONS,
  createTp4Account: ACCOUNT_VIOLATIONS,
};

const MAX_BYTES: Readonly<Record<OperationId, number>> = {
  requestRegistration: MAX_REGISTRATION_BYTES,
  confirmRegistration: MAX_CONFIRMATION_BYTES,
  createTp5Account: MAX_ACCOUNT_BYTES,
  createTp4Account: MAX_ACCOUNT_BYTES,
};

/** An example of this problem in this operation. */
export function problemExample(type: ProblemType, status: number, operation: OperationId): JsonObject {
  const { detail, ...members } = exampleMembers(type, operation);
  return {
    type,
    title: PROBLEMS[type].title,
    status,
    ...(detail === undefined ? {} : { detail }),
    request_id: REQUEST_ID,
    ...members,
  };
}

function exampleMembers(type: ProblemType, operation: OperationId): JsonObject {
  switch (type) {
    case 'validation_failed':
      return { detail: '2 fields need attention.', errors: VIOLATIONS[operation] };
    case 'otp_type_unavailable':
      return { available: ['email', 'sms'] };
    case 'payload_too_large':
      return operation === 'requestRegistration'
        ? { errors: [{ pointer: '#/d0cUpl/0/doc', rule: 'size', detail: 'must be at most 3 MB' }] }
        : { detail: `The body may have at most ${MAX_BYTES[operation]} bytes.` };
    case 'not_supported_by_connection':
      return {
        errors: [{ pointer: '#/login', rule: 'not_supported', detail: 'cannot be chosen on this connection' }],
      };
    case 'account_outcome_unknown':
      return OPERATION;
    default:
      return {};
  }
}
