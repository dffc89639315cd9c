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

/** `POST /public/v1/users/{user_id}/tp5/accounts`: opens an account of platform version 5 for a client → 200. */
export const handler = endpoint({
  body: tradingAccountRequestSchema('tp5'),
  parameters: { user_id: UserIdSchema },
  answer: TradingAccountAnswerSchema,
  maxBodyBytes: MAX_ACCOUNT_BYTES,
  telemetry: telemetry('create-tp5-account', config.stage),
  handle: (request, telemetry) => openTradingAccount(dependencies, 'tp5', request, telemetry),
});
