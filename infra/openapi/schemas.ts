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
  return {
    ...toSchema(RegistrationBodySchema),
    additionalProperties: ref('schemas', 'CustomFieldValue'),
  };
}
