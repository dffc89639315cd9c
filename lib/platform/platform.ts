import type { Connection } from '../records/crm-records.ts';
import { countryName } from '../validators/countries.ts';
import type { Violation } from '../validators/primitives.ts';

/** An order to open an account. Passwords are always present: given ones, or generated ones of `derivation.ts`. */
export interface AccountOrder {
  /** Also the account's comment, by which the service recognizes it. */
  operationId: string;
  group: string;
  /** 1 to 5000, as in 1:leverage. */
  leverage: number;
  /** The login to open. Absent: none is chosen yet, or the protocol cannot name one. */
  login?: number | undefined;
  /** The caller chose the login. */
  loginGiven?: boolean;
  masterPassword: string;
  investorPassword: string;
  name: string;
  email: string;
  /** E.164, with the plus. */
  phone?: string | undefined;
  /** ISO 3166-1 alpha-2. */
  country?: string | undefined;
  /** Trading is disabled on the account. */
  readonly: boolean;
  /** Units of the account's currency, on a demo account only. */
  deposit?: number | undefined;
}

/** Whose the account at a login is. */
export interface Sighting {
  /**
   * `ours`: its comment begins with the operation's id. `foreign`: it begins with the id of another operation.
   * `unmarked`: any other account. `silent`: the server has no command for a look-up.
   */
  is: 'ours' | 'foreign' | 'unmarked' | 'absent' | 'silent';
  /** The other operation. */
  owner?: string;
}

/** The characters of an operation's id: a UUID of version 8 (RFC 9562), which no other program makes. */
const ID_LENGTH = 36;
const OPERATION_ID = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/;

/** Whose an account with this comment is. Only its first characters count: people and servers add to comments. */
export function compareComment(comment: string, operationId: string): Sighting {
  const id = comment.slice(0, ID_LENGTH).toLowerCase();
  if (id === operationId) return { is: 'ours' };
  return OPERATION_ID.test(id) ? { is: 'foreign', owner: id } : { is: 'unmarked' };
}

/**
 * Reads the secret of a server again, past every cache: after a refused login it may have been changed.
 * @returns undefined if it cannot be read; @throws PlatformFailure `platform_refused` if it is unusable
 */
export type ReadSecretAgain<S> = (signal: AbortSignal) => Promise<S | undefined>;

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
   * Sends the command. A server that refuses its form, or the session, gets it once more, with the same login.
   * @param sendDeadline epoch milliseconds; compared with the wall clock right before the bytes are sent
   * @throws PlatformFailure about this command alone; its `proof` says whether the command may have been executed.
   * `login_taken`: the login exists
   */
  open(order: AccountOrder, sendDeadline: number, signal: AbortSignal): Promise<{ login: number }>;
  /** Looks up the account at a login. @throws PlatformFailure if the server does not answer */
  look(login: number, operationId: string, signal: AbortSignal): Promise<Sighting>;
  /**
   * Sends the payment once.
   * @throws PlatformFailure; with the proof `nothing` the money may have arrived, or may still arrive
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
export interface ServerRights {
  openAccounts: Permission;
  /** The right to see personal data of accounts, which includes their comments. */
  seePersonalData: Permission;
  changeBalances: Permission;
}

export interface ClosedGroups {
  /** Groups that the server does not have. */
  unknown: string[];
  /** Groups that the server does not show: accounts may or may not be opened there. */
  notShown: string[];
}

/** Queries of operators, which change nothing on the server. Every call throws `PlatformFailure`. */
export interface PlatformInspector {
  /** Connects and logs in. */
  check(signal: AbortSignal): Promise<void>;
  rights(signal: AbortSignal): Promise<ServerRights>;
  /** The connection's groups that cannot be used. */
  closedGroups(signal: AbortSignal): Promise<ClosedGroups>;
  /** Whether a connection with the protocol of the plug-in leads to a gateway, which answers look-ups. */
  isGateway(signal: AbortSignal): Promise<boolean>;
  /** All logins of the server that the manager may see; undefined if the protocol has no command for them. */
  logins(signal: AbortSignal): Promise<number[] | undefined>;
  close(): Promise<void>;
}

/** The error that the caller gets, by the names of the public error table. `proof` says what is known. */
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

/**
 * What a failure proves about a command that opens an account or pays. `unsent`: the command did not leave, or the server
 * did not take it. `not_served`: the server refused us, or was too busy to let us log in. `content`: it refused what the
 * command says. `nothing`: the command may have been executed, or still be. Codes about a server's state prove nothing:
 * servers answer executed commands with them.
 */
export type Proof = 'unsent' | 'not_served' | 'content' | 'nothing';

export interface PlatformFailureOptions {
  /** A code for the log, such as `retcode_8` or `connect_timeout`; never text of the platform or of a person. */
  reason: string;
  /** Absent: `nothing`. */
  proof?: Proof;
  retryAfterSeconds?: number | undefined;
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

  get proof(): Proof {
    return this.options.proof ?? 'nothing';
  }
}

/** Turns the error of a step before the command, such as a login to the server, into a failure of the command. */
export function unsentFailure(error: unknown): unknown {
  if (!(error instanceof PlatformFailure)) return error;
  const proof = error.kind === 'platform_refused' ? 'not_served' : 'unsent';
  return new PlatformFailure(error.kind, { ...error.options, proof });
}

/**
 * Turns the failure of a repeated command into one that proves no more than the refusal before it, which was about the
 * content: the login is looked up before its key is free. Other outcomes stay as they are.
 */
export function afterContentRefusal<T>(outcome: T): T | PlatformFailure {
  if (!(outcome instanceof PlatformFailure) || outcome.proof === 'nothing') return outcome;
  return new PlatformFailure(outcome.kind, { ...outcome.options, proof: 'content' });
}

/**
 * The last check before a write that may open an account or pay; called in the same turn as the write, because the
 * timers of a paused process do not notice the pause.
 * @throws PlatformFailure `platform_unavailable` if it is too late to send, or the time of the call is up
 */
export function assertMaySend(sendDeadline: number, signal: AbortSignal, now: () => number): void {
  const reason = signal.aborted ? 'aborted_before_sending' : now() > sendDeadline ? 'too_late_to_send' : undefined;
  if (reason === undefined) return;
  throw new PlatformFailure('platform_unavailable', { reason, proof: 'unsent', retryAfterSeconds: 5 });
}

/** Names that trading servers know otherwise. */
const OTHER_NAMES: Readonly<Record<string, string>> = { MO: 'Macau', TR: 'Turkey' };

/** A country as the server knows countries: its English name, unless the connection says that it wants codes. */
export function countryText(code: string, { country_format = 'name' }: Pick<Connection, 'country_format'>): string {
  if (country_format === 'code' || !/^[A-Z]{2}$/.test(code)) return code;
  return OTHER_NAMES[code] ?? countryName(code) ?? code;
}
