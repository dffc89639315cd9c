import { setTimeout as sleep } from 'node:timers/promises';
import { awaitAll, within } from '../deadline.ts';
import type { AccountRecord } from '../records/accounts.ts';
import { OPERATOR_ONLY, RETRY_ONLY } from '../records/due.ts';
import { bestEffort, describeError } from '../telemetry.ts';
import { EFFECTS, type Effects } from './effects.ts';
import type { Job } from './job.ts';
import { type HeldOperation, Overtaken, ReservationConflict } from './ledger.ts';
import { type DecisionContext, type Fact, findTransition, type Life, type LifeAt, type Step } from './life.ts';
import { accountRecord } from './order.ts';

/** How a drive ended. `opening.ts` maps it to the public answer. */
export type DriveEnd =
  /** `replayed`: an earlier drive had opened the account. */
  | { kind: 'opened'; login: number; replayed: boolean }
  /**
   * The caller is answered with this failure. `absent`: no account of the operation was found, or none can be there.
   * `doubtful`: a command of the operation may have been executed.
   */
  | { kind: 'failed'; failure: unknown; absent: boolean; doubtful?: boolean }
  /** A retry may find the outcome. */
  | { kind: 'unknown' }
  /** Only an operator can find the outcome. `first`: this drive reached this end. */
  | { kind: 'undecided'; keyed: boolean; first: boolean }
  /** Another worker has acquired the operation. */
  | { kind: 'overtaken' };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/**
 * The time without progress after which the settler reports an operation to the operators, or they may free its login.
 */
export const DAY_MS = 24 * HOUR_MS;
/** The pause between two commands or look-ups of one drive. */
const PAUSE_MS = 1_000;
/** The longest time for the write that ends a drive, even if the request's time is up. */
const LAST_WRITE_MS = 2_000;
/** The longest time for a command that names its login, or for a look-up, together with the write that follows. */
const STEP_MS = 9_000;
/** The time for the last calls of a drive, after the last call to the platform. */
const LAST_STEP_MS = 3_000;

/** Drives an operation as far as possible now, then releases it. @param first the first fact */
export function driveOperation(
  job: Job,
  first: Fact = { on: 'resume' },
  effects: Effects = EFFECTS,
): Promise<DriveEnd> {
  return new Loop(job, effects).run(first);
}

class Loop {
  readonly #job: Job;
  readonly #held: HeldOperation;
  readonly #effects: Effects;
  readonly #startedAt: Life['at'];
  #failure: unknown;
  #isAnswered = false;
  /** The last command was refused, for its content or for the state of the server. */
  #isRefused = false;
  #hasWritten = false;
  #repeats = 0;
  #notice: Promise<void> = Promise.resolve();

  constructor(job: Job, effects: Effects) {
    this.#job = job;
    this.#held = job.held;
    this.#effects = effects;
    this.#startedAt = job.held.life.at;
  }

  async run(first: Fact): Promise<DriveEnd> {
    let fact: Fact = first;
    for (;;) {
      if (fact.failure !== undefined) this.#failure = fact.failure;
      if (fact.on === 'opened') this.#isAnswered = true;
      if (fact.on === 'rejected' || fact.on === 'doubtful') this.#isRefused = true;
      const { life } = this.#held;
      const next = await this.#nextLogin(fact);
      if (typeof next === 'object') {
        fact = next;
        continue;
      }
      const decision = findTransition(life, fact, this.#context(next));
      const { step } = decision;
      const to = decision.to ?? (this.#needsWrite(step) ? life : undefined);
      if (to !== undefined) {
        this.#report(to, fact);
        const outcome = await this.#write(to, step);
        if (outcome === 'reserved') {
          fact = { on: 'reserved' };
          continue;
        }
        if (outcome !== 'written') return outcome;
      }
      if (step === 'stop') {
        if (to === undefined) await this.#leaveToOperators();
        return this.#end();
      }
      if (step === 'rest' || (!isLook(step) && !this.#hasTime(step))) return this.#rest(fact);
      fact = await this.#do(step);
    }
  }

  /**
   * The login to ask for in place of another operation's login, or the fact that the record of the operation's account
   * shows.
   */
  async #nextLogin({ on }: Fact): Promise<number | Fact | undefined> {
    // A login that is not sent at once is not reserved: an account at it would later count as ours.
    const isWanted = (on === 'reserved' || on === 'foreign') && this.#hasTime('send');
    return isWanted ? this.#effects.next(this.#job) : undefined;
  }

  #context(next: number | undefined): DecisionContext {
    const { plan } = this.#held;
    const at = this.#now();
    return {
      worker: this.#job.worker,
      keyed: plan?.keyed ?? true,
      exclusive: plan?.exclusive ?? false,
      loginGiven: plan?.login_given ?? false,
      next: () => next,
      deposit: plan?.deposit === undefined || plan.deposit_with_opening ? 'none' : 'due',
      now: at,
      old: this.#ageMs(at) > DAY_MS,
    };
  }

  #now(): number {
    return this.#job.dependencies.now();
  }

  /**
   * The age of the operation, in milliseconds: since its last command, or, if its account is open, since the opening.
   */
  #ageMs(at: number): number {
    const { life, sentAt = at } = this.#held;
    return at - (life.at === 'open' ? Date.parse(life.opened_at) : sentAt);
  }

  /**
   * Whether a step needs a write although the state stays. Each worker writes before its first command: if the worker
   * dies, the operation is due, again for a day. And the lease must reach to the end of the step.
   */
  #needsWrite(step: Step): boolean {
    if (step === 'send' && !this.#hasWritten) return true;
    if (step === 'prepare' || step === 'rest' || step === 'stop' || !this.#hasTime(step)) return false;
    return this.#held.leaseUntil < this.#endOf(step);
  }

  /** The latest end of a step, in epoch milliseconds. A lost write then keeps a retry waiting no longer than that. */
  #endOf(step: Step): number {
    const last = this.#job.times.platformEndsAt + LAST_STEP_MS;
    const isShort = isLook(step) || step === 'pause' || (step === 'send' && this.#held.plan?.keyed === true);
    return isShort ? Math.min(this.#now() + STEP_MS, last) : last;
  }

  async #do(step: Exclude<Step, 'rest' | 'stop'>): Promise<Fact> {
    const { life } = this.#held;
    if (step === 'resume') return { on: 'resume' };
    // The first repeat is sent at once. Later ones wait, so a server with malformed answers is not overloaded.
    const isRepeat = step === 'send' && life.at === 'sent' && life.commands !== 'one';
    if (isRepeat) this.#repeats += 1;
    if (step === 'pause' || (isRepeat && this.#repeats > 1)) await (this.#job.wait ?? sleep)(PAUSE_MS);
    if (isLook(step) && !this.#hasTime(step)) return { on: step === 'look' ? 'unclear' : 'unconfirmed' };
    return this.#effects[step](this.#job);
  }

  async #write(to: Life, step: Step): Promise<DriveEnd | 'reserved' | 'written'> {
    const { worker, times, dependencies } = this.#job;
    const held = this.#held;
    const isBeforeCommand = to.at === 'sent' && to.commands === 'one';
    const isOpening = to.at === 'open' && held.life.at !== 'open';
    // An operator who is overtaken has recorded nothing.
    const isReserved = isOpening && worker !== 'operator' && 'login' in held.life && held.life.login === to.login;
    const isFound = held.found !== undefined || (held.life.at === 'sent' && held.life.commands === 'found');
    if (to.at === 'sent' && worker === 'request') {
      held.since ??= this.#now();
      held.sentAt = this.#now();
    }
    held.leaseUntil = this.#endOf(step);
    try {
      if (isOpening) {
        await this.#writeOpen(to, isReserved);
        // The client of a found account got its notices from the first request.
        if (!isFound || this.#isAnswered) this.#notice = this.#effects.notify(this.#job, to.login);
      } else {
        await dependencies.ledger.write(held, to, isBeforeCommand ? times.signal : within(LAST_WRITE_MS));
      }
      this.#hasWritten = true;
      return 'written';
    } catch (error) {
      // The login to give up can belong to a later life of the operation only after a table was restored. The settler
      // checks it later.
      if (error instanceof ReservationConflict && to.at !== 'gone') {
        return 'reserved';
      }
      // The account belongs to the operation, even if another worker holds it now.
      if (isOpening && worker !== 'operator' && !isReserved && !to.recorded) await this.#effects.record(this.#job, to);
      return this.#unwritten(to, error, isBeforeCommand);
    }
  }

  /**
   * Writes that the account is open. If its login is reserved, record and event go out at the same time. A login that the
   * server has chosen, or that an operator has found, is reserved by this write, which may find it reserved: its record is
   * in the same transaction, and its event follows. The stored state says that both are missing: if this worker dies, the
   * settler writes them again.
   */
  async #writeOpen(to: LifeAt<'open'>, isReserved: boolean): Promise<void> {
    const held = this.#held;
    const { ledger } = this.#job.dependencies;
    const write = (record?: AccountRecord) => ledger.write(held, to, within(LAST_WRITE_MS), record);
    if (isReserved) {
      const [, done] = await awaitAll([write(), this.#effects.record(this.#job, to)]);
      held.life = { ...to, ...done };
      return;
    }
    if (to.recorded) return write();
    try {
      await write(accountRecord(held.plan, to));
      held.life = { ...to, recorded: true };
    } catch (error) {
      if (error instanceof ReservationConflict || error instanceof Overtaken) throw error;
      // The table of records may be unreachable while the ledger is not.
      await write();
    }
  }

  /** The end of a drive whose state could not be written. A retry or the settler completes the rest. */
  async #unwritten(to: Life, error: unknown, isBeforeCommand: boolean): Promise<DriveEnd> {
    const { dependencies, telemetry } = this.#job;
    telemetry.event('OperationNotSettled', { step: to.at, ...describeError(error) });
    if (to.at === 'open' || to.at === 'done') return this.#opened(to.login);
    if (error instanceof Overtaken) return { kind: 'overtaken' };
    if (to.at === 'gone') return this.#failed(true);
    if (!isBeforeCommand) return { kind: 'unknown' };
    // Nothing was sent, but the new state may be written.
    this.#held.life = to;
    await bestEffort(telemetry, 'release', (signal) => dependencies.ledger.write(this.#held, { at: 'gone' }, signal));
    return { kind: 'failed', failure: error, absent: true };
  }

  /** Logs the facts that operators need. */
  #report(to: Life, fact: Fact): void {
    const { telemetry, order } = this.#job;
    const { life, plan } = this.#held;
    const { reason } = describeError(fact.failure);
    if (to.at === 'open' && life.at !== 'open') telemetry.event('AccountOpened', { login: to.login });
    if (to.at === 'undecided') telemetry.event('AccountOutcomeUnknown', { reason: fact.on });
    const isFailed = (to.at === 'open' && to.deposit === 'failed') || (to.at === 'done' && to.unpaid);
    if (isFailed && life.at === 'open')
      telemetry.event('DepositFailed', { login: life.login, reason: reason ?? 'empty' });
    // A caller's own login may be outside of our range.
    const isIntruder = fact.on === 'foreign' || (fact.on === 'unproven' && to.at === 'undecided');
    if (isIntruder && life.at === 'sent' && life.login !== undefined && plan?.login_given !== true)
      telemetry.event('LoginNotOurs', { login: life.login });
    const isTaken = to.at === 'gone' && (fact.on === 'foreign' || fact.on === 'reserved');
    // The settler has no caller to answer, and cannot choose logins.
    if (isTaken && order !== undefined) this.#failure = order.logins.failure();
  }

  #hasTime(step: Step): boolean {
    if (step !== 'send' && step !== 'pause' && !isLook(step)) return true;
    // The first command checks its own deadline.
    if (step === 'send' && this.#startedAt === 'claimed' && this.#failure === undefined) return true;
    return this.#now() + PAUSE_MS < this.#job.times.platformEndsAt;
  }

  /** Releases an operation that only an operator can end, so that retries do not keep its lease from operators. */
  async #leaveToOperators(): Promise<void> {
    const { life } = this.#held;
    if (life.at !== 'undecided' && !(life.at === 'done' && life.unpaid)) return;
    await this.#release(OPERATOR_ONLY);
  }

  /** Releases the operation until a retry or the settler acquires it. */
  async #rest(fact: Fact): Promise<DriveEnd> {
    const { worker, telemetry } = this.#job;
    const at = this.#now();
    const { life, since = at } = this.#held;
    const age = this.#ageMs(at);
    const backoff = worker === 'settler' ? Math.min(HOUR_MS, Math.max(MINUTE_MS, age)) : MINUTE_MS;
    let until = at + backoff;
    // A login that is still free after a day waits for a retry.
    if (life.at === 'sent' && age > DAY_MS && fact.on === 'absent') until = RETRY_ONLY;
    // A server that does not answer is reported and asked again, however often callers use it in between.
    else if (life.at === 'sent' && at - since > DAY_MS) {
      telemetry.event('AccountOutcomeUnknown', { reason: fact.on });
    }
    await this.#release(until);
    if (this.#isRefused && (fact.on === 'refused' || fact.on === 'unconfirmed'))
      return { ...this.#failed(fact.on === 'refused'), doubtful: life.at === 'sent' && life.commands === 'many' };
    return this.#end();
  }

  /** @param until when the settler acts next, in epoch milliseconds, `OPERATOR_ONLY` or `RETRY_ONLY` */
  async #release(until: number): Promise<void> {
    const { dependencies, telemetry } = this.#job;
    await bestEffort(telemetry, 'rest', (signal) => dependencies.ledger.rest(this.#held, until, signal));
  }

  #failed(absent: boolean): DriveEnd & { kind: 'failed' } {
    return { kind: 'failed', failure: this.#failure, absent };
  }

  async #end(): Promise<DriveEnd> {
    await this.#notice;
    const { life, plan } = this.#held;
    if (life.at === 'open' || life.at === 'done') return this.#opened(life.login);
    if (life.at === 'sent') return { kind: 'unknown' };
    if (life.at !== 'undecided') return this.#failed(true);
    return { kind: 'undecided', keyed: plan?.keyed ?? true, first: this.#startedAt !== 'undecided' };
  }

  #opened(login: number): DriveEnd {
    const isEarlier = this.#startedAt !== 'claimed' || this.#held.found !== undefined;
    return { kind: 'opened', login, replayed: isEarlier && !this.#isAnswered };
  }
}

function isLook(step: Step): step is 'look' | 'prove' | 'confirm' {
  return step === 'look' || step === 'prove' || step === 'confirm';
}
