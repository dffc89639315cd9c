import { PlatformFailure } from '../platform/platform.ts';
import type { AccountRecord } from '../records/accounts.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Identity } from './derivation.ts';

/** The possible identity of an operation under one key of the secret, with the logins that it may ask for. */
interface LoginSequence {
  readonly identity: Identity;
  readonly logins: Iterator<number, unknown>;
  /** The logins that were free when they were read. */
  free: number[];
  /** The number of logins that were returned, or that other operations had reserved before the first free login. */
  tries: number;
  isRead: boolean;
}

/**
 * The number of logins of each sequence in the first call, one of which is nearly always free: in ranges of which less
 * than half is taken, and in fuller or unknown ones.
 */
const FIRST_LOGINS = { roomy: 5, crowded: 20 };
/** The maximum number of logins of one call: the maximum of `BatchGetItem`. */
const MAX_LOGINS = 100;
/**
 * The number of simultaneous calls after the first two. At 99 % used, 98 of 100 accounts need no more than these five.
 */
const AT_ONCE = 3;

/** The login to ask for next; or the record of the operation's account, if that exists. */
export interface NextLogin {
  login: number | undefined;
  record?: AccountRecord | undefined;
}

/** The reads of a search. */
interface SearchReads {
  /** The operations that hold these logins, by login. */
  holders(logins: readonly number[]): Promise<ReadonlyMap<number, string>>;
  /** The logins that an operation holds. */
  reserved(operationId: string): Promise<readonly number[]>;
  /** The record of the account of the request; all calls get the result of the first one. */
  recorded(): Promise<AccountRecord | undefined>;
}

/**
 * Finds the first free logins of an operation, and a login that it has reserved already. Such a login proves that a
 * command may have left. It may come after a free login: other operations may have released theirs since. Until it is
 * claimed, an operation has a possible identity for each key of the secret.
 * A login that another operation holds may be the login of our own account, whose key was forgotten and whose
 * reservation was lost. So the account's record is read before the search passes over such a login.
 */
export class LoginSearch {
  readonly #sequences: LoginSequence[];
  readonly #reads: SearchReads;
  readonly #mayRead: () => boolean;
  readonly #firstLogins: number;
  #calls = 0;
  #read = 0;
  #taken = 0;
  /** The login that the operation has reserved, and its identity. */
  found: { identity: Identity; login: number } | undefined;
  /** The record of the account, if the search has passed over a login. */
  record: AccountRecord | undefined;

  /**
   * @param sequences one for each key of the secret
   * @param mayRead whether there is time to read more
   * @param firstLogins of each sequence in the first call: `nextFirstLogins` of the search before
   */
  constructor(
    sequences: readonly Pick<LoginSequence, 'identity' | 'logins'>[],
    reads: SearchReads,
    mayRead: () => boolean,
    firstLogins = FIRST_LOGINS.crowded,
  ) {
    this.#sequences = sequences.map((one) => ({ ...one, free: [], tries: 0, isRead: false }));
    this.#reads = reads;
    this.#mayRead = mayRead;
    this.#firstLogins = firstLogins;
  }

  /** How many logins of each sequence the next search in the same ranges reads first. */
  get nextFirstLogins(): number {
    return 2 * this.#taken < this.#read ? FIRST_LOGINS.roomy : FIRST_LOGINS.crowded;
  }

  /** Reads until each possible identity has a free login, or until a reserved login is found. */
  async start(): Promise<this> {
    // The own reservation is read at the same time as the first logins.
    const known = this.#findReserved();
    // The promise is awaited below.
    known.catch(() => {});
    while (this.found === undefined && this.#wanting().length > 0 && this.#mayRead())
      await this.#readNext(this.#wanting());
    await known;
    const hasPassed = this.#sequences.some(({ tries }) => tries > 0);
    if (hasPassed && this.found === undefined) this.record = await this.#reads.recorded();
    return this;
  }

  async #findReserved(): Promise<void> {
    const find = async ({ identity }: LoginSequence) => {
      const [login] = await this.#reads.reserved(identity.operationId);
      if (login !== undefined) this.found ??= { identity, login };
    };
    await Promise.all(this.#sequences.map(find));
  }

  /**
   * The next free login of an operation, if there is one, and the number of logins that were tried. `isComplete`: all
   * logins of its ranges were read. `record`: its account exists, so that no further login may be asked for.
   */
  async next(operationId: string): Promise<NextLogin & { tries: number; isComplete: boolean }> {
    const sequence = this.#sequences.find(({ identity }) => identity.operationId === operationId);
    if (sequence === undefined) return { login: undefined, tries: 0, isComplete: true };
    while (sequence.free.length === 0 && !sequence.isRead && this.#mayRead()) await this.#readNext([sequence]);
    const { tries, isRead: isComplete } = sequence;
    const isFirst = tries === 0 && sequence.free.length > 0;
    const record = isFirst ? undefined : await this.#reads.recorded();
    const login = record === undefined ? sequence.free.shift() : undefined;
    if (login === undefined) return { login, record, tries, isComplete };
    sequence.tries += 1;
    return { login, tries: sequence.tries, isComplete };
  }

  #wanting(): LoginSequence[] {
    return this.#sequences.filter(({ free, isRead }) => free.length === 0 && !isRead);
  }

  /** Reads the next logins of some sequences. */
  async #readNext(sequences: readonly LoginSequence[]): Promise<void> {
    const calls = this.#calls < 2 ? 1 : AT_ONCE;
    const most = this.#calls === 0 ? this.#firstLogins : Math.floor((MAX_LOGINS * calls) / sequences.length);
    this.#calls += calls;
    const drawn = sequences.map((sequence) => ({ sequence, logins: draw(sequence, most) }));
    const drawnLogins = [...new Set(drawn.flatMap(({ logins }) => logins))];
    const batches = Array.from({ length: Math.ceil(drawnLogins.length / MAX_LOGINS) }, (_, index) =>
      this.#reads.holders(drawnLogins.slice(index * MAX_LOGINS, (index + 1) * MAX_LOGINS)),
    );
    const holders = new Map((await Promise.all(batches)).flatMap((one) => [...one]));
    this.#read += drawnLogins.length;
    this.#taken += holders.size;
    for (const { sequence, logins } of drawn) this.#sort(sequence, logins, holders);
  }

  #sort(sequence: LoginSequence, logins: readonly number[], holders: ReadonlyMap<number, string>): void {
    for (const login of logins) {
      const holder = holders.get(login);
      const { identity } = sequence;
      if (holder === identity.operationId) this.found ??= { identity, login };
      if (holder === undefined) sequence.free.push(login);
      else if (sequence.free.length === 0) sequence.tries += 1;
    }
    // The record is awaited where it is needed. Here its read goes out with the next batch.
    if (sequence.tries > 0 && this.found === undefined) this.#reads.recorded().catch(() => {});
  }
}

function draw(sequence: LoginSequence, most: number): number[] {
  const logins: number[] = [];
  while (logins.length < most) {
    const { value, done } = sequence.logins.next();
    if (done === true) {
      sequence.isRead = true;
      break;
    }
    logins.push(value);
  }
  return logins;
}

/** The number of tries from which on an event is logged. */
const MANY_TRIES = 3;

/** The logins that an operation may ask for, one after the other. @param givenLogin the caller's login */
export function loginChoice(
  searching: Promise<LoginSearch>,
  { operationId, givenLogin, telemetry }: { operationId: string; givenLogin: number | undefined; telemetry: Telemetry },
) {
  // Another operation's account at the caller's login leaves no other login to choose.
  let isNoneLeft = givenLogin !== undefined;
  return {
    /**
     * The next login. Without one, none is left, or the time is up. Rejects if the reservations or the record cannot be
     * read.
     */
    async next(): Promise<NextLogin> {
      const { login, record, tries, isComplete } = await (await searching).next(operationId);
      if (tries >= MANY_TRIES) telemetry.event('LoginsScarce', { login_tries: tries });
      if (login === undefined) isNoneLeft = isComplete;
      return { login, record };
    },
    /** The reason for which the operation gets no other login. With more time a retry may find a free one. */
    failure(): PlatformFailure {
      if (!isNoneLeft) return new PlatformFailure('platform_unavailable', { reason: 'no_time_for_next_login' });
      if (givenLogin !== undefined) return new PlatformFailure('login_taken', { reason: 'login_exists' });
      return new PlatformFailure('login_range_exhausted', { reason: 'logins_taken' });
    },
  };
}
