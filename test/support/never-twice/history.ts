import type { Fault } from '../../../infra/local/faults.ts';
import type { AccountAnswer } from '../account-calls.ts';
import { CONNECTIONS } from '../account-connections.ts';
import type { AccountWorld } from '../account-world.ts';
import { newClient } from '../world-pool.ts';
import { checkAccounts, checkAnswer, checkEnd, isDepositOpen, type Momentary, wordOf } from './checks.ts';
import type { Circumstances } from './circumstances.ts';
import { type Intent, KEPT_MS, newIntent, newLogin } from './intents.ts';
import { befall, listenTo, type Moment } from './moments.ts';
import { Payments } from './payments.ts';
import type { Round, Step, Story, Target } from './steps.ts';

/** The function's time in a history, in milliseconds; it works for all of it but four seconds. */
const MS = 5_500;
/** At the end of a history nothing is in the way any more. */
const LAST_MS = 12_000;
/** So often each request is repeated then, */
const MOST_RETRIES = 25;
/** and so many of the answers may leave its outcome open. */
const MOST_UNSETTLED = 4;
/** Longer than whatever may still happen, in milliseconds. */
const ALL_IS_OVER_MS = 400_000;

export interface Counts {
  histories: number;
  requests: number;
  kills: number;
  stops: number;
  faults: number;
  accounts: number;
  /** Keys that were used anew after their 24 hours. */
  keysUsedAnew: number;
  /** Answers by status and type. */
  answers: Record<string, number>;
  passwords: number;
}

/** Requests, and what befalls them, in one world. */
export class History {
  readonly #world: AccountWorld;
  readonly #counts: Counts;
  readonly #circumstances: Circumstances;
  readonly #intents: Intent[] = [];
  readonly #payments: Payments;
  /** Where something went wrong. */
  readonly #faulty = new Set<Target>();
  /** The database did what it was asked and did not say so. */
  #isLossy = false;
  readonly #logFrom: number;
  /** Functions that were stopped go on behind the backs of the others. */
  readonly #stopped: Promise<unknown>[] = [];
  #failure: unknown;

  constructor(world: AccountWorld, counts: Counts, circumstances: Circumstances) {
    this.#world = world;
    this.#counts = counts;
    this.#circumstances = circumstances;
    this.#logFrom = world.environments.log.length;
    this.#payments = new Payments((listener) => listenTo(world.servers.tp5.faults, listener));
  }

  /** @throws Error when a promise was broken */
  async play({ passwordCheck, steps }: Story): Promise<void> {
    this.#counts.histories += 1;
    this.#world.gateway.passwordCheck = passwordCheck;
    try {
      for (const step of steps) await this.#take(step);
      await this.#end();
    } finally {
      // The next history meets nothing of this one.
      this.#world.clearFaults();
      await this.#world.clock.pass(ALL_IS_OVER_MS);
      await Promise.allSettled(this.#stopped);
      this.#payments.stop();
    }
  }

  async #take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'begin':
        return this.#begin(step);
      case 'retry': {
        const keyed = this.#intents.filter(({ call }) => call.key !== undefined);
        const intent = keyed[step.which % keyed.length];
        return intent === undefined ? undefined : this.#askAll([intent], step.round);
      }
      case 'fault':
        return this.#setFault(step.target, step.fault);
      case 'heal':
        return this.#world.clearFaults();
      case 'retire':
        return this.#world.environments.retire();
      case 'jump':
        return this.#world.environments.jump(step.ms);
    }
  }

  async #begin({ shape, rivals, faults, rounds }: Step & { kind: 'begin' }): Promise<void> {
    const login = newLogin(shape);
    const knowsPasswords = this.#world.gateway.passwordCheck === 'known';
    const intents: Intent[] = [];
    for (const _ of rivals ? [1, 2] : [1]) {
      const client = await newClient(this.#world);
      const now = this.#world.clock.now();
      intents.push(newIntent(shape, client, { login, isContested: rivals, knowsPasswords, now }));
    }
    this.#intents.push(...intents);
    for (const { target, fault } of faults) this.#setFault(target, fault);
    for (const round of rounds) await this.#askAll(intents, round);
  }

  #setFault(target: Target, fault: Fault): void {
    this.#counts.faults += 1;
    this.#faulty.add(target);
    if (target === 'dynamodb' && (fault.kind === 'slow' || fault.kind === 'reply_lost')) this.#isLossy = true;
    this.#world.faults[target].set(fault);
  }

  /** Sends requests at once, and waits for those whose function is not to be stopped. */
  async #askAll(intents: readonly Intent[], { tries, passMs, beforeKeyEndsMs }: Round): Promise<void> {
    const { clock } = this.#world;
    const [first] = intents;
    if (beforeKeyEndsMs !== undefined && first !== undefined) {
      const until = first.begunAt + KEPT_MS - beforeKeyEndsMs;
      if (until > clock.now()) await clock.pass(until - clock.now());
    }
    const waited: Promise<unknown>[] = [];
    for (const [index, moment] of tries.entries()) {
      for (const intent of intents) {
        // Of two that want one login something befalls the first.
        const befalling = intent === first || index > 0 ? moment : null;
        const asked = this.#ask(intent, befalling);
        if (befalling?.stopMs === undefined) waited.push(asked);
        else this.#stopped.push(asked.catch((error) => (this.#failure ??= error)));
      }
    }
    await Promise.all(waited);
    if (this.#failure !== undefined) throw this.#failure;
    await clock.pass(passMs);
  }

  /** Sends a request, and lets that befall the function when it is still at work then. */
  async #ask(intent: Intent, moment: Moment | null, ms = MS): Promise<AccountAnswer | undefined> {
    this.#use(intent);
    this.#counts.requests += 1;
    intent.running += 1;
    const pending = this.#world.send({ ...intent.call, ms });
    const places = { database: this.#world.faults.dynamodb, server: this.#serverOf(intent).faults };
    const befalling = moment === null ? false : befall(moment, places, pending);
    const answer = await pending.answer;
    const { kind } = await pending.outcome;
    const struck = await befalling;
    intent.running -= 1;
    if (kind === 'crash') throw new Error(`${intent.name}: the function crashed`);
    // Lambda ends what takes too long: on a busy machine that is one more way to be killed.
    if (kind === 'killed' || kind === 'timed out') this.#counts.kills += 1;
    else if (struck) this.#counts.stops += 1;
    if (struck || kind !== 'answer') intent.befallen = true;
    if (answer !== undefined) this.#check(intent, answer);
    for (const one of this.#intents) checkAccounts(this.#sight(one), one);
    return answer;
  }

  /** A try with a key that may have been forgotten may open an account of its own. */
  #use(intent: Intent): void {
    const now = this.#world.clock.now();
    const isForgotten = now >= intent.keptUntil;
    if (isForgotten) {
      intent.epochs += 1;
      if (intent.epochs > 1) {
        this.#counts.keysUsedAnew += 1;
        // Its own first account has it.
        intent.mayBeTaken = true;
      }
    }
    // What was answered once is not done again, so its key is kept no longer for it.
    if (isForgotten || intent.answers.length < intent.epochs) {
      // Of two clocks that are wrong one may be ahead, and the other behind.
      intent.keptUntil = now + KEPT_MS - 2 * this.#circumstances.skewMs;
    }
  }

  #check(intent: Intent, answer: AccountAnswer): void {
    const word = wordOf(answer);
    this.#counts.answers[word] = (this.#counts.answers[word] ?? 0) + 1;
    intent.lastWord = word;
    checkAnswer(this.#sight(intent), intent, answer);
  }

  #serverOf({ shape }: Intent) {
    return this.#world.servers[CONNECTIONS[shape.connection].server];
  }

  #sight(intent: Intent): Momentary {
    const server = this.#serverOf(intent);
    const { accounts, all } = this.#accountsOf(intent);
    return {
      accounts,
      account: (login) => all.find((one) => one.login === login),
      access: (login, password) => server.access(login, password),
      payments: (login) => this.#payments.of(login),
      isTold: (login) => this.#isLogged(login, '"DepositFailed"'),
      mayLackDeposit: this.#mayLackDeposit(intent),
    };
  }

  #accountsOf(intent: Intent) {
    const all = this.#serverOf(intent).accounts();
    return { all, accounts: all.filter(({ email }) => email === intent.email) };
  }

  #mayLackDeposit(intent: Intent): boolean {
    const { server } = CONNECTIONS[intent.shape.connection];
    return intent.befallen || this.#faulty.has(server) || (this.#isLossy && this.#isNoteLost(intent));
  }

  /** Whether it may be noted that the command leaves, and nobody knows. */
  #isNoteLost(intent: Intent): boolean {
    const { accounts } = this.#accountsOf(intent);
    return accounts.some(({ login }) => this.#isLogged(login, '"OperationNotSettled"', '"step":"deposit"'));
  }

  #isLogged(login: number, ...words: string[]): boolean {
    const log = this.#world.environments.log.slice(this.#logFrom).join('').split('\n');
    const wanted = [`"login":${login},`, ...words];
    return log.some((line) => wanted.every((word) => line.includes(word)) && !line.includes('LeaseLost'));
  }

  /** Faults are over and time passes: every request with a key comes to its end, by itself. */
  async #end(): Promise<void> {
    const { clock } = this.#world;
    this.#world.clearFaults();
    for (const intent of this.#intents) if (intent.call.key !== undefined) await this.#finish(intent);
    await clock.pass(ALL_IS_OVER_MS);
    await Promise.all(this.#stopped);
    if (this.#failure !== undefined) throw this.#failure;
    const openOperations = await this.#world.openOperations();
    for (const intent of this.#intents) {
      const records = await this.#world.records(intent.call.userId ?? '');
      checkEnd({ ...this.#sight(intent), records, openOperations }, intent);
      this.#counts.accounts += this.#sight(intent).accounts.length;
    }
  }

  /** What befalls nobody any more is repeated until it is answered, and as the answers say. */
  async #finish(intent: Intent): Promise<void> {
    let last: AccountAnswer | undefined;
    let unsettled = 0;
    for (let retry = 0; retry < MOST_RETRIES; retry += 1) {
      last = await this.#ask(intent, null, LAST_MS);
      const word = last === undefined ? undefined : wordOf(last);
      // Whether a lost deposit has arrived is certain only after a while, and told by a retry then.
      if (word === '200' && (await this.#isComplete(intent))) return;
      if (word === '409 login_taken' && intent.mayBeTaken) return;
      if (word?.endsWith('account_outcome_unknown') === true) {
        if (intent.isBlind && last?.status === 409) return this.#checkBlind(intent);
        unsettled += 1;
        if (unsettled > MOST_UNSETTLED) throw new Error(`${intent.name}: ${word}, which a look-up could settle`);
      }
      await this.#world.clock.pass(Number(last?.headers['retry-after'] ?? 1) * 1_000);
    }
    throw new Error(`${intent.name}: never answered; in the end ${last?.status} ${last?.body.type}`);
  }

  async #isComplete(intent: Intent): Promise<boolean> {
    const open = await this.#world.openOperations();
    const { accounts } = this.#accountsOf(intent);
    return !isDepositOpen(this.#sight(intent), intent) && !accounts.some(({ comment }) => open.has(comment));
  }

  /** What our own table knows must not be left to an operator. */
  async #checkBlind(intent: Intent): Promise<void> {
    const records = await this.#world.records(intent.call.userId ?? '');
    // Those of an earlier use of the key were answered.
    if (records.length > intent.answers.length)
      throw new Error(`${intent.name}: 409, and our own table knows its account`);
  }
}
