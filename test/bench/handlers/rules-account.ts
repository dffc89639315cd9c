import { endpoint } from '../../../lib/http/endpoint.ts';
import { telemetry } from '../../../lib/telemetry.ts';
import {
  MAX_ACCOUNT_BYTES,
  TradingAccountAnswerSchema,
  tradingAccountRequestSchema,
  UserIdSchema,
} from '../../../lib/validators/trading-account.ts';

/** The route of a tp5 account without its use case: the body is read and checked, and answered. */
export const handler = endpoint({
  body: tradingAccountRequestSchema('tp5'),
  parameters: { user_id: UserIdSchema },
  answer: TradingAccountAnswerSchema,
  maxBodyBytes: MAX_ACCOUNT_BYTES,
  telemetry: telemetry('create-tp5-account', 'bench'),
  handle: async () => ({
    body: { login: 500_001, master_password: 'Ma5ter#word1', investor_password: 'Inve5tor#wd1' },
  }),
});
