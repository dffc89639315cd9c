import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../../../infra/local/faults.ts';
import { type AccountAnswer, type AccountCall, accountBody } from '../account-calls.ts';
import { CONNECTIONS, type ConnectionId } from '../account-connections.ts';
import type { AccountWorld, Pending } from '../account-world.ts';
import { newClient } from '../world-pool.ts';
import { checkAnswer, checkEnd, hasLogin, isDepositOpen } from './checks.ts';
import type { Circumstances } from './circumstances.ts';

/** The function's time in a history; it works for one second of it, and its lease is a second longer. */
const MS = 5_000;
/** At the end of a history nothing is in the way any more. */
const LAST_MS = 12_000;
const LAST_SECONDS = 90;

/** What a request asks for. */
export interface Shape {
  connection: ConnectionId;
  /** With an `Idempotency-Key`: without one it is sent once. */
  keyed: boolean;
  /** A login of the caller's own: no other request's, or the one that the request before asked for too. */
  login: 'none' | 'own' | 'contested';
  given: boolean;
  readonly: boolean;
  notices: boolean;
}

/** When something befalls a function: after some time, or as soon as the n-th call of the request has come in, and a moment later. */
export interface Moment {
  kind: 'time' | 'database' | 'platform';
  count: number;
  laterMs: number;
  /** It is stopped for so long, and then goes on; absent: it is killed. */
  pauseMs?: number | undefined;
}

/** One request with all its retries; its accounts are those with its client's e-mail address. */
export interface Intent {
  name: string;
  shape: Shape;
  email: string;
  call: AccountCall;
  /** Every 200. */
  answers: AccountAnswer[];
  /** How many tries are under way. */
  running: number;
}

export interface Counts {
  histories: number;
  requests: number;
  kills: number;
  pauses: number;
  faults: number;
  accounts: number;
  /** Answers by status and type. */
  answers: Record<string, number>;
  passwords: number;
}

let logins = 700_000;

/** Requests, and what befalls them, in one world. */
export class History {
  readonly world: AccountWorld;
  readonly counts: Counts;
  readonly circumstances: Circumstances;
  readonly intents: Intent[] = [];
  #lateUntil = 0;
  /** Requests whose functions were stopped: nobody waits for them. */
  readonly #stopped: Promise<unknown>[] = [];

  constructor(world: AccountWorld, counts: Counts, circumstances: Circumstances) {
    this.world = world;
    this.counts = counts;
    this.circumstances = circumstances;
  }

  async begin(shape: Shape): Promise<Intent> {
    // Faults of the database are for the function, not for the test.
    const { dynamodb } = this.world.faults;
    const waiting = dynamodb.list();
    dynamodb.clear();
    const client = await newClient(this.world);
    for (const fault of waiting) dynamodb.set(fault);
    const intent: Intent = {
      name: `request ${this.intents.length} (${client.id}, ${JSON.stringify(shape)})`,
      shape,
      email: client.email,
      call: {
        userId: client.id,
        ...(shape.keyed ? { key: `key-${client.id}` } : {}),
        body: accountBody(shape.connection, fields(shape, client.id)),
      },
      answers: [],
      running: 0,
    };
    this.intents.push(intent);
    return intent;
  }

  accounts({ shape, email }: Pick<Intent, 'shape' | 'email'>) {
    return this.world.servers[CONNECTIONS[shape.connection].server].accounts().filter((one) => one.email === email);
  }

  /** Sends requests at once, and waits for those whose function is not to be stopped. */
  async askAll(intent: Intent, round: readonly (Moment | undefined)[]): Promise<void> {
    const asked = round.map((moment) => ({ moment, answer: this.ask(intent, moment) }));
    const isStopped = ({ moment }: { moment: Moment | undefined }) => moment?.pauseMs !== undefined;
    for (const one of asked.filter(isStopped)) {
      // Told at the end of the history.
      one.answer.catch(() => {});
      this.#stopped.push(one.answer);
    }
    await Promise.all(asked.filter((one) => !isStopped(one)).map(({ answer }) => answer));
  }

  /** Sends a request, and lets that befall the function when it is still at work then. */
  async ask(intent: Intent, moment?: Moment, ms = MS): Promise<AccountAnswer | undefined> {
    this.counts.requests += 1;
    intent.running += 1;
    const since = { database: this.world.database.calls.length, platform: this.#commands(intent) };
    const pending = this.world.send({ ...intent.call, ms });
    const befalling = moment === undefined ? undefined : this.#befall(moment, since, intent, pending);
    const answer = await pending.answer;
    const { kind } = await pending.outcome;
    await befalling;
    intent.running -= 1;
    if (kind === 'crash') throw new Error(`${intent.name}: the function crashed`);
    // Lambda ends what takes too long: on a busy machine that is one more way to be killed.
    if (kind === 'killed' || kind === 'timed out') this.counts.kills += 1;
    if (answer !== undefined) checkAnswer(this, intent, answer);
    this.#countAccounts();
    return answer;
  }

  async #befall(moment: Moment, since: Record<string, number>, intent: Intent, pending: Pending): Promise<void> {
    const { kind, count, laterMs, pauseMs } = moment;
    let over = false;
    pending.outcome.then(() => {
      over = true;
    });
    const began = Date.now();
    const reached = () => {
      if (kind === 'time') return Date.now() - began >= count * 25;
      const now = kind === 'database' ? this.world.database.calls.length : this.#commands(intent);
      return now - (since[kind] ?? 0) >= count;
    };
    while (!over && !reached()) await sleep(1);
    if (laterMs > 0) await sleep(laterMs);
    if (over) return;
    if (pauseMs === undefined) return pending.kill();
    this.counts.pauses += 1;
    await pending.pause(pauseMs);
  }

  #commands({ shape }: Intent): number {
    return this.world.servers[CONNECTIONS[shape.connection].server].commands;
  }

  #countAccounts(): void {
    for (const intent of this.intents) {
      const { length } = this.accounts(intent);
      if (length > 1) throw new Error(`${intent.name}: ${length} accounts`);
    }
  }

  setFault(target: keyof AccountWorld['faults'], fault: Fault): void {
    this.counts.faults += 1;
    if (fault.kind === 'slow' || fault.kind === 'late') this.#lateUntil = Date.now() + MS + (fault.ms ?? 0);
    this.world.faults[target].set(fault);
  }

  /** Faults are over and time passes: every request with a key comes to its end, by itself. */
  async end(): Promise<void> {
    this.world.clearFaults();
    await Promise.all(this.intents.filter(({ call }) => call.key !== undefined).map((intent) => this.#finish(intent)));
    await Promise.all(this.#stopped);
    // What a late server has not done by now it will not do any more.
    const lastMs = Math.max(...this.circumstances.lateMs) + 200;
    await sleep(Math.max(0, Math.min(this.#lateUntil - Date.now(), lastMs)));
    this.#countAccounts();
    for (const intent of this.intents) await checkEnd(this, intent);
    this.counts.histories += 1;
  }

  async #finish(intent: Intent): Promise<void> {
    const until = Date.now() + LAST_SECONDS * 1_000;
    // A protocol that cannot tell leaves it to an operator.
    const { connection, login } = intent.shape;
    const blind =
      connection.startsWith('reg') || (connection.startsWith('gw-') && !hasLogin(intent) && !/range/.test(connection));
    let last: AccountAnswer | undefined;
    while (Date.now() < until) {
      last = await this.ask(intent, undefined, LAST_MS);
      // Whether a lost deposit has arrived is certain only after a while, and told by a retry then.
      if (last?.status === 200 && !isDepositOpen(this, intent)) return;
      if (blind && last?.status === 409 && last.body.type === 'account_outcome_unknown') return;
      if (login === 'contested' && last?.body.type === 'login_taken') return;
      await sleep(Math.min(1_000, Number(last?.headers['retry-after'] ?? 0.2) * 1_000));
    }
    throw new Error(`${intent.name}: never answered; in the end ${last?.status} ${last?.body.type}`);
  }
}

function fields({ login, given, readonly, notices }: Shape, id: string): Record<string, unknown> {
  if (login === 'own') logins += 1;
  return {
    ...(login === 'none' ? {} : { login: logins }),
    ...(given ? { master_password: `Ma5#${id}`, investor_password: `Iv6!${id}` } : {}),
    ...(readonly ? { enable_readonly: true } : {}),
    ...(notices ? { send_email: true, send_pop_up: true } : {}),
  };
}
