import { createSecretKey, randomUUID } from 'node:crypto';
import { openTradingAccount } from '../../lib/accounts/trading-account.ts';
import { DatabaseFailure, type Item, type Table } from '../../lib/aws/dynamodb.ts';
import { accountConfig } from '../../lib/config.ts';
import { STOP_BEFORE_END_MS, within } from '../../lib/deadline.ts';
import type { Answer, Request } from '../../lib/http/endpoint.ts';
import { derivePasswords } from '../../lib/platform/passwords.ts';
import { PlatformFailure } from '../../lib/platform/platform.ts';
import { Problem } from '../../lib/problem.ts';
import type { AccountClient, AccountDirectory } from '../../lib/records/account-directory.ts';
import { accountOperationsIn } from '../../lib/records/account-operations.ts';
import { accountsIn } from '../../lib/records/accounts.ts';
import type { AccountType, Connection, WebApiConnection } from '../../lib/records/crm-records.ts';
import { dueOperationsIn } from '../../lib/records/due-operations.ts';
import { loginsIn } from '../../lib/records/logins.ts';
import { type SettlementServices, settleOperations } from '../../lib/settlement.ts';
import type { EventFields, EventName, Telemetry } from '../../lib/telemetry.ts';
import { AccountEnvironment, environmentOf } from '../../lib/validators/deployment.ts';
import type {
  PlatformVersion,
  TradingAccountAnswer,
  TradingAccountRequest,
} from '../../lib/validators/trading-account.ts';
import { FakePlatform } from './account-platform.ts';
import type { TestDatabase } from './database.ts';
import { checkEvent } from './events.ts';

/** The settings of a deployment that names only what it must. */
const DEPLOYED = accountConfig(
  environmentOf(AccountEnvironment, {
    senderAddress: 'no-reply@example.com',
    crmTable: 'crm',
    operationsTable: 'operations',
    accountsTable: 'accounts',
    passwordSecret: 'password',
    notificationsTopicArn: 'arn:aws:sns:eu-west-1:000000000000:notifications',
    eventBus: 'events',
  }),
);

const KEYS = {
  passwords: createSecretKey('a key of this test', 'utf8'),
  fingerprints: createSecretKey('another key of it', 'utf8'),
};

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
/** The same with logins of its own. */
export const RANGE = { from: 500_000, to: 599_999 };
export const OWN_LOGINS: WebApiConnection = { ...LIVE, logins: RANGE };
/** A server that does not show whose an account is. */
export const GATEWAY: Connection = {
  id: 'tp4-gw-1',
  platform: 'tp4',
  protocol: 'interface-gateway',
  host: 'mt4gw.example.com',
  port: 443,
  demo: false,
  logins: RANGE,
  secret: 'platform/tp4-gw-1',
  code_page: 'windows-1252',
};
export const DEMO: WebApiConnection = { ...LIVE, demo: true };
export const FUNDED: AccountType = { id: 'ATDEMO01', name: 'Demo', platform: 'tp5', deposit: 10_000 };
export const BODY: TradingAccountRequest = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };

/** A table that counts its calls and fails at some of them, before or after they are done. */
export class FaultyTable implements Table {
  readonly #table: Table;
  /** Such as `update`, oldest first. */
  readonly calls: string[] = [];
  /**
   * Numbers of calls, from 1 on. `late`: it is done, and only its answer is lost. `dies`: it is done, and whoever made it
   * is killed before the answer.
   */
  failing: { at: number; late?: boolean; dies?: () => void } | undefined;

  constructor(table: Table) {
    this.#table = table;
  }

  async #call<T>(name: string, work: () => Promise<T>): Promise<T> {
    const number = this.calls.push(name);
    if (this.failing?.at !== number) return work();
    const { late, dies } = this.failing;
    if (late === true || dies !== undefined) await work().catch(() => {});
    if (dies !== undefined) {
      dies();
      return new Promise<never>(() => {});
    }
    throw new DatabaseFailure('ServiceUnavailable');
  }

  query: Table['query'] = (...args) => this.#call('query', () => this.#table.query(...args));
  queryIndex: Table['queryIndex'] = (...args) => this.#call('queryIndex', () => this.#table.queryIndex(...args));
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

type Records = Awaited<ReturnType<AccountDirectory['forAccount']>>;

/** How long a caller waits. */
const CALLER_MS = 20_000;

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
  /** What a deployment has set otherwise. */
  deployed: Partial<typeof DEPLOYED> = {};
  /** What reading the records, the platform's secret or a notice comes to instead. */
  directoryFails: Error | undefined;
  platformFails: Error | undefined;
  noticesFail: Error | undefined;
  eventsFail: Error | undefined;
  eventsPrepared = 0;
  /** The details of the events. */
  readonly told: object[] = [];
  settleMs = 200;
  /** Is added to the time of day. */
  skippedMs = 0;

  constructor(database: TestDatabase) {
    this.#database = database;
    this.operations = new FaultyTable(database.tables.operations);
    this.accounts = new FaultyTable(database.tables.accounts);
  }

  now = () => Date.now() + this.skippedMs;

  get services(): SettlementServices {
    const notice = (kind: FakeNotice['kind'], to: string, account: object, language: string | undefined) => {
      if (this.noticesFail !== undefined) throw this.noticesFail;
      this.notices.push({ kind, to, language, account });
    };
    return {
      directory: {
        forAccount: async () => {
          if (this.directoryFails !== undefined) throw this.directoryFails;
          return this.records;
        },
      },
      operations: accountOperationsIn(this.operations, this.now),
      due: dueOperationsIn(this.operations, this.now),
      logins: loginsIn(this.operations),
      accounts: accountsIn(this.accounts),
      notices: {
        email: async (client, account, language) => notice('email', client.email, account, language),
        popUp: async (userId, account, language) => notice('popup', userId, account, language),
      },
      events: {
        prepare: () => {
          this.eventsPrepared += 1;
        },
        tell: async (type, detail) => {
          checkEvent(type, detail);
          if (this.eventsFail !== undefined) throw this.eventsFail;
          this.told.push(detail);
        },
      },
      platform: async () => {
        if (this.platformFails !== undefined) throw this.platformFails;
        return this.platform;
      },
      passwords: {
        keys: async () => KEYS,
        derive: derivePasswords,
      },
      settings: { ...DEPLOYED, settleSeconds: this.settleMs / 1_000, ...this.deployed },
      clock: { now: this.now },
    };
  }

  /** @param options the time that the request has, in milliseconds; the version of the platform */
  run(
    changes: Partial<TradingAccountRequest> = {},
    options: { key?: string; ms?: number; version?: PlatformVersion; userId?: string; caller?: string } = {},
  ): Promise<Answer<TradingAccountAnswer>> {
    const { key, ms = 25_000, version = 'tp5', userId = this.userId, caller = 'iam:caller' } = options;
    const body = { ...BODY, ...changes };
    const request: Request<TradingAccountRequest, { user_id: string }> = {
      body,
      sentBody: body,
      parameters: { user_id: userId },
      idempotencyKey: key,
      source: '203.0.113.9',
      caller,
      endsAt: this.now() + ms + STOP_BEFORE_END_MS,
    };
    return openTradingAccount(this.services, version, request, this.#telemetry({}), within(ms));
  }

  /** One run over what is due in this world's database. @param ms how long the function has */
  settle(ms = 55_000): Promise<void> {
    return settleOperations(this.services, this.#telemetry({}), this.now() + ms);
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

  /**
   * The answer of the server is lost, it cannot be asked, and the caller gets 504 and never comes back.
   * @param exists whether the server has opened the account
   */
  async leaveUnanswered(exists: boolean, changes: Partial<TradingAccountRequest> = {}, key = 'key-1'): Promise<void> {
    const failure = new PlatformFailure('account_outcome_unknown', { reason: 'answer_timeout' });
    this.platform.opening = exists ? { kind: 'reply_lost', failure } : { kind: 'fails', sent: true, failure };
    this.platform.finding = () => {
      // Asking has taken all the time that there was.
      this.skip(CALLER_MS);
      return new PlatformFailure('platform_unavailable', { reason: 'connect_timeout' });
    };
    const { status } = await this.refused(changes, { key, ms: CALLER_MS });
    if (status !== 504) throw new Error(`It was answered with ${status}.`);
    this.platform.opening = { kind: 'opens' };
    this.platform.finding = undefined;
    this.events.length = 0;
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
    return this.#database.tables.accounts.get({ pk: this.userId, sk }, within(60_000));
  }

  #telemetry(base: EventFields): Telemetry {
    return {
      event: (name, fields = {}) => void this.events.push({ name, fields: { ...base, ...fields } }),
      with: (fields) => this.#telemetry({ ...base, ...fields }),
    };
  }
}

export function opened(answer: Answer<TradingAccountAnswer>): TradingAccountAnswer {
  return answer.body;
}
