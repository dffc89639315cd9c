import { setTimeout as sleep } from 'node:timers/promises';
import { awaitAll, within } from '../deadline.ts';
import type { PlatformFailure } from '../platform/platform.ts';
import { OPERATOR_ONLY } from '../records/due.ts';
import { bestEffort, describeError, type Telemetry } from '../telemetry.ts';
import { type Held, type Ledger, LoginReserved, Overtaken, type Plan } from './ledger.ts';
import { type Context, decide, type Fact, type Life, type Step } from './life.ts';

/** A fact, with the error that caused it. */
export type Learned = Fact & { failure?: unknown };
export type OpenLife = Life & { at: 'open' };

/** The effects of the loop outside the ledger; tests pass fakes. Only `prepare` throws. */
export interface Effects {
  /** Judges the order; @returns its plan, and the login to ask for. @throws Error if certainly nothing was sent */
  prepare(): Promise<{ plan: Plan; login?: number | undefined }>;
  /** The login to choose after this one; undefined if there is none, or if the caller has chosen. */
  nextLogin(login: number): number | undefined;
  /** Why no login is left to ask for. */
  noLoginFailure(): PlatformFailure;
  /** Sends the command, once. */
  send(login: number | undefined): Promise<Learned>;
  look(login: number): Promise<Learned>;
  /** Writes the account's record; @returns whether it is written */
  record(life: OpenLife): Promise<boolean>;
  /** Completes an open account. @param pay whether the paying command may be sent now */
  complete(life: OpenLife, pay: boolean): Promise<Fact>;
  /** Sends the client's notices. */
  notify(login: number): Promise<void>;
}

/** The inputs of a drive. */
export interface Drive {
  worker: Context['worker'];
  ledger: Ledger;
  effects: Effects;
  telemetry: Telemetry;
  now(): number;
  /** Waits this many milliseconds; absent: by the clock of the machine. */
  wait?: (ms: number) => Promise<void>;
  /** When the last call to the platform must begin, in epoch milliseconds. */
  platformEndsAt: number;
  /** Ends the writes that come before a command. */
  signal: AbortSignal;
}

/** How a drive ended. `answer.ts` maps it to the public answer. */
export type End =
  /** `replayed`: an earlier drive had opened the account. */
  | { kind: 'opened'; login: number; replayed: boolean }
  /** The caller is answered with this failure. */
  | { kind: 'failed'; failure: unknown }
  /** A retry may find the outcome. */
  | { kind: 'unknown' }
  /** Only an operator can find the outcome. `first`: this drive reached this end. */
  | { kind: 'undecided'; keyed: boolean; first: boolean }
  /** Another worker has acquired the operation. */
  | { kind: 'overtaken' };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** After a day without progress, the operation is reported to the operators. */
const DAY_MS = 24 * HOUR_MS;
/** Between two commands or look-ups of one drive. */
const PAUSE_MS = 1_000;
/** A write that ends a drive may take this long, even if the request's time is up. */
const LAST_WRITE_MS = 2_000;

/** Drives an operation as far as possible now, then releases it. @param first the first fact */
export function drive(run: Drive, held: Held, first: Learned = { on: 'resume' }): Promise<End> {
  return new Loop(run, held).run(first);
}

class Loop {
  readonly #run: Drive;
  readonly #held: Held;
  readonly #startedAt: Life['at'];
  #failure: unknown;
  /** The login that a write found reserved. */
  #reserved: number | undefined;
  #isAnswered = false;
  #hasWritten = false;
  #repeats = 0;
  #notice: Promise<void> = Promise.resolve();

  constructor(run: Drive, held: Held) {
    this.#run = run;
    this.#held = held;
    this.#startedAt = held.life.at;
  }

  async run(first: Learned): Promise<End> {
    let fact: Learned = first;
    for (;;) {
      if (fact.failure !== undefined) this.#failure = fact.failure;
      if (fact.on === 'opened') this.#isAnswered = true;
      const { life } = this.#held;
      const decision = decide(life, fact, this.#context());
      const { step } = decision;
      // Each worker writes before its first command: if it dies, the operation is due, again for a day.
      const to = decision.to ?? (step === 'send' && !this.#hasWritten ? life : undefined);
      if (to !== undefined) {
        this.#report(to, fact);
        const outcome = await this.#write(to);
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
      if (step === 'rest' || (step !== 'look' && !this.#hasTime(step))) return this.#rest(fact);
      fact = await this.#do(step);
    }
  }

  #context(): Context {
    const { worker, effects, now } = this.#run;
    const { life, plan } = this.#held;
    const login = this.#reserved ?? ('login' in life ? life.login : undefined);
    const at = now();
    return {
      worker,
      keyed: plan?.keyed ?? true,
      // A login that is not sent at once is not reserved: an account there would later count as ours.
      next: () => (login === undefined || !this.#hasTime('send') ? undefined : effects.nextLogin(login)),
      deposit: plan?.deposit === undefined || plan.deposit_with_opening ? 'none' : 'due',
      now: at,
      old: this.#ageMs(at) > DAY_MS,
    };
  }

  /** How long it has waited for the account, or since the opening for the rest, in milliseconds. */
  #ageMs(at: number): number {
    const { life, since = at } = this.#held;
    return at - (life.at === 'open' ? Date.parse(life.opened_at) : since);
  }

  async #do(step: Step): Promise<Learned> {
    const { effects, wait = sleep } = this.#run;
    const { life } = this.#held;
    const login = 'login' in life ? life.login : undefined;
    if (step === 'prepare') return this.#prepare();
    if (step === 'send') {
      // The first repeat is sent at once. Later ones wait, so a server with malformed answers is not overloaded.
      if (life.at === 'sent' && life.commands === 'many') {
        this.#repeats += 1;
        if (this.#repeats > 1) await wait(PAUSE_MS);
      }
      return effects.send(login);
    }
    // Without time for a look-up the login is unclear: if it is known to exist it is given up, else it is kept.
    if (step === 'look' && !this.#hasTime(step)) return { on: 'unclear' };
    if (step === 'pause') await wait(PAUSE_MS);
    if (step === 'pause' || step === 'look') return effects.look(login ?? 0);
    if (life.at === 'open' && step !== 'resume') return effects.complete(life, step === 'pay');
    return { on: 'resume' };
  }

  async #prepare(): Promise<Learned> {
    try {
      const { plan, login } = await this.#run.effects.prepare();
      this.#held.plan = plan;
      return { on: 'ready', login };
    } catch (failure) {
      return { on: 'refused', failure };
    }
  }

  async #write(to: Life): Promise<End | 'reserved' | 'written'> {
    const { ledger, signal, effects } = this.#run;
    const { life } = this.#held;
    const isBeforeCommand = to.at === 'sent' && to.commands === 'one';
    const isOpening = to.at === 'open' && life.at !== 'open';
    try {
      const [, recorded] = await awaitAll([
        ledger.write(this.#held, to, isBeforeCommand ? signal : within(LAST_WRITE_MS)),
        // While the login is reserved, the record may be written at the same time as the state.
        isOpening && 'login' in life && life.login === to.login && effects.record(to),
      ]);
      if (isOpening) {
        this.#held.life = { ...to, recorded };
        this.#notice = effects.notify(to.login);
      }
      this.#reserved = undefined;
      this.#hasWritten = true;
      return 'written';
    } catch (error) {
      // A login to be given up can belong to another operation only after a table was restored. The settler checks it
      // later.
      if (error instanceof LoginReserved && to.at !== 'gone') {
        this.#reserved = 'login' in to ? to.login : undefined;
        return 'reserved';
      }
      return this.#unwritten(to, error, isBeforeCommand);
    }
  }

  /** How the drive ends if a state could not be written. A retry or the settler completes the rest. */
  async #unwritten(to: Life, error: unknown, isBeforeCommand: boolean): Promise<End> {
    const { ledger, telemetry } = this.#run;
    telemetry.event('OperationNotSettled', { step: to.at, ...describeError(error) });
    // The account belongs to the operation, even if another worker holds it now.
    if (to.at === 'open' || to.at === 'done') return this.#opened(to.login);
    if (error instanceof Overtaken) return { kind: 'overtaken' };
    if (to.at === 'gone') return { kind: 'failed', failure: this.#failure };
    if (!isBeforeCommand) return { kind: 'unknown' };
    // Nothing was sent, but the state may be written.
    this.#held.life = to;
    await bestEffort(telemetry, 'release', (signal) => ledger.write(this.#held, { at: 'gone' }, signal));
    return { kind: 'failed', failure: error };
  }

  /** Logs what operators must know. */
  #report(to: Life, fact: Learned): void {
    const { telemetry } = this.#run;
    const { life } = this.#held;
    const { reason } = describeError(fact.failure);
    if (to.at === 'open' && life.at !== 'open') telemetry.event('AccountOpened', { login: to.login });
    if (to.at === 'undecided') telemetry.event('AccountOutcomeUnknown', { reason: fact.on });
    const isFailed = (to.at === 'open' && to.deposit === 'failed') || (to.at === 'done' && to.unpaid);
    if (isFailed && life.at === 'open')
      telemetry.event('DepositFailed', { login: life.login, reason: reason ?? 'empty' });
    const isForeign = life.at === 'sent' && life.commands === 'one' && FOUND_TAKEN.has(fact.on);
    if (isForeign && to.at !== 'open') {
      const failure = this.#run.effects.noLoginFailure();
      this.#failure = failure;
      const { login } = life;
      // A caller's own login may be outside of our range.
      if (login !== undefined && failure.kind !== 'login_taken') telemetry.event('LoginNotOurs', { login });
    }
    if (fact.on === 'reserved' && to.at === 'gone') this.#failure = this.#run.effects.noLoginFailure();
  }

  #hasTime(step: Step): boolean {
    if (step !== 'send' && step !== 'look' && step !== 'pause') return true;
    // The first command checks its own deadline.
    if (step === 'send' && this.#startedAt === 'claimed' && this.#failure === undefined) return true;
    return this.#run.now() + PAUSE_MS < this.#run.platformEndsAt;
  }

  /** Releases an operation that only an operator can end, so that retries do not block operators. */
  async #leaveToOperators(): Promise<void> {
    const { ledger, telemetry } = this.#run;
    const { life } = this.#held;
    if (life.at !== 'undecided' && !(life.at === 'done' && life.unpaid)) return;
    await bestEffort(telemetry, 'rest', (signal) => ledger.rest(this.#held, OPERATOR_ONLY, signal));
  }

  /** Releases the operation until a retry or the settler acquires it. */
  async #rest(fact: Learned): Promise<End> {
    const { ledger, now, worker, telemetry } = this.#run;
    const { life } = this.#held;
    const age = this.#ageMs(now());
    const backoff = worker === 'settler' ? Math.min(HOUR_MS, Math.max(MINUTE_MS, age)) : MINUTE_MS;
    let until: number | undefined = now() + backoff;
    if (life.at === 'sent' && age > DAY_MS) {
      // A login that is still free waits for a retry. A server that is still unavailable is reported and asked again.
      if (fact.on === 'absent') until = undefined;
      else telemetry.event('AccountOutcomeUnknown', { reason: fact.on });
    }
    await bestEffort(telemetry, 'rest', (signal) => ledger.rest(this.#held, until, signal));
    if (fact.on === 'rejected') return { kind: 'failed', failure: this.#failure };
    return this.#end();
  }

  async #end(): Promise<End> {
    await this.#notice;
    const { life, plan } = this.#held;
    if (life.at === 'open' || life.at === 'done') return this.#opened(life.login);
    if (life.at === 'sent') return { kind: 'unknown' };
    if (life.at !== 'undecided') return { kind: 'failed', failure: this.#failure };
    return { kind: 'undecided', keyed: plan?.keyed ?? true, first: this.#startedAt !== 'undecided' };
  }

  #opened(login: number): End {
    return { kind: 'opened', login, replayed: this.#startedAt !== 'claimed' && !this.#isAnswered };
  }
}

/** The possible results of a look-up after the only command was refused because its login exists. */
const FOUND_TAKEN: ReadonlySet<string> = new Set(['unmarked', 'foreign', 'absent', 'silent', 'unclear']);
