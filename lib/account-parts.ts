import { databaseClient, table } from './aws/dynamodb.ts';
import { secretReader } from './aws/secrets.ts';
import type { accountConfig } from './config.ts';
import { accountNotices, type NoticeServices } from './messages/notices.ts';
import { platformConnections } from './platform/connections.ts';
import { derivePassword, parsePasswordKey } from './platform/passwords.ts';
import { accountsIn } from './records/accounts.ts';
import { directoryIn } from './records/directory.ts';
import { operationsIn } from './records/operations.ts';
import type { TradingAccountParts } from './trading-account.ts';

/** Most accounts are opened without a notice: these SDK clients are loaded on first use and stay out of the cold start. */
export const NOTICE_SERVICES: NoticeServices = {
  mailer: async () => (await import('./aws/ses.ts')).sesMailer(),
  publisher: async () => (await import('./aws/sns.ts')).snsPublisher(),
};

/** What the opening of an account is given in production, on either version; made once, at cold start. */
export function accountParts(config: ReturnType<typeof accountConfig>): TradingAccountParts {
  const database = databaseClient();
  const readSecret = secretReader();
  return {
    directory: directoryIn(table(database, config.crmTable)),
    operations: operationsIn(table(database, config.operationsTable)),
    accounts: accountsIn(table(database, config.accountsTable)),
    notices: accountNotices(config, NOTICE_SERVICES),
    platform: platformConnections({ readSecret }),
    passwordKey: async (signal) => parsePasswordKey(await readSecret(config.passwordSecret, signal)),
    derivePassword,
    settleMs: config.settleSeconds * 1_000,
    now: Date.now,
  };
}
