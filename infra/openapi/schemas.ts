import { ConfirmationBodySchema } from '../../lib/validators/confirmation.ts';
import { isPhoneChannel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { RegistrationBodySchema } from '../../lib/validators/registration.ts';
import { TradingAccountAnswerSchema, tradingAccountRequestSchema } from '../../lib/validators/trading-account.ts';
import { customFields } from './form-fields.ts';
import { type JsonObject, ref } from './json.ts';
import { faultSchemas, problemSchemas } from './problem-schemas.ts';
import { toSchema } from './to-schema.ts';

/** `#/components/schemas` of the document. */
export function schemas(): JsonObject {
  return {
    RegistrationRequest: registrationRequest(),
    ...customFields(),
    ConfirmationRequest: {
      ...toSchema(ConfirmationBodySchema),
      description: 'The channel and the address that the one-time password went to, that password, and the own one.',
    },
    Tp5AccountRequest: {
      ...toSchema(tradingAccountRequestSchema('tp5')),
      description: 'The account to open, with the password rules of platform version 5.',
    },
    Tp4AccountRequest: {
      ...toSchema(tradingAccountRequestSchema('tp4')),
      description: 'The account to open, with the password rules of platform version 4.',
    },
    TradingAccount: { ...toSchema(TradingAccountAnswerSchema), description: 'The account that was opened.' },
    ...faultSchemas(),
    ...problemSchemas(),
    GatewayMessage: {
      type: 'object',
      description: 'An answer that the gateway gives by itself, without asking the service.',
      properties: { message: { type: 'string', description: 'What is wrong.', examples: ['Too Many Requests'] } },
      required: ['message'],
    },
  };
}

function registrationRequest(): JsonObject {
  const given = { minLength: 1 };
  return {
    ...toSchema(RegistrationBodySchema),
    additionalProperties: ref('schemas', 'CustomFieldValue'),
    if: { properties: { otp_type: { enum: OTP_TYPES.filter(isPhoneChannel) } }, required: ['otp_type'] },
    then: {
      properties: {
        phone: { properties: { country_code: given, number: given }, required: ['country_code', 'number'] },
      },
      required: ['phone'],
    },
  };
}
