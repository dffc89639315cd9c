import type { TradingPlatform } from '../platform/platform.ts';
import type { AccountDetails } from '../records/accounts.ts';
import type { AccountDirectory, Connection } from '../records/crm-records.ts';
import type { Telemetry } from '../telemetry.ts';
import type { TradingAccountRequest } from '../validators/trading-account.ts';
import type { AccountDependencies, CompletionDependencies, planTimes } from './dependencies.ts';
import type { PasswordRole } from './derivation.ts';
import type { HeldOperation } from './stored-operation.ts';

/** The records that a request names, with those that the CRM has. */
export type FoundRecords = Awaited<ReturnType<AccountDirectory['readAccountRecords']>>;

/** An operation in the hands of a worker: a request, or the settler. */
export interface Job {
  held: HeldOperation;
  times: ReturnType<typeof planTimes>;
  telemetry: Telemetry;
  dependencies: Omit<CompletionDependencies, 'directory' | 'platform'>;
  /** The server of the operation; undefined if it cannot be asked now. */
  server(): Promise<Server | undefined>;
  /** The CRM's records of the operation, as this worker has read them; undefined if they cannot be read. */
  records(): Promise<FoundRecords | undefined>;
}

/** A request's job: no other worker sends a command that opens an account. */
export interface RequestJob extends Job {
  dependencies: AccountDependencies;
  request: CallerRequest;
}

export interface Server {
  platform: TradingPlatform;
  /** As the CRM had it when the server was connected to. */
  connection: Connection;
}

/** What the caller asks for. */
export interface CallerRequest {
  body: TradingAccountRequest;
  userId: string;
  version: AccountDetails['version'];
  caller: string;
  passwords: Record<`${PasswordRole}_password`, string>;
}
