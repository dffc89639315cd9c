import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { parsedSecret } from '../../../lib/aws/secrets.ts';
import { accountConfig } from '../../../lib/config.ts';
import { endpoint } from '../../../lib/http/endpoint.ts';
import { type AccountDependencies, accountNotices } from '../../../lib/openings/dependencies.ts';
import { parseDerivationKeys } from '../../../lib/openings/derivation.ts';
import { dynamoLedger } from '../../../lib/openings/ledger.ts';
import { openTradingAccount } from '../../../lib/openings/opening.ts';
import type { TradingPlatform } from '../../../lib/platform/platform.ts';
import { dynamoAccounts } from '../../../lib/records/accounts.ts';
import { crmKey, dynamoAccountDirectory } from '../../../lib/records/crm-records.ts';
import { telemetry } from '../../../lib/telemetry.ts';
import {
  MAX_ACCOUNT_BYTES,
  TradingAccountAnswerSchema,
  tradingAccountRequestSchema,
  UserIdSchema,
} from '../../../lib/validators/trading-account.ts';
import { crmItem, instantTable } from './instant.ts';

/**
 * A tp5 account as `lib/openings/dependencies.ts` wires it, without network calls: tables, secret and trading server
 * answer at once. The rest is our own time, with the generated passwords.
 */

const config = accountConfig();
const [client] = DEMO_RECORDS.clients;
const [connection] = DEMO_RECORDS.connections;
const passwordKey = JSON.stringify({ current: '1', 1: Buffer.alloc(32, 1).toString('base64') });

const platform: TradingPlatform = {
  keyed: true,
  fundsWithOpening: false,
  ready: async () => {},
  unsupported: () => [],
  open: async ({ login = 0 }) => ({ login }),
  look: async () => 'absent',
  fund: async () => {},
  holdsFunds: async () => true,
  close: async () => {},
};

const dependencies: AccountDependencies = {
  directory: dynamoAccountDirectory(
    instantTable([
      crmItem(crmKey.client(client?.id ?? ''), client),
      crmItem(crmKey.connection(connection?.id ?? ''), connection),
    ]),
  ),
  ledger: dynamoLedger({
    operations: instantTable(),
    logins: instantTable(),
    names: { operations: 'operations', logins: 'logins' },
    transact: async () => {},
  }),
  accounts: dynamoAccounts(instantTable()),
  notices: accountNotices(config),
  ranges: new Map(),
  expectsClients: async () => false,
  platform: async () => platform,
  keys: parsedSecret(async () => passwordKey, 'key', parseDerivationKeys),
  events: { prepare: () => {}, publish: async () => {} },
  now: Date.now,
};

export const handler = endpoint({
  body: tradingAccountRequestSchema('tp5'),
  parameters: { user_id: UserIdSchema },
  answer: TradingAccountAnswerSchema,
  maxBodyBytes: MAX_ACCOUNT_BYTES,
  telemetry: telemetry('create-tp5-account', config.stage),
  handle: (request, telemetry) => openTradingAccount(dependencies, 'tp5', request, telemetry),
});
