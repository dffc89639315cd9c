import type { Fault, Faults } from '../../../infra/local/faults.ts';
import type { AccountAnswer } from '../account-calls.ts';
import type { AccountWorld, Target } from '../account-world.ts';
import type { Run } from '../environments.ts';
import { KEPT_MS } from './circumstances.ts';
import type { LedgerWatch } from './ledger-watch.ts';
import { befall, listenTo, type Moment } from './moments.ts';
import type { Edit, Round, Step } from './steps.ts';

/** The number of its last lines in a report. */
const MAX_TOLD = 300;
/** Of a line of the log; the rest is the same in each, or counts. */
const TOLD_OF_LOG = ['operation_id', 'registration_id', 'login', 'status', 'type', 'step', 'reason'];

/** The events of a world, in order: the attempts, the received calls, and what the functions logged. */
class Diary {
  readonly #world: AccountWorld;
  readonly #lines: string[] = [];
  readonly #began: number;
  readonly #stopListening: (() => void)[];
  #logged: number;

  constructor(world: AccountWorld) {
    this.#world = world;
    this.#began = world.clock.now();
    this.#logged = world.environments.log.length;
    this.#stopListening = Object.entries(world.faults).map(([target, faults]) =>
      listenTo(faults, ({ name, parameters, fault }) => {
        if (name === 'Query' && fault === undefined) return;
        const login = parameters?.Login === undefined ? '' : ` login ${parameters.Login}`;
        this.write(`${target} ${name}${login}${fault === undefined ? '' : `, fault: ${JSON.stringify(fault)}`}`);
      }),
    );
  }

  write(text: string): void {
    this.#copyLog();
    const seconds = ((this.#world.clock.now() - this.#began) / 1_000).toFixed(3);
    this.#lines.push(`${seconds.padStart(12)} ${text}`);
  }

  /** The last of it. */
  tell(): string {
    this.#copyLog();
    return this.#lines.slice(-MAX_TOLD).join('\n');
  }

  end(): void {
    for (const stop of this.#stopListening) stop();
  }

  #copyLog(): void {
    const { log } = this.#world.environments;
    const written = log.slice(this.#logged).join('').split('\n');
    this.#logged = log.length;
    for (const line of written) if (line !== '') this.#lines.push(`${' '.repeat(12)}   ${lineInShort(line)}`);
  }
}

function lineInShort(line: string): string {
  try {
    const event = JSON.parse(line) as Record<string, unknown>;
    const told = TOLD_OF_LOG.filter((name) => event[name] !== undefined).map((name) => `${name} ${event[name]}`);
    return [event.message, ...told].join(', ');
  } catch {
    return line;
  }
}

/** How long API Gateway waits for a function, in milliseconds. */
const GATEWAY_WAITS_MS = 30_000;
/** Longer than anything may still take, in milliseconds. */
const ALL_IS_OVER_MS = 400_000;

export interface Counts {
  histories: number;
  requests: number;
  kills: number;
  stops: number;
  faults: number;
  accounts: number;
  messages: number;
  /** Writes of operations and reservations. */
  writes: number;
  /** Operations that an operator decided. */
  decided: number;
  /** Answers by status and type. */
  answers: Record<string, number>;
  passwords: number;
}

/** One request with all its retries. */
export interface Tried {
  name: string;
  /** Without a key it is sent once. */
  key: string | undefined;
  /** What its key is unique within, and the key itself. */
  scope: string[] | undefined;
  /** In the end its caller repeats it until it is answered; never without a key. */
  returns: boolean;
  /** Every answer that ended it and differs. */
  answers: unknown[];
  /** The number of running attempts. */
  running: number;
  /** A try was killed, stopped or out of time. */
  befallen: boolean;
  /** When its key was first used, on the world's clock. */
  begunAt: number;
  /** How many of its operations may have acted: a key that has expired starts another one. */
  uses: number;
}

/** A request that is still to be sent. @param now on the world's clock */
export function unused(now: number): Pick<Tried, 'running' | 'befallen' | 'begunAt' | 'uses'> {
  return { running: 0, befallen: false, begunAt: now, uses: 0 };
}

/** Requests in one world, and what happens to them. */
export abstract class Rounds<I extends Tried, A extends Pick<AccountAnswer, 'status' | 'body'>, S> {
  protected readonly world: AccountWorld;
  protected readonly counts: Counts;
  protected readonly watch: LedgerWatch;
  protected readonly intents: I[] = [];
  readonly #diary: Diary;
  /** Where something went wrong. */
  protected readonly faulty = new Set<Target>();
  /** The function's time, in milliseconds. It stops working four seconds earlier. */
  protected abstract readonly ms: number;
  /** Stopped functions resume while others work. */
  readonly #stopped: Promise<unknown>[] = [];
  #failure: unknown;
  #tries = 0;

  constructor(world: AccountWorld, watch: LedgerWatch, counts: Counts) {
    this.world = world;
    this.watch = watch;
    this.#diary = new Diary(world);
    this.counts = counts;
  }

  /** New requests: one, or two that want the same. */
  protected abstract begin(shape: S, rivals: boolean): Promise<I[]>;
  protected abstract send(intent: I, ms: number): Run & { answer: Promise<A | undefined> };
  /** The target of its commands. */
  protected abstract serverOf(intent: I): Faults;
  protected abstract usesOf(intent: I): number;
  /** After each try. @throws Error if a promise was broken */
  protected abstract see(intent: I, answer: A | undefined): void;
  /** Nothing is in the way any more: the request comes to its end. */
  protected abstract finish(intent: I): Promise<void>;
  /** Edits by people of the CRM, the server or an operation. */
  protected abstract edit(edit: Edit, intent: I): Promise<unknown>;
  /** When everything is over. */
  protected abstract checkEnd(): Promise<void>;

  /** @throws Error if a promise was broken, with what happened */
  async play(steps: readonly Step<S>[]): Promise<void> {
    const { clock } = this.world;
    this.counts.histories += 1;
    try {
      for (const step of steps) await this.#take(step);
      this.world.clearFaults();
      for (const intent of this.intents) if (intent.returns) await this.finish(intent);
      await clock.pass(ALL_IS_OVER_MS);
      await Promise.all(this.#stopped);
      if (this.#failure !== undefined) throw this.#failure;
      await this.checkEnd();
      this.watch.check();
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      throw new Error(`${what}\n${this.#diary.tell()}`);
    } finally {
      this.#diary.end();
      // The next history meets nothing of this one.
      this.world.clearFaults();
      await clock.pass(ALL_IS_OVER_MS);
      await Promise.allSettled(this.#stopped);
      this.watch.violations.length = 0;
    }
  }

  async #take(step: Step<S>): Promise<void> {
    switch (step.kind) {
      case 'begin': {
        const intents = await this.begin(step.shape, step.rivals);
        this.intents.push(...intents);
        for (const { target, fault } of step.faults) this.#setFault(target, fault);
        const [first] = intents;
        for (const round of step.rounds) {
          await this.#askAll(intents, round);
          if (round.edit !== undefined && first !== undefined) await this.#edit(round.edit, first);
        }
        return;
      }
      case 'retry': {
        const keyed = this.intents.filter(({ key }) => key !== undefined);
        const intent = keyed[step.which % keyed.length];
        return intent === undefined ? undefined : this.#askAll([intent], step.round);
      }
      case 'edit': {
        const intent = this.intents[step.which % this.intents.length];
        return intent === undefined ? undefined : this.#edit(step.edit, intent);
      }
      case 'fault':
        return this.#setFault(step.target, step.fault);
      case 'heal':
        return void this.world.clearFaults();
      case 'settle':
        return this.#settle(step.moment);
      case 'retire':
        return this.world.environments.retire();
      case 'jump':
        return this.world.environments.jump(step.ms);
    }
  }

  async #edit(edit: Edit, intent: I): Promise<void> {
    this.#diary.write(`${intent.name.split(' {')[0]}: ${JSON.stringify(edit)}`);
    await this.edit(edit, intent);
  }

  async #settle(moment: Moment | null): Promise<void> {
    const run = this.world.settle();
    const places = { database: this.world.faults.dynamodb, server: this.world.servers.tp5.faults };
    const struck = moment === null ? false : await befall(moment, places, run);
    if (moment?.stopMs === undefined) await run.outcome;
    else this.#stopped.push(run.outcome);
    if (struck) this.counts[moment?.stopMs === undefined ? 'kills' : 'stops'] += 1;
  }

  #setFault(target: Target, fault: Fault): void {
    this.counts.faults += 1;
    this.faulty.add(target);
    this.world.faults[target].set(fault);
  }

  /** Sends requests at once, and waits for those whose function is not to be stopped. */
  async #askAll(intents: readonly I[], { tries, passMs, beforeKeyEndsMs, fault }: Round): Promise<void> {
    const { clock } = this.world;
    const [first] = intents;
    if (beforeKeyEndsMs !== undefined && first !== undefined) {
      const until = first.begunAt + KEPT_MS - beforeKeyEndsMs;
      if (until > clock.now()) await clock.pass(until - clock.now());
    }
    if (fault !== undefined && first !== undefined) this.serverOf(first).set(fault);
    const waited: Promise<unknown>[] = [];
    for (const [index, moment] of tries.entries()) {
      for (const intent of intents) {
        // Of two that want the same something befalls the first.
        const befalling = intent === first || index > 0 ? moment : null;
        const asked = this.ask(intent, befalling);
        if (befalling?.stopMs === undefined) waited.push(asked);
        else this.#stopped.push(asked.catch((error) => (this.#failure ??= error)));
      }
    }
    await Promise.all(waited);
    if (this.#failure !== undefined) throw this.#failure;
    await clock.pass(passMs);
  }

  /** Sends a request, and lets that befall the function if it is still at work then. */
  protected async ask(intent: I, moment: Moment | null, ms = this.ms): Promise<A | undefined> {
    const name = `${intent.name.split(' {')[0]}, try ${++this.#tries}`;
    this.#diary.write(`${name} begins${moment === null ? '' : `, befallen: ${JSON.stringify(moment)}`}`);
    const began = this.world.clock.now();
    this.counts.requests += 1;
    intent.running += 1;
    const pending = this.send(intent, ms);
    const places = { database: this.world.faults.dynamodb, server: this.serverOf(intent) };
    const befalling = moment === null ? false : befall(moment, places, pending);
    const answer = await pending.answer;
    const { kind } = await pending.outcome;
    const struck = await befalling;
    this.#diary.write(`${name} ends: ${kind}${inShort(answer)}`);
    intent.running -= 1;
    if (kind === 'crash') throw new Error(`${intent.name}: the function crashed`);
    // Lambda ends what takes too long: on a busy machine that is one more way to be killed.
    if (kind === 'killed' || kind === 'timed out') this.counts.kills += 1;
    else if (struck) this.counts.stops += 1;
    if (struck || kind !== 'answer') intent.befallen = true;
    intent.uses = this.usesOf(intent);
    // A function that was stopped answers after the gateway has answered in its place.
    const received = this.world.clock.now() - began > GATEWAY_WAITS_MS ? undefined : answer;
    this.watch.check();
    this.see(intent, received);
    return received;
  }

  protected count(word: string): void {
    this.counts.answers[word] = (this.counts.answers[word] ?? 0) + 1;
  }
}

/** Without passwords. */
function inShort(answer: Pick<AccountAnswer, 'status' | 'body'> | undefined): string {
  if (answer === undefined) return '';
  const { type = '', login = '', operation_id = '' } = answer.body;
  return ` ${answer.status} ${type}${login} ${operation_id}`.trimEnd();
}
