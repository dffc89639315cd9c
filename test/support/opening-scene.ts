import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { TABLES } from '../../infra/local/database.ts';
import { transactionWriter } from '../../lib/aws/dynamodb.ts';
import { type AccountDependencies, accountNotices } from '../../lib/openings/dependencies.ts';
import { dynamoLedger } from '../../lib/openings/ledger.ts';
import { openTradingAccount } from '../../lib/openings/opening.ts';
import { namedLoginKey } from '../../lib/openings/reservation-key.ts';
import { PlatformFailure, type Sighting, type TradingPlatform } from '../../lib/platform/platform.ts';
import { Problem } from '../../lib/problem.ts';
import { dynamoAccounts } from '../../lib/records/accounts.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import type { EventFields, EventName } from '../../lib/telemetry.ts';
import type { TradingAccountRequest } from '../../lib/validators/trading-account.ts';
import { LIVE } from './crm-example.ts';
import type { TestDatabase } from './database.ts';
import { ACCOUNT_BODY, CLIENT_ANN, derivationKeys, recordingTelemetry } from './openings.ts';
import { directStep, type Step, tableOfSteps } from './step-faults.ts';

const DAY_MS = 24 * 60 * 60_000;
const MAX_BATCH_WRITE = 25;

/**
 * Openings with the real ledger in a test database, on a trading server in memory. The server refuses a login that
 * exists. A plug-in chooses the logins, and has a connection for each command.
 */
export class OpeningScene {
  /** The logins of the server's accounts. */
  readonly accounts = new Set<number>();
  readonly events: { name: EventName; fields: EventFields }[] = [];
  connection: Connection = LIVE;
  /** The server's answer about a login. */
  sighting: Sighting = 'absent';
  /** Makes the calls of the next opening to the database, the server and the bus. */
  step: Step = directStep;
  readonly #client: TestDatabase['client'];
  readonly #dependencies: AccountDependencies;

  constructor({ client, tables }: TestDatabase, changes: Partial<AccountDependencies> = {}) {
    this.#client = client;
    const step: Step = (name, call, signal) => this.step(name, call, signal);
    const transact = transactionWriter(client);
    const stepped = (name: 'operations' | 'logins' | 'accounts') => tableOfSteps(name, tables[name], step);
    const isKeyed = () => this.connection.protocol !== 'web-registration';
    const platform: TradingPlatform = {
      get keyed() {
        return isKeyed();
      },
      fundsWithOpening: false,
      ready: async () => {},
      unsupported: () => [],
      open: async (order, _, signal) => {
        if (!isKeyed()) await step('connect', async () => {}, signal);
        const { login = this.accounts.size + 1 } = order;
        const open = async () => {
          if (this.accounts.has(login)) throw new PlatformFailure('login_taken', { reason: 'login_exists' });
          this.accounts.add(login);
          return { login };
        };
        return step('server', open, signal);
      },
      look: async () => this.sighting,
      fund: async () => {},
      holdsFunds: async () => true,
      close: async () => {},
    };
    this.#dependencies = {
      directory: {
        readAccountRecords: (_, __, signal) => {
          const { connection } = this;
          const records = { client: CLIENT_ANN, connection, accountType: undefined, rebateUser: undefined };
          return step('crm', async () => records, signal);
        },
      },
      ledger: dynamoLedger({
        operations: stepped('operations'),
        logins: stepped('logins'),
        names: { operations: 'operations', logins: 'logins', accounts: 'accounts' },
        transact: (writes, signal) => step('transaction', () => transact(writes, signal), signal),
      }),
      accounts: dynamoAccounts(stepped('accounts')),
      notices: accountNotices({} as Parameters<typeof accountNotices>[0]),
      events: { prepare: () => {}, publish: (_, __, signal) => step('bus', async () => {}, signal) },
      ranges: new Map(),
      expectsClients: async () => false,
      platform: async () => platform,
      keys: async () => derivationKeys('1'),
      now: Date.now,
      ...changes,
    };
  }

  /** Accounts of earlier requests, at the logins 1 to `count`. */
  async reserve(count: number): Promise<void> {
    const logins = Array.from({ length: count }, (_, index) => index + 1);
    for (const login of logins) this.accounts.add(login);
    const put = (login: number) => ({
      PutRequest: { Item: { pk: namedLoginKey('tp5', login), operation_id: 'earlier' } },
    });
    for (let at = 0; at < count; at += MAX_BATCH_WRITE) {
      const RequestItems = { [TABLES.logins]: logins.slice(at, at + MAX_BATCH_WRITE).map(put) };
      await this.#client.send(new BatchWriteCommand({ RequestItems }));
    }
  }

  /** @returns the login, or the type of the error. @param more members of the body */
  async open(idempotencyKey: string, more: Partial<TradingAccountRequest> = {}): Promise<number | string> {
    const { id: connection_id, groups, platform: version } = this.connection;
    const [group = ''] = Array.isArray(groups) ? groups : Object.keys(groups ?? {});
    const body: TradingAccountRequest = { ...ACCOUNT_BODY, connection_id, group, ...more };
    const request = { body, sentBody: { ...body }, parameters: { user_id: CLIENT_ANN.id }, idempotencyKey };
    // The deadline is far away: a busy machine may take long.
    const context = { source: '192.0.2.1', caller: 'iam:caller', endsAt: Date.now() + DAY_MS };
    try {
      const telemetry = recordingTelemetry(this.events);
      return (await openTradingAccount(this.#dependencies, version, { ...request, ...context }, telemetry)).body.login;
    } catch (error) {
      if (error instanceof Problem) return error.type;
      throw error;
    }
  }
}
