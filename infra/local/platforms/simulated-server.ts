import type { Faults } from '../faults.ts';

/** How late a slow or late server is, where its fault does not say, in milliseconds. */
export const ACTING_LATE_MS = 1_000;

/** The return code of the fault `retcode` that no list has: the command is carried out all the same. */
export const UNHEARD_OF_CODE = 9_999;

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

/** Accounts of other people, with the logins from this one on. */
export interface Crowd {
  group: string;
  from: number;
  count: number;
}

/** A simulated trading server that listens on 127.0.0.1 and speaks its real protocol. */
export interface SimulatedServer {
  readonly port: number;
  /** `web-api` only: the PEM of the certificate that the server shows. */
  readonly ca?: string;
  /** What goes wrong with the next commands; authentication and keep-alive do not count as commands, but may be a step. */
  readonly faults: Faults;
  accounts(): SimulatedAccount[];
  /** From now on these accounts stand there too; they cost no memory, so a group can be as large as wanted, and are not listed. */
  populate(crowd: Crowd): void;
  /** What this password opens. */
  access(login: number, password: string): 'master' | 'investor' | 'none';
  /** How many commands (beside authentication and keep-alive) were received. */
  readonly commands: number;
  close(): Promise<void>;
}

/** A group of a simulated server. */
export interface SimulatedGroup {
  name: string;
  /** The shortest password that the group accepts; the platform's own rule where absent. */
  minPasswordLength?: number;
  /** False: the manager has no permission for the group. */
  permitted?: boolean;
}

export function isOfCrowd(crowd: Crowd | undefined, login: number): boolean {
  return crowd !== undefined && login >= crowd.from && login < crowd.from + crowd.count;
}
