import type { LoginRange } from '../records/crm-records.ts';
import type { Violation } from '../validators/primitives.ts';

export type PasswordRole = 'master' | 'investor';

/** What a trading platform is asked to open. Passwords are always present: given ones, or ones of `passwords.ts`. */
export interface AccountOrder {
  /** Travels in the account's comment, so that a lost answer can be looked up. */
  operationId: string;
  group: string;
  /** 1 to 5000, as in 1:leverage. */
  leverage: number;
  /** The login that the account shall have: the caller's own, or one of the connection's range. Absent: the platform chooses. */
  login?: number;
  /**
   * True: the login is of the connection's range, and our own table has reserved it for this operation before it was
   * sent, so an account that has it is ours.
   */
  reserved?: boolean;
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
export type OrderTrace = Pick<AccountOrder, 'operationId' | 'group' | 'login' | 'reserved'> &
  Partial<Pick<AccountOrder, 'name' | 'masterPassword'>>;

export type Finding =
  /** It is ours. */
  | { kind: 'found'; login: number }
  /** The order's login is somebody else's. */
  | { kind: 'another' }
  /** What the platform says now: a command that is still under way may yet create the account. */
  | { kind: 'absent' }
  /** This platform has no way to tell, now or later. */
  | { kind: 'cannot_tell' };

/** What is done and kept right before the bytes leave that may open an account or pay. */
export interface Departure {
  /** Awaited after everything that can fail safely (connecting, logging in, checks); when it throws, nothing is sent. */
  note(): Promise<void>;
  /**
   * Epoch milliseconds. Compared with the wall clock right before every write, in the same turn: the timers of a paused
   * process do not notice the pause. Later than this nothing is sent.
   */
  notAfter: number;
}

export interface RangeInspection {
  /** How many logins were asked for; 0 where the server cannot say whether a login exists. */
  looked: number;
  /** How many of these exist. */
  taken: number;
}

/** `unsaid`: it cannot be asked without changing anything. */
export type Permission = 'granted' | 'denied' | 'unsaid';

/** What the login may do by which the server knows us. */
export interface Rights {
  openAccounts: Permission;
  /** Of accounts, their comments among it. */
  seePersonalData: Permission;
  changeBalances: Permission;
}

export interface ClosedGroups {
  /** The server does not have them. */
  unknown: string[];
  /** The server does not show them to us: it may or may not let us open accounts there. */
  notShown: string[];
}

/**
 * A trading server of one connection. Every call ends when `signal` aborts, at the latest. Failures are thrown as
 * `PlatformFailure`; no call sends again by itself what may have opened an account.
 */
export interface TradingPlatform {
  /** True: the server refuses a login that exists, so an order with a login may be sent again as often as needed. */
  readonly loginIsKey: boolean;
  /** Connects and logs in, where the protocol keeps its connection for the next command; creates nothing. @throws PlatformFailure */
  ready(signal: AbortSignal): Promise<void>;
  /** The fields of this order which the protocol cannot carry out; nothing has been sent. */
  unsupported(order: AccountOrder): Violation[];
  /**
   * Opens the account.
   * @throws PlatformFailure, which speaks of this command alone: what an earlier one of the same order did, `find` tells.
   * `login_taken`: the order's login exists, and nothing shows that this very command has made the account, by a repeat
   * on the way, say
   */
  open(order: AccountOrder, departure: Departure, signal: AbortSignal): Promise<{ login: number }>;
  /** Looks up whether the account of an order exists: by its login alone where it has one, else in its group. */
  find(trace: OrderTrace, signal: AbortSignal): Promise<Finding>;
  /**
   * Sends the command that pays `order.deposit`, under one note. It is sent again, a few times under the same note, only
   * where the server certainly did nothing. A no-operation where the deposit travels with the opening.
   * @throws PlatformFailure `account_outcome_unknown` when the deposit may yet arrive
   */
  fund(order: Pick<AccountOrder, 'deposit'>, login: number, departure: Departure, signal: AbortSignal): Promise<void>;
  /** Whether the account holds money; undefined where the protocol cannot say. */
  holdsFunds(login: number, signal: AbortSignal): Promise<boolean | undefined>;
  /** Connects and logs in, without creating anything. */
  check(signal: AbortSignal): Promise<void>;
  /** What we may do there, as far as the server says it of itself: nothing is tried out. */
  rights(signal: AbortSignal): Promise<Rights>;
  /** Which of the connection's groups are of no use to us, as far as the server tells of groups. */
  closedGroups(signal: AbortSignal): Promise<ClosedGroups>;
  /** Asks for some logins of the range, its ends among them, whether they are taken; creates nothing. */
  inspectRange(range: LoginRange, signal: AbortSignal): Promise<RangeInspection>;
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
 * The last check before a write that may open an account or pay; to be called in the same turn as the write.
 * @throws PlatformFailure `platform_unavailable` when it is too late to send, or the time of the call is up
 */
export function mayStillLeave({ notAfter }: Pick<Departure, 'notAfter'>, signal: AbortSignal, now: () => number): void {
  const reason = signal.aborted ? 'aborted_before_sending' : now() > notAfter ? 'too_late_to_send' : undefined;
  if (reason !== undefined) throw new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 5 });
}
