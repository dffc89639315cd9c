import { DeliveryFailure } from '../../lib/messages/message.ts';
import type { AccountDependencies } from '../../lib/openings/dependencies.ts';
import { dynamoLedger } from '../../lib/openings/ledger.ts';
import { openTradingAccount } from '../../lib/openings/opening.ts';
import { storeWord, type Word, type WordOutcome } from '../../lib/openings/operator.ts';
import { settleOperations } from '../../lib/openings/settler.ts';
import { parseHeld } from '../../lib/openings/stored-operation.ts';
import { compareComment, PlatformFailure, type TradingPlatform } from '../../lib/platform/platform.ts';
import { Problem } from '../../lib/problem.ts';
import { dynamoAccounts } from '../../lib/records/accounts.ts';
import type { AccountType, Connection } from '../../lib/records/crm-records.ts';
import type { EventFields, EventName } from '../../lib/telemetry.ts';
import type { TradingAccountRequest } from '../../lib/validators/trading-account.ts';
import { LIVE } from './crm-example.ts';
import { scanItems, type TestDatabase, testTables } from './database.ts';
import { ACCOUNT_BODY, CLIENT_ANN, derivationKeys, recordingTelemetry } from './openings.ts';
import { directStep, type Step, tableOfSteps } from './step-faults.ts';

/** What a server answers to one command. `execute` carries it out. */
type Answer = (execute: () => { login: number }) => { login: number };

const failure =
  (kind: ConstructorParameters<typeof PlatformFailure>[0], proof: 'nothing' | 'content' | 'not_served' | 'unsent') =>
  () =>
    new PlatformFailure(kind, { reason: `test_${kind}`, proof });

/** Answers to a command that opens an account. */
export const ANSWERS = {
  lost: (execute) => {
    execute();
    throw failure('account_outcome_unknown', 'nothing')();
  },
  'lost before it arrived': () => {
    throw failure('account_outcome_unknown', 'nothing')();
  },
  'executed, and refused for its state': (execute) => {
    execute();
    throw failure('platform_unavailable', 'nothing')();
  },
  'refused for its state': () => {
    throw failure('platform_unavailable', 'nothing')();
  },
  'refused for its content': () => {
    throw failure('password_rejected', 'content')();
  },
  'refused for our rights': () => {
    throw failure('platform_refused', 'not_served')();
  },
  unsent: () => {
    throw failure('platform_unavailable', 'unsent')();
  },
  'repeated by a gateway': (execute) => {
    execute();
    return execute();
  },
  'another login': (execute) => ({ login: execute().login + 1_000 }),
} as const satisfies Record<string, Answer>;

/** A trading server in memory. It refuses a login that exists; without a login in the command it chooses one. */
export class MemoryServer {
  readonly accounts = new Map<number, { comment: string; balance: number }>();
  /** What a look shows: comments, whether the login exists, or nothing, because the server has no look-up. */
  shows: 'comments' | 'existence' | 'nothing' = 'comments';
  /** The answers to the next commands; after them every command is executed. */
  readonly answers: Answer[] = [];
  /** No look-up is answered. */
  isDown = false;
  /** The outcomes of the next payments; after them every payment is made. */
  readonly payments: ('refused' | 'lost' | 'lost before it arrived')[] = [];
  nextLogin = 100_001;
  commands = 0;

  open(login: number | undefined, comment: string): { login: number } {
    this.commands += 1;
    const execute = () => {
      const opened = login ?? this.nextLogin++;
      if (this.accounts.has(opened)) throw failure('login_taken', 'content')();
      this.accounts.set(opened, { comment, balance: 0 });
      return { login: opened };
    };
    return (this.answers.shift() ?? ((run) => run()))(execute);
  }

  platform(keyed: boolean, step: Step): TradingPlatform {
    const ask = <T>(name: string, call: () => T, signal: AbortSignal) => step(name, async () => call(), signal);
    const answered = <T>(call: () => T) => {
      if (this.isDown) throw failure('platform_unavailable', 'nothing')();
      return call();
    };
    return {
      keyed,
      fundsWithOpening: !keyed,
      ready: async () => {},
      unsupported: () => [],
      open: ({ login, operationId }, _, signal) => ask('server.open', () => this.open(login, operationId), signal),
      look: (login, operationId, signal) =>
        ask('server.look', () => answered(() => this.#look(login, operationId)), signal),
      fund: (login, amount, _, signal) => ask('server.fund', () => this.#fund(login, amount), signal),
      holdsFunds: (login, signal) =>
        ask('server.balance', () => answered(() => (this.accounts.get(login)?.balance ?? 0) > 0), signal),
      close: async () => {},
    };
  }

  #look(login: number, operationId: string) {
    const account = this.accounts.get(login);
    if (this.shows === 'nothing') return { is: 'silent' } as const;
    if (account === undefined) return { is: 'absent' } as const;
    return this.shows === 'comments' ? compareComment(account.comment, operationId) : ({ is: 'unmarked' } as const);
  }

  #fund(login: number, amount: number): void {
    const outcome = this.payments.shift();
    const account = this.accounts.get(login);
    if (outcome === 'refused') throw failure('platform_refused', 'content')();
    if (account !== undefined && outcome !== 'lost before it arrived') account.balance += amount;
    if (outcome !== undefined) throw failure('account_outcome_unknown', 'nothing')();
  }
}

const HOUR_MS = 60 * 60_000;
const REQUEST_MS = 29_000;

/** Openings with the real ledger in a database of their own, on a trading server in memory; a test moves their clock. */
export class OpeningScene {
  readonly server: MemoryServer = new MemoryServer();
  connection: Connection;
  accountType: AccountType | undefined;
  keys = derivationKeys('1');
  /** Epoch milliseconds. */
  now = Date.UTC(2026, 10, 22);
  readonly events: { name: EventName; fields: EventFields }[] = [];
  readonly published: Record<string, unknown>[] = [];
  readonly mails: number[] = [];
  readonly popUps: number[] = [];
  /** The outcomes of the next mails; after them every mail is sent. */
  readonly mailFailures: ('throttled' | 'unknown_outcome')[] = [];
  /** Makes each call to the database, the server, the bus and the mail. */
  step: Step = directStep;
  readonly database: Pick<TestDatabase, 'client' | 'tables'>;

  readonly #overrides: Partial<AccountDependencies>;

  private constructor(
    database: Pick<TestDatabase, 'client' | 'tables'>,
    connection: Connection,
    overrides: Partial<AccountDependencies>,
  ) {
    this.database = database;
    this.#overrides = overrides;
    this.connection = connection;
  }

  static async create(connection: Connection = LIVE, overrides: Partial<AccountDependencies> = {}) {
    const tables = await testTables('Operations', 'Logins', 'Accounts');
    return new OpeningScene(tables, connection, overrides);
  }

  get dependencies(): AccountDependencies {
    const { tables } = this.database;
    const step: Step = (name, call, signal) => this.step(name, call, signal);
    const stepped = (name: 'operations' | 'logins' | 'accounts') => tableOfSteps(name, tables[name], step);
    return {
      directory: {
        readAccountRecords: (_, __, signal) => step('crm', async () => this.#records(), signal),
      },
      ledger: dynamoLedger(
        { operations: stepped('operations'), logins: stepped('logins'), accounts: tables.accounts },
        () => this.now,
      ),
      accounts: dynamoAccounts(stepped('accounts')),
      notices: {
        email: (_, { login }, __, signal) => step('mail', async () => this.#send(login), signal),
        popUp: async (_, { login }) => void this.popUps.push(login),
      },
      events: {
        prepare: () => {},
        publish: (_, detail, signal) => step('bus', async () => void this.published.push(detail), signal),
      },
      platform: async ({ protocol }) => this.server.platform(protocol !== 'web-registration', step),
      keys: async () => this.keys,
      now: () => this.now,
      wait: async (ms) => {
        this.now += ms;
      },
      ...this.#overrides,
    };
  }

  #records() {
    return { client: CLIENT_ANN, connection: this.connection, accountType: this.accountType, rebateUser: undefined };
  }

  #send(login: number): void {
    const kind = this.mailFailures.shift();
    if (kind !== undefined) throw new DeliveryFailure(kind, 'test', { left: kind === 'unknown_outcome' });
    this.mails.push(login);
  }

  /**
   * Asks for an account. Absent key: the request has none.
   * @returns the login, or the status and the type of the problem; `retry`: with `Retry-After`
   */
  async open(idempotencyKey: string | undefined, more: Partial<TradingAccountRequest> = {}): Promise<number | string> {
    const { id: connection_id, groups, platform: version } = this.connection;
    const [group = ''] = Array.isArray(groups) ? groups : Object.keys(groups ?? {});
    const account_type_id = this.accountType?.id;
    const body = { ...ACCOUNT_BODY, connection_id, group, ...(account_type_id && { account_type_id }), ...more };
    const request = {
      ...{ body, sentBody: { ...body }, parameters: { user_id: CLIENT_ANN.id } },
      idempotencyKey,
      ...{ source: '192.0.2.1', caller: 'iam:caller', endsAt: this.now + REQUEST_MS },
    };
    try {
      const telemetry = recordingTelemetry(this.events);
      const { body: answer } = await openTradingAccount(this.dependencies, version, request, telemetry);
      return answer.login;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return `${error.status} ${error.type}${error.options.retryAfterSeconds === undefined ? '' : ' retry'}`;
    }
  }

  /** Time passes, then the settler runs. */
  async settle(afterMs = 60_001): Promise<void> {
    this.now += afterMs;
    await settleOperations(this.dependencies, recordingTelemetry(this.events), this.now + 55_000);
  }

  async hours(count: number): Promise<void> {
    this.now += count * HOUR_MS;
  }

  /** An operator says something of the operation of a key, or of the only one. */
  async say(word: Word, { confirmed = true, pk }: { confirmed?: boolean; pk?: string } = {}): Promise<WordOutcome> {
    const dependencies = { ...this.dependencies, telemetry: recordingTelemetry(this.events) };
    const key = pk ?? (await this.operations())[0]?.pk ?? '';
    return storeWord(dependencies, key, word, { confirmed }, AbortSignal.timeout(60_000));
  }

  async operations() {
    return (await scanItems(this.database.client, 'operations')).map(parseHeld);
  }

  /** The state of the only operation. */
  async life() {
    return (await this.operations())[0]?.life;
  }

  /** The holder of each reserved login. */
  async reservations(): Promise<Record<string, unknown>> {
    const items = await scanItems(this.database.client, 'logins');
    return Object.fromEntries(items.map(({ pk, operation_id }) => [pk, operation_id]));
  }

  async records() {
    return scanItems(this.database.client, 'accounts');
  }

  /** How often an event was logged. */
  count(name: EventName): number {
    return this.events.filter((one) => one.name === name).length;
  }
}
