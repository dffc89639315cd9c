import { endpoint } from '../../../lib/http/endpoint.ts';
import { telemetry } from '../../../lib/telemetry.ts';
import { MAX_REGISTRATION_BYTES, registrationRequestSchema } from '../../../lib/validators/registration.ts';
import { ALL_COUNTRIES } from '../../../lib/validators/registration-settings.ts';
import {
  MAX_ACCOUNT_BYTES,
  TradingAccountAnswerSchema,
  tradingAccountRequestSchema,
  UserIdSchema,
} from '../../../lib/validators/trading-account.ts';

/** The routes without their use cases: the body is read and checked, and answered. */

const registration = endpoint({
  body: registrationRequestSchema([ALL_COUNTRIES]),
  maxBodyBytes: MAX_REGISTRATION_BYTES,
  telemetry: telemetry('request-registration', 'bench'),
  handle: async () => ({ body: undefined }),
});

const account = endpoint({
  body: tradingAccountRequestSchema('tp5'),
  parameters: { user_id: UserIdSchema },
  answer: TradingAccountAnswerSchema,
  maxBodyBytes: MAX_ACCOUNT_BYTES,
  telemetry: telemetry('create-tp5-account', 'bench'),
  handle: async () => ({
    body: { login: 500_001, master_password: 'Ma5ter#word1', investor_password: 'Inve5tor#wd1' },
  }),
});

export const handler: typeof account = (event, context) =>
  (event.rawPath.includes('/tp5/') ? account : registration)(event, context);
