import { randomUUID } from 'node:crypto';
import { DatabaseFailure, type Item, type Table } from '../../lib/aws/dynamodb.ts';
import { within } from '../../lib/http/deadline.ts';
import type { Answer, Request } from '../../lib/http/endpoint.ts';
import { Problem } from '../../lib/http/problem.ts';
import { derivePassword } from '../../lib/platform/passwords.ts';
import type {
  AccountOrder,
  Departure,
  Finding,
  OrderTrace,
  PlatformFailure,
  TradingPlatform,
} from '../../lib/platform/platform.ts';
import { accountsIn } from '../../lib/records/accounts.ts';
import type { AccountType, Connection, WebApiConnection } from '../../lib/records/crm-records.ts';
import type { AccountClient, Directory } from '../../lib/records/directory.ts';
import { operationsIn } from '../../lib/records/operations.ts';
import type { EventFields, EventName, Telemetry } from '../../lib/telemetry.ts';
import { openTradingAccount, type TradingAccountParts } from '../../lib/trading-account.ts';
import type {
  PlatformVersion,
  TradingAccountAnswer,
  TradingAccountRequest,
} from '../../lib/validators/trading-account.ts';
import type { TestDatabase } from './database.ts';

export const ANN: AccountClient = {
  id: 'CLIENT01',
  email: 'ann@example.com',
  name: 'Ann Lee',
  phone: '+447400123456',
  country: 'GB',
  language: 'de',
};
export const LIVE: WebApiConnection = {
  id: 'tp5-live-1',
  name: 'Live',
  platform: 'tp5',
  protocol: 'web-api',
  host: 'mt5.example.com',
  port: 443,
  demo: false,
  groups: ['real\\standard'],
  secret: 'platform/tp5-live-1',
};
export const DEMO: WebApiConnection = { ...LIVE, demo: true };
export const FUNDED: AccountType = { id: 'ATDEMO01', name: 'Demo', platform: 'tp5', deposit: 10_000 };
export const BODY: TradingAccountRequest = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };

/** What an opening comes to: a login, or a failure before or after the bytes have left. */
type Opening =
  | { kind: 'opens' }
  | { kind: 'fails'; sent: boolean; failure: PlatformFailure | Error }
  /** The account is there and its answer never comes. */
  | { kind: 'reply_lost'; failure: PlatformFailure };

/** A platform that does what the test says, and remembers what it was asked. */
class FakePlatform implements TradingPlatform {
  readonly accounts: { login: number; order: AccountOrder }[] = [];
  readonly calls: string[] = [];
  /** The account of every call that was to pay a deposit. */
  readonly deposits: number[] = [];
  /** The accounts that got theirs. */
  readonly paid: number[] = [];
  readonly traces: OrderTrace[] = [];
  opening: Opening = { kind: 'opens' };
  faults: ReturnType<TradingPlatform['unsupported']> = [];
  /** Before the call is noted as one that may have acted. */
  beforeMarking: () => Promise<void> = async () => {};
  /** Instead of looking whether the account is there. */
  finding: (() => Finding | Error) | undefined;
  /** What the next deposits come to instead, one after the other. */
  depositsFail: Error[] = [];

  loginIsKey = true;

  unsupported() {
    return this.faults;
  }

  async open(order: AccountOrder, departure: Departure): Promise<{ login: number }> {
    this.calls.push('open');
    const { opening } = this;
    if (opening.kind === 'fails' && !opening.sent) throw opening.failure;
    await this.beforeMarking();
    await departure.note();
    this.calls.push('sent');
    if (opening.kind === 'fails') throw opening.failure;
    const login = order.login ?? 5_001 + this.accounts.length;
    this.accounts.push({ login, order });
    if (opening.kind === 'reply_lost') throw opening.failure;
    return { login };
  }

  async find(trace: OrderTrace): Promise<Finding> {
    this.calls.push('find');
    this.traces.push(trace);
    const finding = this.finding?.();
    if (finding instanceof Error) throw finding;
    if (finding !== undefined) return finding;
    const found = this.accounts.find(({ order }) => order.operationId === trace.operationId);
    return found === undefined ? { kind: 'absent' } : { kind: 'found', login: found.login };
  }

  async fund(_order: AccountOrder, login: number, departure: Departure): Promise<void> {
    this.calls.push('fund');
    this.deposits.push(login);
    await departure.note();
    const failure = this.depositsFail.shift();
    if (failure !== undefined) throw failure;
    this.paid.push(login);
  }

  async holdsFunds(login: number): Promise<boolean | undefined> {
    return this.paid.includes(login);
  }

  async check(): Promise<void> {}

  async inspectRange() {
    return { looked: 0, taken: 0 };
  }

  async close(): Promise<void> {}
}

/** A table that counts its calls and fails at some of them, before or after they are done. */
export class FaultyTable implements Table {
  readonly #table: Table;
  /** Such as `update`, oldest first. */
  readonly calls: string[] = [];
  /** Numbers of calls, from 1 on. `late`: it is done, and only its answer is lost. */
  failing: { at: number; late?: boolean } | undefined;

  constructor(table: Table) {
    this.#table = table;
  }

  async #call<T>(name: string, work: () => Promise<T>): Promise<T> {
    const number = this.calls.push(name);
    if (this.failing?.at !== number) return work();
    if (this.failing.late === true) await work().catch(() => {});
    throw new DatabaseFailure('ServiceUnavailable');
  }

  get: Table['get'] = (...args) => this.#call('get', () => this.#table.get(...args));
  getMany: Table['getMany'] = (...args) => this.#call('getMany', () => this.#table.getMany(...args));
  put: Table['put'] = (...args) => this.#call('put', () => this.#table.put(...args));
  update: Table['update'] = (...args) => this.#call('update', () => this.#table.update(...args));
  delete: Table['delete'] = (...args) => this.#call('delete', () => this.#table.delete(...args));
}

export interface FakeNotice {
  kind: 'email' | 'popup';
  to: string;
  language: string | undefined;
  account: object;
}

type Records = Awaited<ReturnType<Directory['forAccount']>>;

/** The use case with fakes around it; operations and records stand in a database. */
export class FakeAccounts {
  readonly platform = new FakePlatform();
  readonly operations: FaultyTable;
  readonly accounts: FaultyTable;
  readonly notices: FakeNotice[] = [];
  readonly events: { name: EventName; fields: EventFields }[] = [];
  readonly #database: TestDatabase;
  /** Of this world alone, because worlds share a database. */
  readonly userId = randomUUID().slice(0, 8);
  records: Records = { client: ANN, connection: LIVE, accountType: undefined, rebateUser: undefined };
  /** What reading the records, the platform's secret or a notice comes to instead. */
  directoryFails: Error | undefined;
  platformFails: Error | undefined;
  noticesFail: Error | undefined;
  settleMs = 200;
  /** Is added to the time of day. */
  skippedMs = 0;

  constructor(database: TestDatabase) {
    this.#database = database;
    this.operations = new FaultyTable(database.tables.operations);
    this.accounts = new FaultyTable(database.tables.accounts);
  }

  now = () => Date.now() + this.skippedMs;

  get parts(): TradingAccountParts {
    const notice = (kind: FakeNotice['kind'], to: string, account: object, language: string | undefined) => {
      if (this.noticesFail !== undefined) throw this.noticesFail;
      this.notices.push({ kind, to, language, account });
    };
    return {
      directory: {
        forRegistration: () => Promise.reject(new Error('not asked for')),
        isClient: () => Promise.reject(new Error('not asked for')),
        forAccount: async () => {
          if (this.directoryFails !== undefined) throw this.directoryFails;
          return this.records;
        },
      },
      operations: operationsIn(this.operations, this.now),
      accounts: accountsIn(this.accounts),
      notices: {
        email: async (client, account, language) => notice('email', client.email, account, language),
        popUp: async (userId, account, language) => notice('popup', userId, account, language),
      },
      platform: async () => {
        if (this.platformFails !== undefined) throw this.platformFails;
        return this.platform;
      },
      passwordKey: async () => 'a key of this test',
      derivePassword,
      settleMs: this.settleMs,
      now: this.now,
    };
  }

  /** @param options the time that the request has, in milliseconds; the version of the platform */
  run(
    changes: Partial<TradingAccountRequest> = {},
    options: { key?: string; ms?: number; version?: PlatformVersion; userId?: string; caller?: string } = {},
  ): Promise<Answer<TradingAccountAnswer>> {
    const { key, ms = 29_000, version = 'tp5', userId = this.userId, caller = 'iam:caller' } = options;
    const body = { ...BODY, ...changes };
    const request: Request<TradingAccountRequest, { user_id: string }> = {
      body,
      sentBody: body,
      parameters: { user_id: userId },
      idempotencyKey: key,
      source: '203.0.113.9',
      caller,
      endsAt: this.now() + ms,
    };
    return openTradingAccount(this.parts, version, request, this.#telemetry({}), within(ms));
  }

  /** The problem that a request ends with. */
  async refused(...args: Parameters<FakeAccounts['run']>): Promise<Problem> {
    const outcome = await this.run(...args).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (outcome instanceof Problem) return outcome;
    throw outcome instanceof Error ? outcome : new Error('It was answered.');
  }

  /** Until nobody holds a lease any more: as if so much time had passed. */
  skip(ms: number): void {
    this.skippedMs += ms;
  }

  names(): EventName[] {
    return this.events.map(({ name }) => name);
  }

  async record(login: number, { id, platform }: Pick<Connection, 'id' | 'platform'> = LIVE): Promise<Item | undefined> {
    const sk = `${platform}#${id}#${login}`;
    return this.#database.tables.accounts.get({ pk: this.userId, sk }, within(5_000));
  }

  #telemetry(base: EventFields): Telemetry {
    return {
      event: (name, fields = {}) => void this.events.push({ name, fields: { ...base, ...fields } }),
      with: (fields) => this.#telemetry({ ...base, ...fields }),
      flush: () => {},
    };
  }
}

export function opened(answer: Answer<TradingAccountAnswer>): TradingAccountAnswer {
  return answer.body;
}
