import { accountConfig } from '../lib/config.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { accountDependencies } from '../lib/openings/dependencies.ts';
import { openTradingAccount } from '../lib/openings/opening.ts';
import { telemetry } from '../lib/telemetry.ts';
import {
  MAX_ACCOUNT_BYTES,
  TradingAccountAnswerSchema,
  tradingAccountRequestSchema,
  UserIdSchema,
} from '../lib/validators/trading-account.ts';

const config = accountConfig();
const dependencies = accountDependencies(config);

/** `POST /public/v1/users/{user_id}/tp4/accounts`: opens an account of platform version 4 for a client → 200. */
export const handler = endpoint({
  body: tradingAccountRequestSchema('tp4'),
  parameters: { user_id: UserIdSchema },
  answer: TradingAccountAnswerSchema,
  maxBodyBytes: MAX_ACCOUNT_BYTES,
  telemetry: telemetry('create-tp4-account', config.stage),
  handle: (request, telemetry) => openTradingAccount(dependencies, 'tp4', request, telemetry),
});
