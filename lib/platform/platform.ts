import type { Violation } from '../validators/primitives.ts';

export type PasswordRole = 'master' | 'investor';

/** An order to open an account. Passwords are always present: given ones, or generated ones of `passwords.ts`. */
export interface AccountOrder {
  /** Written into the account's comment, for people. */
  operationId: string;
  group: string;
  /** 1 to 5000, as in 1:leverage. */
  leverage: number;
  /** Absent if the protocol cannot name one. */
  login?: number | undefined;
  /** The caller chose the login. */
  loginGiven?: boolean;
  masterPassword: string;
  investorPassword: string;
  name: string;
  email: string;
  /** E.164, with the plus. */
  phone?: string;
  /** ISO 3166-1 alpha-2. */
  country?: string;
  /** Trading is disabled on the account. */
  readonly: boolean;
  /** Units of the account's currency, on a demo account only. */
  deposit?: number;
}

/** The data that the second lock compares with the account at a login. */
export interface Mark {
  operationId: string;
  login: number;
  /** The password that the operation gives the account, if this worker knows it. */
  masterPassword?: string | undefined;
  /** The caller chose the password: another account may have the same one, so it proves nothing. */
  masterGiven?: boolean | undefined;
}

/**
 * The result of a look-up at a login. `ours`: the operation's id, or its generated password is accepted. `foreign`:
 * another operation's id, or the password is refused. `unmarked`: an account without either. `silent`: the platform has
 * no command for it.
 */
export type Sighting = 'ours' | 'foreign' | 'unmarked' | 'absent' | 'silent';

/** A server that opens accounts. Every call ends when `signal` aborts, at the latest, and throws `PlatformFailure`. */
export interface TradingPlatform {
  /** Commands name the login, and the server refuses one that exists: the same command may be repeated. */
  readonly keyed: boolean;
  /** The deposit is part of the command that opens the account. */
  readonly fundsWithOpening: boolean;
  /** Connects and logs in, if the protocol keeps its connection for the next command; creates nothing. */
  ready(signal: AbortSignal): Promise<void>;
  /** The fields of this order that the protocol cannot carry out; nothing is sent. */
  unsupported(order: AccountOrder): Violation[];
  /**
   * Sends the command once.
   * @param sendDeadline epoch milliseconds; compared with the wall clock right before the bytes are sent
   * @throws PlatformFailure about this command alone. `account_outcome_unknown`: it may have been executed.
   * `login_taken`: the login exists. All others: it was certainly not executed
   */
  open(order: AccountOrder, sendDeadline: number, signal: AbortSignal): Promise<{ login: number }>;
  /** Looks up the account at a login. @throws PlatformFailure if the server does not answer */
  look(mark: Mark, signal: AbortSignal): Promise<Sighting>;
  /**
   * Pays into the account, once; repeated only if the server certainly did nothing.
   * @throws PlatformFailure `account_outcome_unknown` if the money may still arrive
   */
  fund(login: number, amount: number, sendDeadline: number, signal: AbortSignal): Promise<void>;
  /** Whether the account holds money. @throws PlatformFailure */
  holdsFunds(login: number, signal: AbortSignal): Promise<boolean>;
  /** Logs out, if there is a session. */
  close(): Promise<void>;
}

/** `unknown`: the server cannot be asked without changing anything. */
export type Permission = 'granted' | 'denied' | 'unknown';

/** The rights of the manager's login on the server. */
export interface Rights {
  openAccounts: Permission;
  /** Of accounts, their comments among it. */
  seePersonalData: Permission;
  changeBalances: Permission;
}

export interface ClosedGroups {
  /** The server does not have them. */
  unknown: string[];
  /** The server does not show them: accounts may or may not be opened there. */
  notShown: string[];
}

/** Queries of operators, which change nothing on the server. Every call throws `PlatformFailure`. */
export interface PlatformInspector {
  /** Connects and logs in. */
  check(signal: AbortSignal): Promise<void>;
  rights(signal: AbortSignal): Promise<Rights>;
  /** The connection's groups that cannot be used. */
  closedGroups(signal: AbortSignal): Promise<ClosedGroups>;
  /** Whether a login exists; undefined if the server has no such command. */
  exists(login: number, signal: AbortSignal): Promise<boolean | undefined>;
  /** All logins of the server that the manager may see; undefined if the protocol has no command for them. */
  logins(signal: AbortSignal): Promise<number[] | undefined>;
  close(): Promise<void>;
}

/**
 * With every kind except `account_outcome_unknown`, certainly nothing was done. The names are those of the public error
 * table.
 */
export type PlatformFailureKind =
  | 'group_not_found'
  | 'password_rejected'
  | 'login_taken'
  | 'validation_failed'
  | 'platform_refused'
  | 'platform_unavailable'
  | 'login_range_exhausted'
  | 'account_limit_reached'
  | 'account_outcome_unknown';

export interface PlatformFailureOptions {
  /** A code for the log, such as `retcode_8` or `connect_timeout`; never text of the platform or of a person. */
  reason: string;
  retryAfterSeconds?: number;
  errors?: Violation[];
  cause?: unknown;
}

export class PlatformFailure extends Error {
  override readonly name = 'PlatformFailure';
  readonly kind: PlatformFailureKind;
  readonly options: PlatformFailureOptions;

  constructor(kind: PlatformFailureKind, options: PlatformFailureOptions) {
    super(`${kind}: ${options.reason}`, { cause: options.cause });
    this.kind = kind;
    this.options = options;
  }

  get reason(): string {
    return this.options.reason;
  }
}

/**
 * The last check before a write that may open an account or pay; called in the same turn as the write, because the
 * timers of a paused process do not notice the pause.
 * @throws PlatformFailure `platform_unavailable` if it is too late to send, or the time of the call is up
 */
export function assertMaySend(sendDeadline: number, signal: AbortSignal, now: () => number): void {
  const reason = signal.aborted ? 'aborted_before_sending' : now() > sendDeadline ? 'too_late_to_send' : undefined;
  if (reason !== undefined) throw new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 5 });
}
