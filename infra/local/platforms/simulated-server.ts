import type { Faults } from '../faults.ts';

/** The delay of a slow or late server whose fault names none, in milliseconds. */
export const ACTING_LATE_MS = 1_000;

/** A return code in no list: the fault `retcode` with it carries the command out. */
export const UNDOCUMENTED_CODE = 9_999;

/** An account on a simulated trading server, as `/_local/platforms/{connection_id}/accounts` shows it. */
export interface SimulatedAccount {
  login: number;
  group: string;
  leverage: number;
  name: string;
  email: string;
  /** Trading is disabled. */
  readonly: boolean;
  balance: number;
  comment: string;
}

/** Accounts of strangers: a range of logins in one group. */
export interface BulkAccounts {
  group: string;
  from: number;
  count: number;
}

/** A simulated trading server that listens on 127.0.0.1 and speaks its real protocol. */
export interface SimulatedServer {
  readonly port: number;
  /** `web-api` only: the PEM of the certificate that the server shows. */
  readonly ca?: string;
  /** The faults of the next commands. Authentication and keep-alive do not count as commands, but may be a step. */
  readonly faults: Faults;
  accounts(): SimulatedAccount[];
  /** The other members that the account was opened with, by their names in the protocol, in lower case. */
  details(login: number): Readonly<Record<string, string>> | undefined;
  /** Adds accounts of strangers. They cost no memory and are not listed. */
  populate(bulk: BulkAccounts): void;
  /** Changes an account, as a dealer or a plug-in does. */
  edit(login: number, changes: Partial<Pick<SimulatedAccount, 'comment' | 'group'>>): void;
  /** Removes an account, as restoring the server from a backup does. */
  remove(login: number): void;
  /** What this password opens. */
  access(login: number, password: string): 'master' | 'investor' | 'none';
  /** The number of received commands, without authentication and keep-alive. */
  readonly commands: number;
  close(): Promise<void>;
}

/** A group of a simulated server. */
export interface SimulatedGroup {
  name: string;
  /** The shortest password that the group accepts. Absent: the platform's own rule. */
  minPasswordLength?: number;
  /** False: the manager has no permission for the group. */
  permitted?: boolean;
}

export function isBulkAccount(bulk: BulkAccounts | undefined, login: number): boolean {
  return bulk !== undefined && login >= bulk.from && login < bulk.from + bulk.count;
}
