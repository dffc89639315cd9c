import { databaseClient, table } from './aws/dynamodb.ts';
import { secretReader } from './aws/secrets.ts';
import { accountConfig } from './config.ts';
import { accountsIn } from './crm/accounts.ts';
import { directoryIn } from './crm/directory.ts';
import { endpoint, type Handler } from './http/endpoint.ts';
import { accountNotices } from './notices/account-notices.ts';
import { operationsIn } from './operations.ts';
import { platformConnections } from './platform/connections.ts';
import { derivePassword, parsePasswordKey } from './platform/passwords.ts';
import type { PlatformVersion } from './platform/platform.ts';
import { telemetry } from './telemetry.ts';
import { openTradingAccount } from './trading-account.ts';
import {
  MOST_ACCOUNT_BYTES,
  TradingAccountAnswerSchema,
  tradingAccountRequestSchema,
  UserIdSchema,
} from './validators/trading-account.ts';

/** The handler of one platform version, with its collaborators; made once, at cold start. */
export function tradingAccountEndpoint(version: PlatformVersion): Handler {
  const config = accountConfig();
  const database = databaseClient();
  const readSecret = secretReader();
  const parts = {
    directory: directoryIn(table(database, config.crmTable)),
    operations: operationsIn(table(database, config.operationsTable)),
    accounts: accountsIn(table(database, config.accountsTable)),
    notices: accountNotices(config),
    platform: platformConnections({ readSecret }),
    passwordKey: async (signal: AbortSignal) => parsePasswordKey(await readSecret(config.passwordSecret, signal)),
    derivePassword,
    settleMs: config.settleSeconds * 1_000,
    now: Date.now,
  };
  return endpoint({
    body: tradingAccountRequestSchema(version),
    parameters: { user_id: UserIdSchema },
    answer: TradingAccountAnswerSchema,
    maxBodyBytes: MOST_ACCOUNT_BYTES,
    telemetry: telemetry(`create-${version}-account`, config.stage),
    handle: (request, telemetry, signal) => openTradingAccount(parts, version, request, telemetry, signal),
  });
}
