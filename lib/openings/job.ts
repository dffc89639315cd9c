import type { Mark, TradingPlatform } from '../platform/platform.ts';
import type { AccountDetails, AccountRecord } from '../records/accounts.ts';
import type { AccountClient, AccountType, Connection } from '../records/crm-records.ts';
import type { Telemetry } from '../telemetry.ts';
import type { TradingAccountRequest } from '../validators/trading-account.ts';
import type { AccountDependencies, planTimes } from './dependencies.ts';
import type { DerivationKey } from './derivation.ts';
import type { HeldOperation } from './ledger.ts';
import type { DecisionContext } from './life.ts';
import type { loginChoice } from './login-search.ts';

/** An operation that a worker holds: a request, the settler and an operator's command each make one for `driveOperation`. */
export interface Job {
  worker: DecisionContext['worker'];
  held: HeldOperation;
  times: ReturnType<typeof planTimes>;
  telemetry: Telemetry;
  /**
   * The dependencies of the worker. Without `notices` it sends none. Without `events` it publishes none, and another
   * worker does.
   */
  dependencies: Pick<AccountDependencies, 'ledger' | 'accounts' | 'now'> &
    Partial<Pick<AccountDependencies, 'events' | 'notices'>>;
  /** @returns undefined if the server cannot be asked now */
  server(): Promise<Server | undefined>;
  /** A generated password of the account; undefined if the caller gave both. */
  generated(): Promise<Mark['generated']>;
  /** The keys of the secret of derived passwords, by which comments are recognized. */
  keys(): Promise<readonly DerivationKey[]>;
  /** Present in a request: no other worker sends a command that opens an account. */
  order?: CallerOrder;
  /** Waits this many milliseconds; absent: by the clock of the machine. */
  wait?: (ms: number) => Promise<void>;
}

/** The trading server of an operation, and its client and account type, which are absent if the CRM no longer has them. */
export interface Server {
  platform: TradingPlatform;
  connection: Connection;
  client: AccountClient | undefined;
  /** The account type of the operation, as the CRM has it now. */
  accountType: AccountType | undefined;
}

/** The order of a caller. */
export interface CallerOrder {
  body: TradingAccountRequest;
  userId: string;
  version: AccountDetails['version'];
  caller: string;
  passwords: { master_password: string; investor_password: string };
  /** The comment of the account. */
  comment: string;
  /**
   * The server and the client that the request names. @throws Problem for the first record that is missing,
   * PlatformFailure
   */
  server(): Promise<Server & { client: AccountClient }>;
  /** Resolves after login on the server. */
  ready: Promise<void>;
  /** The possible ids of the operation: one for each key of the secret. */
  ids: readonly string[];
  /** The record of the operation's account; read only if the ledger may have been lost. */
  recorded: Promise<AccountRecord | undefined>;
  logins: ReturnType<typeof loginChoice>;
}
