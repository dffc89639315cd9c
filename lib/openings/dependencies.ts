import { setTimeout as sleep } from 'node:timers/promises';
import { databaseClient, dynamoTable } from '../aws/dynamodb.ts';
import { parsedSecret, secretReader } from '../aws/secrets.ts';
import type { AccountConfig, settlementConfig } from '../config.ts';
import { within } from '../deadline.ts';
import type { AccountNotices, NoticeSettings } from '../messages/notices.ts';
import { once } from '../once.ts';
import { platformConnections } from '../platform/connections.ts';
import type { TradingPlatform } from '../platform/platform.ts';
import { type Accounts, dynamoAccounts } from '../records/accounts.ts';
import { type AccountDirectory, type Connection, dynamoAccountDirectory } from '../records/crm-records.ts';
import { type Events, lazyEvents } from '../records/events.ts';
import { dynamoRegistrations } from '../records/registrations.ts';
import { type DerivationKey, parseDerivationKeys } from './derivation.ts';
import { dynamoLedger, type Ledger } from './ledger.ts';

/** What an open account is completed with; tests pass fakes. */
export interface CompletionDependencies {
  directory: AccountDirectory;
  ledger: Ledger;
  accounts: Accounts;
  notices: AccountNotices;
  events: Events;
  platform(connection: Connection, signal: AbortSignal): Promise<TradingPlatform>;
  now(): number;
}

/** The dependencies of an opening; tests pass fakes. */
export interface AccountDependencies extends CompletionDependencies {
  /** The keys of the secret of derived passwords, the current one first. */
  keys(signal: AbortSignal): Promise<readonly [DerivationKey, ...DerivationKey[]]>;
  /** Waits this many milliseconds. */
  wait(ms: number): Promise<void>;
}

/**
 * The deadlines of the parts of an opening, in milliseconds after the start of the request. They let it be answered
 * within 25 seconds.
 */
const OPENING_ENDS_MS = 17_000;
const PLATFORM_ENDS_MS = 20_000;
const WORK_ENDS_MS = 22_500;

/**
 * The times at which the parts of an opening must be over, in epoch milliseconds.
 * @param stopsAt when all signals abort, shortly before the function ends, in epoch milliseconds
 */
export function planTimes(startedAt: number, stopsAt: number) {
  const platform = new AbortController();
  const platformEndsAt = Math.min(startedAt + PLATFORM_ENDS_MS, stopsAt);
  const workEndsAt = Math.min(startedAt + WORK_ENDS_MS, stopsAt);
  return {
    /** The time after which no byte that opens an account is sent. */
    openingEndsAt: Math.min(startedAt + OPENING_ENDS_MS, stopsAt),
    /** The last call to the platform. */
    platformEndsAt,
    platformSignal: within(platformEndsAt - startedAt, platform.signal),
    /** Aborts the calls to the platform that still run. */
    leavePlatform: () => platform.abort(),
    /** Everything but the last write. */
    workEndsAt,
    signal: within(workEndsAt - startedAt),
  };
}

/** Most accounts are opened without a notice: each kind is loaded on first use, outside of the cold start. */
function accountNotices(settings: NoticeSettings): AccountNotices {
  const notices = once(() => import('../messages/notices.ts'));
  const email = once(async () => {
    const [{ mailNotice }, { sesMailer }] = await Promise.all([notices(), import('../aws/ses.ts')]);
    return mailNotice(settings, sesMailer());
  });
  const popUp = once(async () => {
    const [{ popUpNotice }, { snsPublisher }] = await Promise.all([notices(), import('../aws/sns.ts')]);
    return popUpNotice(settings, snsPublisher());
  });
  return {
    email: async (...notice) => (await email())(...notice),
    popUp: async (...notice) => (await popUp())(...notice),
  };
}

/** The production dependencies of the functions that open accounts; created once, at cold start. */
export function accountDependencies(config: AccountConfig): AccountDependencies {
  const database = databaseClient();
  const readSecret = secretReader({ first: config.passwordSecret, ahead: 1 });
  return {
    ...completionDependencies(config, database, readSecret),
    keys: parsedSecret(readSecret, config.passwordSecret, parseDerivationKeys),
    wait: sleep,
  };
}

/** The production dependencies of the settler, which also publishes registrations. */
export function settlementDependencies(config: ReturnType<typeof settlementConfig>) {
  const database = databaseClient();
  return {
    ...completionDependencies(config, database, secretReader()),
    registrations: dynamoRegistrations(dynamoTable(database, config.registrationsTable)),
  };
}

/** What the settler shares with requests. */
function completionDependencies(
  config: Omit<ReturnType<typeof settlementConfig>, 'registrationsTable'>,
  database: ReturnType<typeof databaseClient>,
  readSecret: ReturnType<typeof secretReader>,
): CompletionDependencies {
  const accounts = dynamoTable(database, config.accountsTable);
  return {
    directory: dynamoAccountDirectory(dynamoTable(database, config.crmTable)),
    ledger: dynamoLedger({
      operations: dynamoTable(database, config.operationsTable),
      logins: dynamoTable(database, config.loginsTable),
      accounts,
    }),
    accounts: dynamoAccounts(accounts),
    notices: accountNotices(config),
    events: lazyEvents(async () => (await import('../aws/eventbridge.ts')).eventBus(config.eventBus)),
    platform: platformConnections({ readSecret }),
    now: Date.now,
  };
}
