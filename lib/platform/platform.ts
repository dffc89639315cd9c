import type { FieldFault } from '../validators/primitives.ts';

export type PasswordRole = 'master' | 'investor';

/** What a trading platform is asked to open. Passwords are always present: given ones, or ones of `passwords.ts`. */
export interface AccountOrder {
  /** Travels in the account's comment, so that a lost answer can be looked up. */
  operationId: string;
  group: string;
  /** 1 to 5000, as in 1:leverage. */
  leverage: number;
  /** A login of the caller's own; absent: the platform chooses. */
  login?: number;
  masterPassword: string;
  investorPassword: string;
  name: string;
  email: string;
  /** E.164, with the plus. */
  phone?: string;
  /** ISO 3166-1 alpha-2. */
  country?: string;
  /** True: trading is disabled on the account. */
  readonly: boolean;
  /** Units of the account's currency, on a demo account only. */
  deposit?: number;
}

/**
 * What a later look-up needs to know of an order whose answer was lost. A platform that cannot show the comment tells
 * our account from another's by the master password, where it is given.
 */
export type OrderTrace = Pick<AccountOrder, 'operationId' | 'group' | 'login'> &
  Partial<Pick<AccountOrder, 'masterPassword'>>;

/**
 * `absent` is what the platform says now; a call that is still under way may yet create the account, so the use case
 * believes it only once the call's settling time is over. `cannot_tell`: this protocol has no way to look it up.
 */
export type Finding = { kind: 'found'; login: number } | { kind: 'absent' } | { kind: 'cannot_tell' };

/**
 * A trading server of one connection. Every call ends when `signal` aborts, at the latest. Failures are thrown as
 * `PlatformFailure`; nothing is ever repeated that may have opened an account.
 */
export interface TradingPlatform {
  /** The fields of this order which the protocol cannot carry out; nothing has been sent. */
  unsupported(order: AccountOrder): FieldFault[];
  /**
   * Opens the account. `beforeSending` is awaited after everything that can fail safely (connecting, logging in,
   * checks) and right before the bytes leave that may open the account; when it throws, nothing is sent.
   */
  open(order: AccountOrder, beforeSending: () => Promise<void>, signal: AbortSignal): Promise<{ login: number }>;
  /** Looks up whether the account of an order exists. */
  find(trace: OrderTrace, signal: AbortSignal): Promise<Finding>;
  /**
   * Sees to it that the opened account holds `order.deposit`, once: where a balance can be read it is read first when
   * `certainlyEmpty` is false, and an account that is not empty is left alone. `beforeSending` is as in `open`, and may
   * be called again where a busy server is asked again. A no-operation where the deposit travels with the opening.
   * @throws PlatformFailure `account_outcome_unknown` when the deposit may yet arrive
   */
  fund(
    order: AccountOrder,
    login: number,
    certainlyEmpty: boolean,
    signal: AbortSignal,
    beforeSending?: () => Promise<void>,
  ): Promise<void>;
  /** Connects and logs in, without creating anything. */
  check(signal: AbortSignal): Promise<void>;
  /** Ends the session politely, where there is one. */
  close(): Promise<void>;
}

/** All but `account_outcome_unknown` say that certainly nothing was done. The words are those of the public error table. */
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
  /** A word of ours for the log, such as `retcode_8` or `connect_timeout`; never text of the platform or of a person. */
  reason: string;
  retryAfterSeconds?: number;
  errors?: FieldFault[];
  /** With `account_outcome_unknown`: true when the server itself ended the connection, false when it kept silent. */
  connectionClosed?: boolean;
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
