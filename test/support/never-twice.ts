import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { type Fault, type FaultKind, PLATFORM_FAULT_KINDS } from '../../infra/local/faults.ts';
import {
  type AccountAnswer,
  type AccountCall,
  type AccountWorld,
  accountBody,
  CONNECTIONS,
  type ConnectionId,
  type Pending,
  type ServerName,
} from './account-world.ts';
import type { Bundles } from './environments.ts';
import { newClient, WorldPool } from './world-pool.ts';

/**
 * Histories of requests, retries, kills and faults, made up by fast-check and driven against the functions as they are
 * deployed, with a database and trading servers that keep count: however it goes, no request has two accounts.
 */

/** The function's time in a history; it works for one second of it, and its lease is a second longer. */
const MS = 5_000;
/** At the end of a history nothing is in the way any more. */
const LAST_MS = 12_000;
const SETTLE_SECONDS = 4;
/** A slow server is slower than what a request has time for, and faster than the settling time. */
const SLOW_MS = [50, 1_500, 2_500, 2_500];
const LAST_SECONDS = 40;

/** What a request asks for. */
interface Shape {
  connection: ConnectionId;
  /** With an `Idempotency-Key`: without one it is sent once. */
  keyed: boolean;
  login: boolean;
  given: boolean;
  readonly: boolean;
  notices: boolean;
}

/** When a function is killed: after some time, or as soon as the n-th call of the request has come in, and a moment later. */
type Moment = { kind: 'time' | 'database' | 'platform'; count: number; laterMs: number };

/** One request with all its retries; its accounts are those with its client's e-mail address. */
interface Intent {
  name: string;
  connection: ConnectionId;
  email: string;
  call: AccountCall;
  /** Every 200. */
  answers: AccountAnswer[];
  /** How many tries are under way. */
  running: number;
}

interface Counts {
  histories: number;
  requests: number;
  kills: number;
  faults: number;
  accounts: number;
  /** Answers by status and type. */
  answers: Record<string, number>;
  passwords: number;
}

class History {
  readonly world: AccountWorld;
  readonly counts: Counts;
  readonly intents: Intent[] = [];
  slowUntil = 0;

  constructor(world: AccountWorld, counts: Counts) {
    this.world = world;
    this.counts = counts;
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
      connection: shape.connection,
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

  accounts({ connection, email }: Pick<Intent, 'connection' | 'email'>) {
    return this.world.servers[CONNECTIONS[connection].server].accounts().filter((account) => account.email === email);
  }

  /** Sends a request, and kills the function at that moment when it is still at work then. */
  async ask(intent: Intent, moment?: Moment, ms = MS): Promise<AccountAnswer | undefined> {
    this.counts.requests += 1;
    intent.running += 1;
    const since = { database: this.world.database.calls.length, platform: this.#commands(intent.connection) };
    const pending = this.world.send({ ...intent.call, ms });
    const killing = moment === undefined ? undefined : this.#killAt(moment, since, intent.connection, pending);
    const answer = await pending.answer;
    const { kind } = await pending.outcome;
    await killing;
    intent.running -= 1;
    if (kind === 'timed out' || kind === 'crash') throw new Error(`${intent.name}: the function ${kind}`);
    if (kind === 'killed') this.counts.kills += 1;
    if (answer !== undefined) this.#check(intent, answer);
    this.#countAccounts();
    return answer;
  }

  async #killAt({ kind, count, laterMs }: Moment, since: Record<string, number>, on: ConnectionId, pending: Pending) {
    let over = false;
    pending.outcome.then(() => {
      over = true;
    });
    const began = Date.now();
    const reached = () => {
      if (kind === 'time') return Date.now() - began >= count * 25;
      const now = kind === 'database' ? this.world.database.calls.length : this.#commands(on);
      return now - (since[kind] ?? 0) >= count;
    };
    while (!over && !reached()) await sleep(1);
    if (laterMs > 0) await sleep(laterMs);
    await pending.kill();
  }

  #commands(connection: ConnectionId): number {
    return this.world.servers[CONNECTIONS[connection].server].commands;
  }

  #check(intent: Intent, { status, headers, body }: AccountAnswer): void {
    const word = status === 200 ? '200' : `${status} ${body.type}`;
    this.counts.answers[word] = (this.counts.answers[word] ?? 0) + 1;
    if (!ANSWERS.has(word)) throw new Error(`${intent.name}: the contract has no answer ${word}`);
    if (status === 504 && !/^[0-9a-f-]{36}$/.test(String(body.operation_id))) {
      throw new Error(`${intent.name}: 504 without operation_id`);
    }
    if (status === 503 && headers['retry-after'] === undefined)
      throw new Error(`${intent.name}: 503 without Retry-After`);
    if (NOTHING_OPENED.has(word) && intent.running === 0 && this.accounts(intent).length > 0) {
      throw new Error(`${intent.name}: ${word}, but there is an account`);
    }
    if (status !== 200) return;
    const [first] = intent.answers;
    if (first !== undefined && JSON.stringify(first.body) !== JSON.stringify(body)) {
      throw new Error(`${intent.name}: two answers that differ`);
    }
    intent.answers.push({ status, headers, body });
    this.#checkAccess(intent, body);
  }

  #checkAccess(
    { name, connection }: Intent,
    { login, master_password, investor_password }: AccountAnswer['body'],
  ): void {
    const server = this.world.servers[CONNECTIONS[connection].server];
    const access = [master_password, investor_password].map((password) =>
      server.access(Number(login), String(password)),
    );
    if (access.join() !== 'master,investor') throw new Error(`${name}: the passwords open ${access.join()}`);
  }

  #countAccounts(): void {
    for (const intent of this.intents) {
      const { length } = this.accounts(intent);
      if (length > 1) throw new Error(`${intent.name}: ${length} accounts`);
    }
  }

  setFault(target: keyof AccountWorld['faults'], fault: Fault): void {
    this.counts.faults += 1;
    if (fault.kind === 'slow' || fault.kind === 'late') this.slowUntil = Date.now() + MS + (fault.ms ?? 0);
    this.world.faults[target].set(fault);
  }

  /** Faults are over and time passes: every request with a key comes to its end, by itself. */
  async end(): Promise<void> {
    this.world.clearFaults();
    await Promise.all(this.intents.filter(({ call }) => call.key !== undefined).map((intent) => this.#settle(intent)));
    // What a slow server has not done by now it will not do any more.
    await sleep(Math.max(0, Math.min(this.slowUntil - Date.now(), Math.max(...SLOW_MS) + 100)));
    this.#countAccounts();
    for (const intent of this.intents) {
      const [account] = this.accounts(intent);
      if (account !== undefined) this.counts.accounts += 1;
      const deposit = CONNECTIONS[intent.connection].server === 'tp5' ? 10_000 : 5_000;
      if (account !== undefined && account.balance !== 0 && account.balance !== deposit) {
        throw new Error(`${intent.name}: a balance of ${account.balance}`);
      }
      const [answer] = intent.answers;
      if (answer === undefined) continue;
      this.#checkAccess(intent, answer.body);
    }
    this.counts.histories += 1;
  }

  async #settle(intent: Intent): Promise<void> {
    const until = Date.now() + LAST_SECONDS * 1_000;
    // A protocol that cannot tell leaves it to an operator.
    const blind = intent.connection.startsWith('reg') || (intent.connection.startsWith('gw') && !hasLogin(intent));
    let last: AccountAnswer | undefined;
    while (Date.now() < until) {
      last = await this.ask(intent, undefined, LAST_MS);
      if (last?.status === 200) break;
      if (blind && last?.status === 409 && last.body.type === 'account_outcome_unknown') return;
      await sleep(Math.min(1_000, Number(last?.headers['retry-after'] ?? 0.2) * 1_000));
    }
    if (last?.status !== 200) {
      throw new Error(`${intent.name}: never answered; in the end ${last?.status} ${last?.body.type}`);
    }
    if (this.accounts(intent).length !== 1) throw new Error(`${intent.name}: answered, but without an account`);
    const records = await this.world.records(intent.call.userId ?? '');
    if (records.length !== 1 || records[0]?.login !== last.body.login) {
      throw new Error(`${intent.name}: ${records.length} records of its account`);
    }
  }
}

let logins = 5_000_000;

function fields({ login, given, readonly, notices }: Shape, id: string): Record<string, unknown> {
  logins += 1;
  return {
    ...(login ? { login: logins } : {}),
    ...(given ? { master_password: `Ma5#${id}`, investor_password: `Iv6!${id}` } : {}),
    ...(readonly ? { enable_readonly: true } : {}),
    ...(notices ? { send_email: true, send_pop_up: true } : {}),
  };
}

function hasLogin({ call }: Intent): boolean {
  return typeof call.body === 'object' && call.body.login !== undefined;
}

const NOTHING_OPENED = new Set([
  '502 platform_refused',
  '503 platform_unavailable',
  '400 password_rejected',
  '400 group_not_found',
]);
const ANSWERS = new Set([
  ...NOTHING_OPENED,
  '200',
  '409 request_in_progress',
  '409 account_outcome_unknown',
  '500 internal_error',
  '504 account_outcome_unknown',
]);

/** Nothing is foretold: what must hold is checked at every step on the servers themselves. */
type Model = Record<string, never>;
type Command = fc.AsyncCommand<Model, History>;

abstract class Step implements Command {
  check(): boolean {
    return true;
  }
  abstract run(model: Model, history: History): Promise<void>;
  abstract toString(): string;
}

/** What is sent at once, and when each of it is killed. */
type Round = (Moment | undefined)[];

/** A new request, with a fault of its server in its way, and its retries, one round after the other. */
class Begin extends Step {
  readonly shape: Shape;
  readonly fault: Fault | undefined;
  readonly rounds: Round[];
  constructor(shape: Shape, fault: Fault | undefined, rounds: Round[]) {
    super();
    this.shape = shape;
    this.fault = fault;
    this.rounds = shape.keyed ? rounds : [rounds[0]?.slice(0, 1) ?? [undefined]];
  }
  async run(_: Model, history: History) {
    const intent = await history.begin(this.shape);
    if (this.fault !== undefined) history.setFault(CONNECTIONS[this.shape.connection].server, this.fault);
    for (const round of this.rounds) await Promise.all(round.map((moment) => history.ask(intent, moment)));
  }
  toString() {
    return `begin(${[this.shape, this.fault, this.rounds].map((part) => JSON.stringify(part)).join(', ')})`;
  }
}

/** Retries of an earlier request. */
class Retry extends Step {
  readonly which: number;
  readonly round: Round;
  constructor(which: number, round: Round) {
    super();
    this.which = which;
    this.round = round;
  }
  async run(_: Model, history: History) {
    const keyed = history.intents.filter(({ call }) => call.key !== undefined);
    const intent = keyed[this.which % keyed.length];
    if (intent !== undefined) await Promise.all(this.round.map((moment) => history.ask(intent, moment)));
  }
  toString() {
    return `retry(${this.which}, ${JSON.stringify(this.round)})`;
  }
}

class SetFault extends Step {
  readonly target: keyof AccountWorld['faults'];
  readonly fault: Fault;
  constructor(target: keyof AccountWorld['faults'], fault: Fault) {
    super();
    this.target = target;
    this.fault = fault;
  }
  async run(_: Model, history: History) {
    history.setFault(this.target, this.fault);
  }
  toString() {
    return `fault(${this.target}, ${JSON.stringify(this.fault)})`;
  }
}

class Other extends Step {
  readonly does: 'heal' | 'wait' | 'retire';
  constructor(does: 'heal' | 'wait' | 'retire') {
    super();
    this.does = does;
  }
  async run(_: Model, { world }: History) {
    if (this.does === 'heal') world.clearFaults();
    if (this.does === 'wait') await sleep(500);
    if (this.does === 'retire') await world.environments.retire();
  }
  toString() {
    return this.does;
  }
}

const shape: fc.Arbitrary<Shape> = fc
  .record({
    connection: fc.constantFrom<ConnectionId[]>(
      'tp5-live',
      'tp5-live',
      'tp5-live',
      'tp5-demo',
      'gw-live',
      'gw-demo',
      'reg-live',
    ),
    keyed: fc.constantFrom(true, true, true, true, false),
    login: fc.boolean(),
    given: fc.boolean(),
    readonly: fc.boolean(),
    notices: fc.boolean(),
  })
  // With a login of its own an account cannot be opened twice by mistake, which proves little.
  .chain((one) =>
    fc.boolean().map((rare) => ({ ...one, login: one.login && (rare || !one.connection.startsWith('tp5')) })),
  )
  .map((one) => (one.connection.startsWith('reg') ? { ...one, login: false, readonly: false } : one));

const moment: fc.Arbitrary<Moment> = fc.oneof(
  fc.record({ kind: fc.constant('time' as const), count: fc.integer({ min: 0, max: 40 }), laterMs: fc.constant(0) }),
  fc.record({
    kind: fc.constant('database' as const),
    count: fc.integer({ min: 1, max: 6 }),
    laterMs: fc.constantFrom(0, 2, 8),
  }),
  fc.record({
    kind: fc.constant('platform' as const),
    count: fc.integer({ min: 1, max: 3 }),
    laterMs: fc.constantFrom(0, 0, 1, 3, 10),
  }),
);
const maybeKilled = fc.oneof(fc.constant(undefined), fc.constant(undefined), moment);

const serviceFault = fc.record({
  kind: fc.constantFrom<FaultKind[]>('throttled', 'refused', 'down', 'slow'),
  times: fc.integer({ min: 1, max: 4 }),
  after: fc.integer({ min: 0, max: 5 }),
  ms: fc.constantFrom(30, 300),
});
/** Those whose outcome is not known come most often. */
const platformFault = fc.record({
  kind: fc.oneof(
    fc.constantFrom<FaultKind[]>('slow', 'reply_lost', 'session_dropped', 'silence', 'garbage'),
    fc.constantFrom<FaultKind[]>('slow', 'reply_lost'),
    fc.constantFrom<FaultKind[]>(...PLATFORM_FAULT_KINDS),
  ),
  times: fc.constantFrom(1, 1, 2),
  after: fc.constantFrom(0, 0, 0, 1, 2),
  ms: fc.constantFrom(...SLOW_MS),
  // Without those that are answered as if the request itself were wrong.
  code: fc.constantFrom(2, 7, 9, 10, 11, 12, 14, 1001, 1018),
});

const round: fc.Arbitrary<Round> = fc.array(maybeKilled, { minLength: 1, maxLength: 2 });
const begin = fc
  .tuple(
    shape,
    fc.oneof(platformFault, platformFault, fc.constant(undefined)),
    fc.array(round, { minLength: 2, maxLength: 3 }),
  )
  .map(([one, fault, rounds]) => new Begin(one, fault, rounds));
const retry = fc.tuple(fc.nat(9), round).map(([which, tries]) => new Retry(which, tries));
const onPlatform = fc
  .tuple(fc.constantFrom<ServerName[]>('tp5', 'tp5', 'gw', 'reg'), platformFault)
  .map(([target, fault]) => new SetFault(target, fault));
const onService = fc
  .tuple(fc.constantFrom('dynamodb' as const, 'dynamodb' as const, 'secrets' as const, 'ses' as const), serviceFault)
  .map(([target, fault]) => new SetFault(target, fault));
const other = fc.constantFrom('heal' as const, 'wait' as const, 'retire' as const).map((does) => new Other(does));

const histories = fc.array(fc.oneof(begin, begin, begin, begin, retry, onPlatform, onService, other), {
  minLength: 3,
  maxLength: 6,
  size: 'max',
});

interface Violation {
  history: string;
  message: string;
}
export interface Summary {
  seed: number;
  counts: Counts;
  violations: Violation[];
  seconds: number;
}

export interface HistoriesOptions {
  bundles: Bundles;
  /** How many histories. */
  runs: number;
  /** How many at a time, each with everything of its own. */
  lanes: number;
  seed: number;
  progress?: (counts: Counts, violations: number) => void;
}

/** Runs so many histories; the same seed makes up the same ones, though not the same moments. */
export async function runHistories({ bundles, runs, lanes, seed, progress }: HistoriesOptions): Promise<Summary> {
  const began = Date.now();
  const counts: Counts = { histories: 0, requests: 0, kills: 0, faults: 0, accounts: 0, answers: {}, passwords: 0 };
  const violations: Violation[] = [];
  const pool = new WorldPool(lanes, { bundles, settleSeconds: SETTLE_SECONDS });
  const one = (commands: Command[]) =>
    pool.use(async (world) => {
      try {
        let history: History | undefined;
        await fc.asyncModelRun(() => {
          history = new History(world, counts);
          return { model: {}, real: history };
        }, commands);
        await history?.end();
      } catch (error) {
        violations.push({
          history: commands.join('\n'),
          message: error instanceof Error ? error.message : String(error),
        });
      }
      progress?.(counts, violations.length);
    });
  try {
    await Promise.all(fc.sample(histories, { numRuns: runs, seed }).map(one));
  } finally {
    counts.passwords = pool.worlds.reduce((sum, { passwords }) => sum + passwords.size, 0);
    await pool.close().catch((error: Error) => violations.push({ history: 'all of them', message: error.message }));
  }
  return { seed, counts, violations, seconds: (Date.now() - began) / 1_000 };
}
