import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { accountKeys, accountNotices } from '../../../lib/accounts/parts.ts';
import { openTradingAccount } from '../../../lib/accounts/trading-account.ts';
import { parsedSecret } from '../../../lib/aws/secrets.ts';
import { accountConfig } from '../../../lib/config.ts';
import { endpoint } from '../../../lib/http/endpoint.ts';
import { derivePasswords } from '../../../lib/platform/passwords.ts';
import type { TradingPlatform } from '../../../lib/platform/platform.ts';
import { accountDirectoryIn } from '../../../lib/records/account-directory.ts';
import { accountOperationsIn } from '../../../lib/records/account-operations.ts';
import { accountsIn } from '../../../lib/records/accounts.ts';
import { crmKey } from '../../../lib/records/crm-table.ts';
import { loginsIn } from '../../../lib/records/logins.ts';
import { telemetry } from '../../../lib/telemetry.ts';
import {
  MAX_ACCOUNT_BYTES,
  TradingAccountAnswerSchema,
  tradingAccountRequestSchema,
  UserIdSchema,
} from '../../../lib/validators/trading-account.ts';
import { crmItem, instantTable } from './instant.ts';

/**
 * A tp5 account as `lib/accounts/parts.ts` wires it, but for what goes over the wire: tables, secret and
 * trading server answer at once. What is left is our own time, the generated passwords with it.
 */

const config = accountConfig();
const [client] = DEMO_RECORDS.clients;
const [connection] = DEMO_RECORDS.connections;
const passwordKey = JSON.stringify({ key: Buffer.alloc(32, 1).toString('base64') });
let login = 1_000_000;

const platform: TradingPlatform = {
  loginIsKey: true,
  ready: async () => {},
  unsupported: () => [],
  async open(_, departure) {
    await departure.note();
    login += 1;
    return { login };
  },
  find: async () => ({ kind: 'absent' }),
  fund: async () => {},
  holdsFunds: async () => true,
  check: async () => {},
  rights: async () => ({ openAccounts: 'granted', seePersonalData: 'granted', changeBalances: 'granted' }),
  closedGroups: async () => ({ unknown: [], notShown: [] }),
  inspectRange: async () => ({ looked: 0, taken: 0 }),
  close: async () => {},
};

const parts = {
  directory: accountDirectoryIn(
    instantTable([
      crmItem(crmKey.client(client?.id ?? ''), client),
      crmItem(crmKey.connection(connection?.id ?? ''), connection),
    ]),
  ),
  operations: accountOperationsIn(instantTable()),
  logins: loginsIn(instantTable()),
  accounts: accountsIn(instantTable()),
  notices: accountNotices(config),
  platform: async () => platform,
  passwords: { keys: parsedSecret(async () => passwordKey, 'key', accountKeys), derive: derivePasswords },
  events: { prepare: () => {}, tell: async () => {} },
  settings: config,
  clock: { now: Date.now },
};

export const handler = endpoint({
  body: tradingAccountRequestSchema('tp5'),
  parameters: { user_id: UserIdSchema },
  answer: TradingAccountAnswerSchema,
  maxBodyBytes: MAX_ACCOUNT_BYTES,
  telemetry: telemetry('create-tp5-account', config.stage),
  handle: (request, telemetry, signal) => openTradingAccount(parts, 'tp5', request, telemetry, signal),
});
