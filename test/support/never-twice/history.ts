import type { Fault, FaultKind, IncomingCall } from '../../../infra/local/faults.ts';
import { CREATE_FAILED, errorText } from '../../../infra/local/platforms/text-server.ts';
import type { Life } from '../../../lib/openings/life.ts';
import { type AnswerKind, commandProof, provenBy, statusKind } from '../../../lib/platform/proof.ts';
import { codeKind, RETCODE_INVALID_PARAMETERS } from '../../../lib/platform/tp5/answers.ts';
import type { LoginRange } from '../../../lib/records/crm-records.ts';
import type { AccountAnswer } from '../account-calls.ts';
import { CONNECTIONS, isKeyed, type KeyedConnectionId, RANGES } from '../account-connections.ts';
import { type AccountWorld, anotherOperationComment, newClient, type Target } from '../account-world.ts';
import {
  checkAccounts,
  checkAnswer,
  checkEnd,
  type Intent,
  newIntent,
  newLogin,
  type ObservedState,
  OTHER_PROGRAMS,
  type RequestShape,
  statusAndType,
} from './checks.ts';
import { answerInShort, Diary } from './diary.ts';
import type { LedgerWatch } from './ledger-watch.ts';
import { ModedServers } from './modes.ts';
import { disturbFunction, listenTo, type Moment } from './moments.ts';
import { type Edit, KEPT_MS, type Round, type Step, type Story } from './steps.ts';

const HOUR_MS = 60 * 60_000;
/** The time that passes before each of the last runs of the settler, in milliseconds; in the end more than a day. */
const SETTLED_AFTER_MS = [0, 200_000, HOUR_MS + 60_000, HOUR_MS + 60_000, 24 * HOUR_MS, HOUR_MS + 60_000];
/** The time after which nothing is pending, in milliseconds. An operator who finds no account waits for it. */
const COMMANDS_END_MS = 400_000;
/** The time of the function at the end of a history, when nothing fails any more, in milliseconds. */
const LAST_MS = 20_000;
const MAX_RETRIES = 25;
/** The pause between two retries while something of the account is missing or another worker holds the operation. */
const INCOMPLETE_SECONDS = 30;
/** Faults of servers that answer that a login exists, or open another one, after they have executed the command. */
const LIES: ReadonlySet<FaultKind> = new Set(['executed_twice', 'login_ignored']);
/** The id that a CRM writes into a comment. */
const CRM_ID = '6f1d8a52-5c1c-4f0e-9d3e-000000000000';
/** Strangers' accounts in the range of `tp5-demo`. */
const STRANGERS = { group: 'real\\standard', from: 502_000, count: 1_000 };

/** The timeout of a function, in milliseconds. A function stops working four seconds earlier. */
const FUNCTION_MS = 8_000;

type Undecided = Life & { at: 'undecided' };

/** The time for which API Gateway waits for a function, in milliseconds. */
const GATEWAY_WAITS_MS = 30_000;

/** How often something happened, by its name, such as `kills` or `answer 200`. */
export type Counts = Map<string, number>;

export function addCount(counts: Counts, name: string, times = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + times);
}

/** Requests for accounts in one world, and what happens to them. */
export class History {
  readonly #world: AccountWorld;
  readonly #watch: LedgerWatch;
  readonly #count: (name: string, times?: number) => void;
  readonly #diary: Diary;
  readonly #intents: Intent[] = [];
  /** The place of an error. */
  readonly #faulty = new Set<Target>();
  /** The stopped functions, which resume while others work. */
  readonly #stopped: Promise<unknown>[] = [];
  #failure: unknown;
  #tries = 0;
  /** The servers with faults of `LIES`. */
  readonly #liars = new Set<Target>();
  #ignoresLogins = false;
  /** The logins that a server has paid twice by itself. */
  readonly #repeated = new Set<number>();
  /** Paying commands whose outcome is not a certain refusal, by login. */
  readonly #payments = new Map<number, number>();
  /** The logins whose right password a fault has refused. */
  readonly #contradicted = new Set<number>();
  readonly #stopListening: () => void;
  readonly #editedRanges = new Set<KeyedConnectionId>();
  readonly #servers: ModedServers;
  readonly #logFrom: number;

  constructor(world: AccountWorld, watch: LedgerWatch, counts: Counts, { modes }: Story) {
    this.#world = world;
    this.#watch = watch;
    this.#count = (name, times) => addCount(counts, name, times);
    this.#diary = new Diary(world);
    this.#servers = new ModedServers(world, modes);
    this.#count(`passwords: ${modes.passwordCheck}`);
    this.#count(`paths: ${modes.paths}`);
    this.#count(`WCHKACCOUNT: ${modes.accountCheck}`);
    world.servers.tp5.populate(STRANGERS);
    world.servers.gw.populate(OTHER_PROGRAMS);
    this.#logFrom = world.environments.log.length;
    this.#stopListening = listenTo(world.servers.tp5.faults, (call) => this.#noteCall(call));
  }

  /** @throws Error if a promise was broken, with what happened */
  async play(steps: readonly Step[]): Promise<void> {
    const { clock } = this.#world;
    this.#count('histories');
    try {
      // Functions remember how a server speaks.
      await this.#world.environments.retire();
      // Strangers open accounts in this range.
      await this.#servers.writeRanges('tp5-demo', RANGES['tp5-demo'], true);
      for (const id of ['gw-live', 'gw-demo'] as const) await this.#servers.writeRanges(id, RANGES[id]);
      for (const step of steps) await this.#take(step);
      this.#servers.heal();
      for (const intent of this.#intents) if (intent.returns) await this.#finish(intent);
      await clock.pass(COMMANDS_END_MS);
      await Promise.all(this.#stopped);
      if (this.#failure !== undefined) throw this.#failure;
      await this.#checkEnd();
      this.#watch.check();
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      throw new Error(`${what}\n${this.#diary.lastLines()}`);
    } finally {
      this.#diary.end();
      // The next history meets no fault of this one.
      this.#world.clearFaults();
      await clock.pass(COMMANDS_END_MS);
      await Promise.allSettled(this.#stopped);
      this.#watch.violations.length = 0;
      this.#stopListening();
      for (const id of this.#editedRanges) await this.#world.writeConnection(id, { logins: RANGES[id] });
    }
  }

  async #take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'begin': {
        const intents = await this.#begin(step.shape, step.rivals);
        this.#intents.push(...intents);
        for (const { target, fault } of step.faults) {
          this.#setFault(target, fault);
          // The fault is in a login to the server, and a warm function has logged in before.
          if (fault.step !== undefined) await this.#world.environments.retire();
        }
        const [first] = intents;
        for (const round of step.rounds) {
          await this.#askAll(intents, round);
          if (round.edit !== undefined && first !== undefined) await this.#edit(round.edit, first);
        }
        return;
      }
      case 'retry': {
        const keyed = this.#intents.filter(({ key }) => key !== undefined);
        const intent = keyed[step.which % keyed.length];
        return intent === undefined ? undefined : this.#askAll([intent], step.round);
      }
      case 'edit': {
        const intent = this.#intents[step.which % this.#intents.length];
        return intent === undefined ? undefined : this.#edit(step.edit, intent);
      }
      case 'fault':
        return this.#setFault(step.target, step.fault);
      case 'heal':
        return this.#servers.heal();
      case 'settle':
        return this.#settle(step.moment);
      case 'retire':
        return this.#world.environments.retire();
      case 'jump':
        return this.#world.environments.jump(step.ms);
    }
  }

  async #settle(moment: Moment | null): Promise<void> {
    const run = this.#world.settle();
    const places = { database: this.#world.faults.dynamodb, server: this.#world.servers.tp5.faults };
    const disturbed = moment === null ? false : await disturbFunction(moment, places, run);
    if (moment?.stopMs === undefined) await run.outcome;
    else this.#stopped.push(run.outcome);
    if (disturbed) this.#count(moment?.stopMs === undefined ? 'kills' : 'stops');
  }

  #setFault(target: Target, fault: Fault): void {
    this.#count('faults');
    this.#faulty.add(target);
    if (fault.kind === 'executed_retcode') this.#count(`executed by ${target}, and answered ${fault.code}`);
    if (fault.step !== undefined) this.#count(`${fault.step}: ${fault.kind === 'retcode' ? fault.code : fault.kind}`);
    if (LIES.has(fault.kind) || saysThatItExists(target, fault)) this.#liars.add(target);
    this.#ignoresLogins ||= fault.kind === 'login_ignored';
    this.#world.faults[target].set(fault);
  }

  /** Sends requests at once, and waits for those whose functions are not stopped. */
  async #askAll(intents: readonly Intent[], { tries, passMs, beforeKeyEndsMs, fault }: Round): Promise<void> {
    const { clock } = this.#world;
    const [first] = intents;
    if (beforeKeyEndsMs !== undefined && first !== undefined) {
      const until = first.begunAt + KEPT_MS - beforeKeyEndsMs;
      if (until > clock.now()) await clock.pass(until - clock.now());
    }
    if (fault !== undefined && first !== undefined) this.#server(first).faults.set(fault);
    const waited: Promise<unknown>[] = [];
    for (const [index, moment] of tries.entries()) {
      for (const intent of intents) {
        // Of two requests for the same account, a fault happens to the first.
        const disturbance = intent === first || index > 0 ? moment : null;
        const asked = this.#ask(intent, disturbance);
        if (disturbance?.stopMs === undefined) waited.push(asked);
        else this.#stopped.push(asked.catch((error) => (this.#failure ??= error)));
      }
    }
    await Promise.all(waited);
    if (this.#failure !== undefined) throw this.#failure;
    await clock.pass(passMs);
  }

  /** Sends a request, and kills or stops its function at this moment if the function still works then. */
  async #ask(intent: Intent, moment: Moment | null, ms = FUNCTION_MS): Promise<AccountAnswer | undefined> {
    const name = `${intent.name.split(' {')[0]}, try ${++this.#tries}`;
    this.#diary.write(`${name} begins${moment === null ? '' : `, disturbed: ${JSON.stringify(moment)}`}`);
    const began = this.#world.clock.now();
    this.#count('requests');
    intent.running += 1;
    const pending = this.#world.send({ ...intent.call, ms });
    const places = { database: this.#world.faults.dynamodb, server: this.#server(intent).faults };
    const disturbance = moment === null ? false : disturbFunction(moment, places, pending);
    const answer = await pending.answer;
    const { kind } = await pending.outcome;
    const disturbed = await disturbance;
    this.#diary.write(`${name} ends: ${kind}${answerInShort(answer)}`);
    intent.running -= 1;
    if (kind === 'crash') throw new Error(`${intent.name}: the function crashed`);
    // Lambda ends a function that takes too long. On a busy machine this is another way to be killed.
    if (kind === 'killed' || kind === 'timed out') this.#count('kills');
    else if (disturbed) this.#count('stops');
    if (disturbed || kind !== 'answer') intent.disturbed = true;
    intent.uses = this.#operations(intent).length;
    // A function that was stopped answers after the gateway has answered in its place.
    const received = this.#world.clock.now() - began > GATEWAY_WAITS_MS ? undefined : answer;
    this.#watch.check();
    this.#see(intent, received);
    return received;
  }

  #noteCall({ name, parameters, fault }: IncomingCall): void {
    const { kind, code = 2 } = fault ?? {};
    const isCalledWrong = kind === 'retcode' && provenBy('password', answerKind(code)) === 'refused';
    if (name === '/api/user/check_password' && isCalledWrong) this.#contradicted.add(Number(parameters?.Login));
    if (name !== '/api/trade/balance') return;
    const isRefused =
      kind === 'refused' || (kind === 'retcode' && commandProof('deposit', answerKind(code)) !== 'nothing');
    const login = Number(parameters?.Login);
    if (kind === 'executed_twice') this.#repeated.add(login);
    if (!isRefused) this.#payments.set(login, (this.#payments.get(login) ?? 0) + 1);
  }

  /** New requests: one, or two for the same account. */
  async #begin(shape: RequestShape, rivals: boolean): Promise<Intent[]> {
    const login = newLogin(shape);
    const now = this.#world.clock.now();
    const one = newIntent(shape, await newClient(this.#world), login, now);
    if (!rivals) return [one];
    // The second request may name another connection to the same server.
    const connection = shape.connection === 'tp5-live' ? 'tp5-list' : shape.connection;
    return [one, newIntent({ ...shape, connection }, await newClient(this.#world), login, now)];
  }

  /** Edits by people of the CRM, the server or an operation. */
  async #edit(edit: Edit, intent: Intent): Promise<void> {
    this.#diary.write(`${intent.name.split(' {')[0]}: ${JSON.stringify(edit)}`);
    const { client, shape } = intent;
    const world = this.#world;
    const server = this.#server(intent);
    const { accounts } = this.#accounts(intent);
    const editAll = (changes: (comment: string) => { comment?: string; group?: string }) => {
      for (const { login, comment } of accounts) server.edit(login, changes(comment));
    };
    const writeRange = async (logins: LoginRange, strict = false) => {
      if (!isKeyed(shape.connection)) return;
      this.#editedRanges.add(shape.connection);
      await this.#servers.writeRanges(shape.connection, logins, strict);
    };
    // A row of the limits: before the first answer, only the password proves whose an account is that has the id of
    // another operation.
    const isProvable = this.#servers.checksPasswords && !shape.given;
    const isProven =
      !isKeyed(shape.connection) ||
      intent.answers.length > 0 ||
      (isProvable && !this.#faulty.has(CONNECTIONS[shape.connection].server));
    const edits: Record<Edit, () => unknown> = {
      'client renamed': () => world.writeClients([{ ...client, name: 'Renatina Featherstone' }]),
      'range edited': () => writeRange({ from: 506_000, to: 507_999 }),
      'range shared': () => writeRange({ from: 500_000, to: 503_999 }, true),
      'comment edited': () => editAll(() => ({ comment: 'VIP client' })),
      'comment deleted': () => editAll(() => ({ comment: '' })),
      'comment cut': () => editAll((comment) => ({ comment: comment.slice(0, 31) })),
      'comment of a CRM': () => editAll(() => ({ comment: CRM_ID })),
      'comment of another operation': () => isProven && editAll(() => ({ comment: anotherOperationComment() })),
      'group edited': () => editAll(() => ({ group: 'vip' })),
      'data hidden': () => Object.assign(world.rights, { personalData: false }),
      'names shown': () => Object.assign(world.rights, { personalData: 'names' }),
      'data shown': () => Object.assign(world.rights, { personalData: true }),
      'server restored': () => accounts.map(({ login }) => server.remove(login)),
      'operator decides': () => this.#operate(intent),
    };
    intent.isContradicted ||= edit === 'comment of another operation';
    intent.isRestored ||= edit === 'server restored';
    await edits[edit]();
  }

  /** After each try. @throws Error if a promise was broken */
  #see(intent: Intent, answer: AccountAnswer | undefined): void {
    if (answer !== undefined) {
      intent.lastWord = statusAndType(answer);
      this.#count(`answer ${intent.lastWord}`);
      checkAnswer(this.#sight(intent), intent, answer);
    }
    for (const one of this.#intents) checkAccounts(this.#accounts(one), { ...one, uses: this.#operations(one).length });
  }

  /** When everything is over. */
  async #checkEnd(): Promise<void> {
    await this.#settleAll();
    for (const intent of this.#intents) await this.#operate(intent);
    await this.#settleAll();
    const published = this.#world.published();
    for (const intent of this.#intents) {
      intent.uses = this.#operations(intent).length;
      const sight = {
        ...this.#sight(intent),
        records: await this.#world.records(intent.client.id),
        published,
        isDepositReported: (login: number) => this.#isLogged(login, '"DepositFailed"'),
        // The payment may be recorded although it was not sent.
        mayLackDeposit:
          intent.disturbed ||
          this.#faulty.has('dynamodb') ||
          this.#operations(intent).some(({ operation_id }) => this.#watch.found.has(operation_id)),
        isPaymentRepeated: (login: number) => this.#repeated.has(login),
      };
      checkEnd(sight, intent);
      this.#count('accounts', sight.accounts.length);
    }
  }

  async #settleAll(): Promise<void> {
    for (const ms of SETTLED_AFTER_MS) {
      await this.#world.clock.pass(ms);
      const { kind } = await this.#world.settle().outcome;
      if (kind !== 'answer') throw new Error(`The settler ended with ${kind}.`);
    }
  }

  /** An operator looks at the server and decides. */
  async #operate(intent: Intent): Promise<void> {
    for (const { operation_id: operationId, life, plan } of this.#operations(intent)) {
      if (life?.at !== 'undecided') continue;
      const { login: sent = 0 } = life;
      const isContradicted = intent.isContradicted || this.#contradicted.has(sent) || this.#isAmongStrangers(sent);
      const { server } = CONNECTIONS[intent.shape.connection];
      const isUnknown =
        isContradicted || intent.isRestored || this.#liars.has(server) || !this.#servers.showsLogins(server);
      if (isKeyed(intent.shape.connection) && plan?.exclusive === true && !isUnknown)
        throw new Error(`${intent.name}: left to the operators, and nothing contradicts the ledger`);
      const { kind } = await this.#world.operate({ operationId, ...(await this.#findAccount(intent, life)) }).outcome;
      // A command that the database refuses changes nothing. The operator repeats it later.
      if (kind !== 'answer' && this.#faulty.has('dynamodb')) continue;
      if (kind !== 'answer') throw new Error(`The operators' command ended with ${kind}.`);
      this.#count('decided');
    }
  }

  /** The account that an operator finds on the server. */
  async #findAccount(intent: Intent, { login, other }: Undecided): Promise<{ login?: number; foreign?: number }> {
    const find = () =>
      this.#accountOf(intent, login) ?? (other === undefined ? undefined : this.#accountOf(intent, other));
    if (find() === undefined) await this.#world.clock.pass(COMMANDS_END_MS);
    const found = find();
    if (found !== undefined) return { login: found.login };
    const isForeign = login !== undefined && this.#isStrangers(intent, login);
    return isForeign ? { foreign: login } : {};
  }

  /** The account of an operation that is undecided; the newest, if the protocol cannot name logins. */
  #accountOf(intent: Intent, login: number | undefined) {
    const { accounts } = this.#accounts(intent);
    return accounts.findLast((one) =>
      login === undefined ? this.#holder(intent, one.login) === undefined : one.login === login,
    );
  }

  #isStrangers(intent: Intent, login: number): boolean {
    const isOnGateway = CONNECTIONS[intent.shape.connection].server === 'gw';
    const isPopulated = isOnGateway ? isIn(OTHER_PROGRAMS, login) : this.#isAmongStrangers(login);
    return isPopulated || this.#accounts(intent).onServer.some((one) => one.login === login);
  }

  #isAmongStrangers(login: number): boolean {
    return isIn(STRANGERS, login);
  }

  /** Repeats a request until it is answered, and complete by its answers. */
  async #finish(intent: Intent): Promise<void> {
    let word: string | undefined;
    for (let retry = 0; retry < MAX_RETRIES; retry += 1) {
      const last = await this.#ask(intent, null, LAST_MS);
      word = last === undefined ? undefined : statusAndType(last);
      // A restored server may have no account that a deposit could be paid to.
      const isComplete = intent.isRestored || this.#isComplete(intent);
      if (word === '409 login_taken' || (word === '200' && isComplete)) return;
      // No answer shows whether an earlier command was executed, so an operator ends the operation.
      if (word === '502 platform_refused' && !this.#servers.showsLogins(CONNECTIONS[intent.shape.connection].server))
        return;
      if (word?.endsWith('account_outcome_unknown') === true) {
        if (
          retry === 0 &&
          last?.headers['retry-after'] !== undefined &&
          this.#operations(intent).at(-1)?.life?.at === 'undecided'
        )
          throw new Error(`${intent.name}: an undecided operation asks for a retry`);
        await this.#operate(intent);
      }
      const waits = word === '200' || word === '409 request_in_progress';
      const seconds = waits ? INCOMPLETE_SECONDS : Number(last?.headers['retry-after'] ?? 1);
      await this.#world.clock.pass(seconds * 1_000);
    }
    throw new Error(`${intent.name}: never answered, or never complete; in the end ${word}`);
  }

  /** Whether nothing is missing, except for a payment that may have been lost. */
  #isComplete(intent: Intent): boolean {
    const life = this.#operations(intent).at(-1)?.life;
    return life?.at === 'done' || (life?.at === 'open' && life.recorded && life.published && life.deposit === 'sent');
  }

  #server({ shape }: Intent) {
    return this.#world.servers[CONNECTIONS[shape.connection].server];
  }

  #operations({ client }: Intent) {
    return this.#watch.of(({ plan }) => plan?.user_id === client.id);
  }

  #holder({ shape: { connection } }: Intent, login: number): string | undefined {
    const { version, server } = CONNECTIONS[connection];
    const place = isKeyed(connection) ? version : `127.0.0.1:${this.#world.servers[server].port}`;
    return this.#watch.holders.get(`${place}#${login}`);
  }

  #sight(intent: Intent): ObservedState {
    const { accounts, onServer } = this.#accounts(intent);
    return {
      accounts,
      account: (login) => onServer.find((one) => one.login === login),
      access: (login, password) => this.#server(intent).access(login, password),
      holder: (login) => this.#holder(intent, login),
      operations: this.#operations(intent),
      current: this.#operations(intent).findLast(({ pk, operation_id }) => this.#watch.stored.get(pk) === operation_id)
        ?.operation_id,
      payments: (login) => this.#payments.get(login) ?? 0,
    };
  }

  #accounts(intent: Intent) {
    const onServer = this.#server(intent).accounts();
    const ofClient = onServer.filter(({ email }) => email === intent.client.email);
    return { onServer, accounts: ofClient.filter(({ login }) => !this.#isUnknowable(intent, login)) };
  }

  /** A row of the limits: the server has chosen the login, and its answer was lost, so that no operation names it. */
  #isUnknowable(intent: Intent, login: number): boolean {
    if (!this.#ignoresLogins || !intent.disturbed || !isKeyed(intent.shape.connection)) return false;
    const lives = this.#operations(intent).map(({ life }) => (life ?? {}) as Partial<Undecided>);
    return !lives.some((life) => life.login === login || life.other === login);
  }

  #isLogged(login: number, word: string): boolean {
    const log = this.#world.environments.log.slice(this.#logFrom).join('').split('\n');
    return log.some((line) => line.includes(`"login":${login},`) && line.includes(word));
  }
}

/**
 * Whether a fault executes a command whose sender is then told that the login exists: by the gateway's text, or because
 * the command is sent again, with the other content type.
 */
function saysThatItExists(target: Target, { kind, code = 2 }: Fault): boolean {
  if (kind !== 'executed_retcode') return false;
  return target === 'gw' ? errorText(code) === CREATE_FAILED : target === 'tp5' && code === RETCODE_INVALID_PARAMETERS;
}

/** The kind of an answer of the tp5 server that has this code of a fault. */
function answerKind(code: number): AnswerKind {
  if (code === 200) return 'page';
  return code >= 300 && code < 600 ? statusKind(code) : codeKind(code);
}

function isIn({ from, count: size }: { from: number; count: number }, login: number): boolean {
  return from <= login && login < from + size;
}
