import {
  type AccountOrder,
  type Departure,
  type Finding,
  type OrderTrace,
  PlatformFailure,
  type TradingPlatform,
} from '../../lib/platform/platform.ts';

/** What a command that opens an account comes to. */
type Opening =
  | { kind: 'opens' }
  /** A failure before or after the bytes have left. */
  | { kind: 'fails'; sent: boolean; failure: PlatformFailure | Error }
  /** It is carried out, as far as it can be, and its answer never comes. */
  | { kind: 'reply_lost'; failure: PlatformFailure }
  /** The same, but that the server comes to it only when the test lets it. */
  | { kind: 'late'; failure: PlatformFailure };

/**
 * A platform that does what the test says, and remembers what it was asked. Like a real one it refuses a login that
 * exists.
 */
export class FakePlatform implements TradingPlatform {
  readonly accounts: { login: number; order: AccountOrder }[] = [];
  /** Logins of accounts that are nobody's of this service. */
  readonly strangers = new Set<number>();
  readonly calls: string[] = [];
  /** The orders of all commands that have left, as they left. */
  readonly sent: AccountOrder[] = [];
  /** The account of every call that was to pay a deposit. */
  readonly deposits: number[] = [];
  /** The accounts that got theirs, once for each time that they got it. */
  readonly paid: number[] = [];
  readonly traces: OrderTrace[] = [];
  /** What the next commands come to, one after the other; then `opening`. */
  openings: Opening[] = [];
  opening: Opening = { kind: 'opens' };
  faults: ReturnType<TradingPlatform['unsupported']> = [];
  loginIsKey = true;
  /** False: it does not show whose an account is. */
  tells = true;
  /** Before the call is noted as one that may have acted. */
  beforeMarking: () => Promise<void> = async () => {};
  /** Instead of looking whether the account is there. */
  finding: (() => Finding | Error) | undefined;
  /** What the next deposits come to instead, one after the other; `left` false: nothing was sent. */
  depositsFail: { failure: Error; left: boolean; arrives?: boolean }[] = [];
  readonly #late: AccountOrder[] = [];

  /** What the next session comes to. */
  sessions: ((signal: AbortSignal) => Promise<void>)[] = [];

  async ready(signal: AbortSignal) {
    await this.sessions.shift()?.(signal);
  }

  unsupported() {
    return this.faults;
  }

  async open(order: AccountOrder, departure: Departure): Promise<{ login: number }> {
    this.calls.push('open');
    const opening = this.openings.shift() ?? this.opening;
    if (opening.kind === 'fails' && !opening.sent) throw opening.failure;
    await this.beforeMarking();
    await departure.note();
    this.calls.push('sent');
    this.sent.push(order);
    if (opening.kind === 'fails') throw opening.failure;
    if (opening.kind === 'late') this.#late.push(order);
    const login = opening.kind === 'late' ? undefined : this.#create(order);
    if (opening.kind !== 'opens') throw opening.failure;
    if (login === undefined) throw new PlatformFailure('login_taken', { reason: 'retcode_3004' });
    return { login };
  }

  /** The server comes to what it was late with. */
  arrive(): void {
    for (const order of this.#late.splice(0)) this.#create(order);
  }

  /** @returns undefined when the login exists */
  #create(order: AccountOrder): number | undefined {
    const login = order.login ?? 5_001 + this.accounts.length;
    if (this.strangers.has(login) || this.accounts.some((account) => account.login === login)) return undefined;
    this.accounts.push({ login, order });
    return login;
  }

  async find(trace: OrderTrace): Promise<Finding> {
    this.calls.push('find');
    this.traces.push(trace);
    const finding = this.finding?.();
    if (finding instanceof Error) throw finding;
    if (finding !== undefined) return finding;
    const { login, operationId, reserved = false } = trace;
    const found = this.accounts.find((account) =>
      login === undefined ? account.order.operationId === operationId : account.login === login,
    );
    if (found === undefined && (login === undefined || !this.strangers.has(login))) return { kind: 'absent' };
    if (!this.tells && !reserved) return { kind: 'cannot_tell' };
    const isOurs = found?.order.operationId === operationId || !this.tells;
    return isOurs ? { kind: 'found', login: found?.login ?? login ?? 0 } : { kind: 'another' };
  }

  async fund(_order: Pick<AccountOrder, 'deposit'>, login: number, departure: Departure): Promise<void> {
    this.calls.push('fund');
    this.deposits.push(login);
    const fails = this.depositsFail.shift();
    if (fails?.left === false) throw fails.failure;
    await departure.note();
    if (fails === undefined || fails.arrives === true) this.paid.push(login);
    if (fails !== undefined) throw fails.failure;
  }

  async holdsFunds(login: number): Promise<boolean | undefined> {
    this.calls.push('balance');
    return this.paid.includes(login);
  }

  async check(): Promise<void> {}

  async rights() {
    return { openAccounts: 'granted', seePersonalData: 'granted', changeBalances: 'granted' } as const;
  }

  async closedGroups() {
    return { unknown: [], notShown: [] };
  }

  async inspectRange() {
    return { looked: 0, taken: 0 };
  }

  async close(): Promise<void> {}
}
