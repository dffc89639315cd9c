import type { Faults, IncomingCall } from '../../../infra/local/faults.ts';
import { UNDOCUMENTED_CODE } from '../../../infra/local/platforms/simulated-server.ts';
import { WRONG_PASSWORD } from '../../../lib/platform/web-api/answers.ts';
import type { LoginRange } from '../../../lib/records/crm-records.ts';
import type { AccountAnswer } from '../account-calls.ts';
import { CONNECTIONS, isKeyed, type KeyedConnectionId, RANGES } from '../account-connections.ts';
import type { AccountWorld } from '../account-world.ts';
import { newClient } from '../world-pool.ts';
import {
  checkAccounts,
  checkAnswer,
  checkEnd,
  type Intent,
  newIntent,
  newLogin,
  type Shape,
  type Sight,
  wordOf,
} from './checks.ts';
import type { LedgerWatch } from './ledger-watch.ts';
import { listenTo } from './moments.ts';
import { type Counts, Rounds } from './rounds.ts';
import type { Edit, Story } from './steps.ts';

const HOUR_MS = 60 * 60_000;
/** The time that passes before each of the last runs of the settler, in milliseconds; in the end more than a day. */
const SETTLED_AFTER_MS = [0, 200_000, HOUR_MS + 60_000, HOUR_MS + 60_000, 24 * HOUR_MS, HOUR_MS + 60_000];
/** After this time no command is pending, in milliseconds. An operator who finds no account waits for that. */
const COMMANDS_END_MS = 400_000;
/** At the end of a history nothing is in the way any more: the function's time then, in milliseconds. */
const LAST_MS = 20_000;
const MAX_RETRIES = 25;
/** Between two retries, if something of the account is missing or another worker holds the operation. */
const INCOMPLETE_SECONDS = 30;
/** Return codes that do not say whether the command was executed. */
const UNDECIDED = [2, 7, 9, 14, 16, 17, UNDOCUMENTED_CODE];
/** The comment of an operation that is none of these. */
export const OTHERS_ID = '6f1d8a52-5c1c-4f0e-9d3e-000000000000';
/** Strangers' accounts in the range of `tp5-demo`. */
const STRANGERS = { group: 'real\\standard', from: 502_000, count: 1_000 };

/** Requests for accounts. */
export class History extends Rounds<Intent, AccountAnswer, Shape> {
  protected readonly ms = 8_000;
  /** Paying commands whose outcome is not a certain refusal, by login. */
  readonly #payments = new Map<number, number>();
  /** The logins whose right password a fault has called wrong. */
  readonly #contradicted = new Set<number>();
  readonly #stopListening: () => void;
  readonly #editedRanges = new Set<KeyedConnectionId>();
  readonly #logFrom: number;

  constructor(world: AccountWorld, watch: LedgerWatch, counts: Counts, { passwordCheck, personalData }: Story) {
    super(world, watch, counts);
    world.gateway.passwordCheck = passwordCheck;
    world.rights.personalData = personalData;
    world.servers.tp5.populate(STRANGERS);
    this.#logFrom = world.environments.log.length;
    this.#stopListening = listenTo(world.servers.tp5.faults, (call) => this.#noteCall(call));
  }

  async end(): Promise<void> {
    this.#stopListening();
    for (const id of this.#editedRanges) await this.world.writeLogins(id, RANGES[id]);
  }

  #noteCall({ name, parameters, fault }: IncomingCall): void {
    const { kind, code = 2 } = fault ?? {};
    const isCalledWrong = kind === 'retcode' && code === WRONG_PASSWORD;
    if (name === '/api/user/check_password' && isCalledWrong) this.#contradicted.add(Number(parameters?.Login));
    if (name !== '/api/trade/balance') return;
    const isRefused = kind === 'throttled' || kind === 'refused' || (kind === 'retcode' && !UNDECIDED.includes(code));
    const login = Number(parameters?.Login);
    if (!isRefused) this.#payments.set(login, (this.#payments.get(login) ?? 0) + 1);
  }

  protected async begin(shape: Shape, rivals: boolean): Promise<Intent[]> {
    const login = newLogin(shape);
    const now = this.world.clock.now();
    const one = newIntent(shape, await newClient(this.world), login, now);
    if (!rivals) return [one];
    // The second one may come by another connection to the same server.
    const connection = shape.connection === 'tp5-live' ? 'tp5-list' : shape.connection;
    return [one, newIntent({ ...shape, connection }, await newClient(this.world), login, now)];
  }

  protected send(intent: Intent, ms: number) {
    return this.world.send({ ...intent.call, ms });
  }

  protected serverOf(intent: Intent): Faults {
    return this.#server(intent).faults;
  }

  protected usesOf(intent: Intent): number {
    return this.#operations(intent).length;
  }

  protected async edit(edit: Edit, intent: Intent): Promise<void> {
    const { client, shape } = intent;
    const { world } = this;
    const server = this.#server(intent);
    const { accounts } = this.#accounts(intent);
    const editAll = (changes: (comment: string) => { comment?: string; group?: string }) => {
      for (const { login, comment } of accounts) server.edit(login, changes(comment));
    };
    const writeRange = async (logins: LoginRange) => {
      if (!isKeyed(shape.connection)) return;
      this.#editedRanges.add(shape.connection);
      await world.writeLogins(shape.connection, logins);
    };
    const edits: Record<Edit, () => unknown> = {
      'client renamed': () => world.writeClients([{ ...client, name: 'Renatina Featherstone' }]),
      'range edited': () => writeRange({ from: 506_000, to: 507_999 }),
      'range shared': () => writeRange({ from: 500_000, to: 503_999 }),
      'comment edited': () => editAll(() => ({ comment: 'VIP client' })),
      'comment deleted': () => editAll(() => ({ comment: '' })),
      'comment cut': () => editAll((comment) => ({ comment: comment.slice(0, 31) })),
      'comment of another operation': () => editAll(() => ({ comment: OTHERS_ID })),
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

  protected see(intent: Intent, answer: AccountAnswer | undefined): void {
    if (answer !== undefined) {
      intent.lastWord = wordOf(answer);
      this.count(intent.lastWord);
      checkAnswer(this.#sight(intent), intent, answer);
    }
    for (const one of this.intents) checkAccounts(this.#accounts(one), { ...one, uses: this.usesOf(one) });
  }

  protected async checkEnd(): Promise<void> {
    await this.#settleAll();
    for (const intent of this.intents) await this.#operate(intent);
    await this.#settleAll();
    const published = this.world.published();
    for (const intent of this.intents) {
      intent.uses = this.usesOf(intent);
      const sight = {
        ...this.#sight(intent),
        records: await this.world.records(intent.client.id),
        published,
        isDepositReported: (login: number) => this.#isLogged(login, '"DepositFailed"'),
        // The paying command may have been written down without being sent.
        mayLackDeposit: intent.befallen || this.faulty.has('dynamodb'),
      };
      checkEnd(sight, intent);
      this.counts.accounts += sight.accounts.length;
    }
  }

  async #settleAll(): Promise<void> {
    for (const ms of SETTLED_AFTER_MS) {
      await this.world.clock.pass(ms);
      const { kind } = await this.world.settle().outcome;
      if (kind !== 'answer') throw new Error(`The settler ended with ${kind}.`);
    }
  }

  /** An operator looks at the server and decides. */
  async #operate(intent: Intent): Promise<void> {
    for (const { operation_id: operationId, life } of this.#operations(intent)) {
      if (life?.at !== 'undecided') continue;
      const { login: sent = 0 } = life;
      const isContradicted = intent.isContradicted || this.#contradicted.has(sent) || this.#isAmongStrangers(sent);
      if (isKeyed(intent.shape.connection) && !isContradicted)
        throw new Error(`${intent.name}: left to the operators, and nothing contradicts the ledger`);
      if (this.#accountOf(intent, life.login) === undefined) await this.world.clock.pass(COMMANDS_END_MS);
      const login = this.#accountOf(intent, life.login)?.login;
      const { kind } = await this.world.operate({ operationId, ...(login === undefined ? {} : { login }) }).outcome;
      // A command that the database refuses changes nothing. The operator repeats it later.
      if (kind !== 'answer' && this.faulty.has('dynamodb')) continue;
      if (kind !== 'answer') throw new Error(`The operators' command ended with ${kind}.`);
      this.counts.decided += 1;
    }
  }

  /** The account of an operation that is undecided; the newest, if the protocol cannot name logins. */
  #accountOf(intent: Intent, login: number | undefined) {
    const { accounts } = this.#accounts(intent);
    return accounts.findLast((one) =>
      login === undefined ? this.#holder(intent, one.login) === undefined : one.login === login,
    );
  }

  #isAmongStrangers(login: number): boolean {
    return login >= STRANGERS.from && login < STRANGERS.from + STRANGERS.count;
  }

  /** It is repeated until it is answered and complete, as the answers say. */
  protected async finish(intent: Intent): Promise<void> {
    let word: string | undefined;
    for (let retry = 0; retry < MAX_RETRIES; retry += 1) {
      const last = await this.ask(intent, null, LAST_MS);
      word = last === undefined ? undefined : wordOf(last);
      // A restored server may have no account that a deposit could be paid to.
      const isComplete = intent.isRestored || this.#isComplete(intent);
      if (word === '409 login_taken' || (word === '200' && isComplete)) return;
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
      await this.world.clock.pass(seconds * 1_000);
    }
    throw new Error(`${intent.name}: never answered, or never complete; in the end ${word}`);
  }

  /** Nothing is missing, except a payment that may have been lost. */
  #isComplete(intent: Intent): boolean {
    const life = this.#operations(intent).at(-1)?.life;
    return life?.at === 'done' || (life?.at === 'open' && life.recorded && life.published && life.deposit === 'sent');
  }

  #server({ shape }: Intent) {
    return this.world.servers[CONNECTIONS[shape.connection].server];
  }

  #operations({ client }: Intent) {
    return this.watch.of(({ plan }) => plan?.user_id === client.id);
  }

  #holder({ shape: { connection } }: Intent, login: number): string | undefined {
    return this.watch.holders.get(`${isKeyed(connection) ? CONNECTIONS[connection].version : connection}#${login}`);
  }

  #sight(intent: Intent): Sight {
    const { accounts, all } = this.#accounts(intent);
    return {
      accounts,
      account: (login) => all.find((one) => one.login === login),
      access: (login, password) => this.#server(intent).access(login, password),
      holder: (login) => this.#holder(intent, login),
      operations: this.#operations(intent),
      current: this.#operations(intent).findLast(({ pk, operation_id }) => this.watch.stored.get(pk) === operation_id)
        ?.operation_id,
      payments: (login) => this.#payments.get(login) ?? 0,
    };
  }

  #accounts(intent: Intent) {
    const all = this.#server(intent).accounts();
    return { all, accounts: all.filter(({ email }) => email === intent.client.email) };
  }

  #isLogged(login: number, word: string): boolean {
    const log = this.world.environments.log.slice(this.#logFrom).join('').split('\n');
    return log.some((line) => line.includes(`"login":${login},`) && line.includes(word));
  }
}
