import type { Fault, Faults } from '../../../infra/local/faults.ts';
import type { Question } from '../../../infra/local/platforms/text-accounts.ts';
import type { AccountAnswer } from '../account-calls.ts';
import { CONNECTIONS } from '../account-connections.ts';
import type { AccountWorld } from '../account-world.ts';
import { newClient } from '../world-pool.ts';
import {
  checkAccounts,
  checkAnswer,
  checkEnd,
  isDepositExcused,
  isDepositOpen,
  type Momentary,
  wordOf,
} from './checks.ts';
import type { Circumstances } from './circumstances.ts';
import { type Intent, newIntent, newLogin, type Shape } from './intents.ts';
import { listenTo } from './moments.ts';
import { Payments } from './payments.ts';
import { type Counts, Rounds } from './rounds.ts';
import type { Target } from './steps.ts';

/** So much time passes before each of the last runs over what nobody retries, in milliseconds. */
const SETTLED_AFTER_MS = [0, 200_000, 61 * 60_000, 61 * 60_000];
/** At the end of a history nothing is in the way any more: the function's time then, in milliseconds. */
const LAST_MS = 20_000;
/** So often each request is repeated then, */
const MAX_RETRIES = 25;
/** and so many of the answers may leave its outcome open. */
const MAX_UNSETTLED = 4;
/** Between two, where something of the account is missing, or somebody else works on it. */
const INCOMPLETE_SECONDS = 30;

/** Requests for accounts. */
export class History extends Rounds<Intent, AccountAnswer, Shape> {
  protected readonly ms = 5_500;
  readonly #payments: Payments;
  /** The database did what it was asked and did not say so. */
  #isLossy = false;
  readonly #logFrom: number;

  /** @param passwordCheck what the gateway makes of `WCHECKPASS` */
  constructor(world: AccountWorld, counts: Counts, circumstances: Circumstances, passwordCheck: Question) {
    super(world, counts, circumstances);
    world.gateway.passwordCheck = passwordCheck;
    this.#logFrom = world.environments.log.length;
    this.#payments = new Payments((listener) => listenTo(world.servers.tp5.faults, listener));
  }

  end(): void {
    this.#payments.stop();
  }

  protected async begin(shape: Shape, rivals: boolean): Promise<Intent[]> {
    const login = newLogin(shape);
    const knowsPasswords = this.world.gateway.passwordCheck === 'known';
    const intents: Intent[] = [];
    for (const _ of rivals ? [1, 2] : [1]) {
      const client = await newClient(this.world);
      const now = this.world.clock.now();
      intents.push(newIntent(shape, client, { login, isContested: rivals, knowsPasswords, now }));
    }
    return intents;
  }

  protected override setFault(target: Target, fault: Fault): void {
    super.setFault(target, fault);
    if (target === 'dynamodb' && (fault.kind === 'slow' || fault.kind === 'reply_lost')) this.#isLossy = true;
  }

  protected send(intent: Intent, ms: number) {
    return this.world.send({ ...intent.call, ms });
  }

  protected serverOf(intent: Intent): Faults {
    return this.#server(intent).faults;
  }

  protected see(intent: Intent, answer: AccountAnswer | undefined): void {
    // Its own first account has the login that it asks for.
    if (intent.uses > 1) intent.mayBeTaken = true;
    if (answer !== undefined) {
      intent.lastWord = wordOf(answer);
      this.count(intent.lastWord);
      checkAnswer(this.#sight(intent), intent, answer);
    }
    for (const one of this.intents) checkAccounts(this.#sight(one), one);
  }

  protected async checkEnd(): Promise<void> {
    await this.#settleAll();
    const openOperations = await this.world.openOperations();
    const operatorsOperations = await this.world.operatorsOperations();
    const told = this.world.told();
    for (const intent of this.intents) {
      const records = await this.world.records(intent.call.userId ?? '');
      checkEnd({ ...this.#sight(intent), records, openOperations, operatorsOperations, told }, intent);
      this.counts.accounts += this.#accountsOf(intent).accounts.length;
    }
  }

  /** The clock goes on: at once, when a deposit is certain, and when what was absent is looked for again. */
  async #settleAll(): Promise<void> {
    for (const ms of SETTLED_AFTER_MS) {
      await this.world.clock.pass(ms);
      const { kind } = await this.world.settle().outcome;
      if (kind !== 'answer') throw new Error(`The settling ended with ${kind}.`);
    }
  }

  /** It is repeated until it is answered, and as the answers say. */
  protected async finish(intent: Intent): Promise<void> {
    let last: AccountAnswer | undefined;
    let unsettled = 0;
    for (let retry = 0; retry < MAX_RETRIES; retry += 1) {
      last = await this.ask(intent, null, LAST_MS);
      const word = last === undefined ? undefined : wordOf(last);
      // Whether a lost deposit has arrived is certain only after a while, and told by a retry then.
      if (word === '200' && (await this.#isComplete(intent))) return;
      if (word === '409 login_taken' && intent.mayBeTaken) return;
      if (word?.endsWith('account_outcome_unknown') === true) {
        if (intent.isBlind && last?.status === 409) return this.#checkBlind(intent);
        unsettled += 1;
        if (unsettled > MAX_UNSETTLED) throw new Error(`${intent.name}: ${word}, which a look-up could settle`);
      }
      // A clock that is ahead holds a lease for longer.
      const waits = word === '200' || word === '409 request_in_progress';
      const seconds = waits ? INCOMPLETE_SECONDS : Number(last?.headers['retry-after'] ?? 1);
      await this.world.clock.pass(seconds * 1_000);
    }
    throw new Error(`${intent.name}: never answered; in the end ${last?.status} ${last?.body.type}`);
  }

  async #isComplete(intent: Intent): Promise<boolean> {
    const open = await this.world.openOperations();
    const { accounts } = this.#accountsOf(intent);
    return !isDepositOpen(this.#sight(intent), intent) && !accounts.some(({ comment }) => open.has(comment));
  }

  /** What our own table knows must not be left to an operator. */
  async #checkBlind(intent: Intent): Promise<void> {
    const records = await this.world.records(intent.call.userId ?? '');
    // Those of an earlier use of the key were answered.
    if (records.length > intent.answers.length)
      throw new Error(`${intent.name}: 409, and our own table knows its account`);
  }

  #server({ shape }: Intent) {
    return this.world.servers[CONNECTIONS[shape.connection].server];
  }

  #sight(intent: Intent): Momentary {
    const { accounts, all } = this.#accountsOf(intent);
    return {
      accounts,
      account: (login) => all.find((one) => one.login === login),
      access: (login, password) => this.#server(intent).access(login, password),
      payments: (login) => this.#payments.of(login),
      isTold: (login) => this.#isLogged(login, '"DepositFailed"'),
      mayLackDeposit: this.#mayLackDeposit(intent),
    };
  }

  #accountsOf(intent: Intent) {
    const all = this.#server(intent).accounts();
    return { all, accounts: all.filter(({ email }) => email === intent.email) };
  }

  #mayLackDeposit(intent: Intent): boolean {
    const { server } = CONNECTIONS[intent.shape.connection];
    if (intent.befallen) return true;
    const { accounts } = this.#accountsOf(intent);
    const empty = accounts.filter(({ balance }) => balance === 0);
    return empty.every(({ login }) => {
      const isExcused = isDepositExcused(this.#linesAbout(login));
      return isExcused ?? (this.faulty.has(server) || (this.#isLossy && this.#isNoteLost(intent)));
    });
  }

  /** Whether it may be noted that the command leaves, and nobody knows. */
  #isNoteLost(intent: Intent): boolean {
    const { accounts } = this.#accountsOf(intent);
    return accounts.some(({ login }) => this.#isLogged(login, '"OperationNotSettled"', '"step":"deposit"'));
  }

  #isLogged(login: number, ...words: string[]): boolean {
    return this.#linesAbout(login).some((line) => words.every((word) => line.includes(word)));
  }

  #linesAbout(login: number): string[] {
    const log = this.world.environments.log.slice(this.#logFrom).join('').split('\n');
    return log.filter((line) => line.includes(`"login":${login},`) && !line.includes('LeaseLost'));
  }
}
