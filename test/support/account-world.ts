import { GetCommand, QueryCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { localClient } from '../../infra/local/aws.ts';
import type { Bus } from '../../infra/local/bus.ts';
import { type Database, TABLES } from '../../infra/local/database.ts';
import type { Faults } from '../../infra/local/faults.ts';
import type { Outbox } from '../../infra/local/outbox.ts';
import type { SimulatedServer } from '../../infra/local/platforms/simulated-server.ts';
import type { TextServerOptions } from '../../infra/local/platforms/text-accounts.ts';
import type { WebApiServer } from '../../infra/local/platforms/web-api-server.ts';
import { databaseClient, type Item } from '../../lib/aws/dynamodb.ts';
import { derivePasswords, parsePasswordKey } from '../../lib/platform/passwords.ts';
import { NEVER } from '../../lib/records/due.ts';
import { keyOf } from '../../lib/records/operations.ts';
import { DUE_INDEX } from '../../lib/validators/deployment.ts';
import { type AccountAnswer, type AccountCall, accountEvent, toAnswer, versionOf } from './account-calls.ts';
import { ACCOUNT_TYPES, connectionRecords, FORMS, type ServerName } from './account-connections.ts';
import {
  crmWriter,
  type EnvironmentOptions,
  environmentsAround,
  MANAGER_PASSWORD,
  MASTER_CODE,
  PASSWORD_KEY,
  SECRETS,
  startSurroundings,
  type WorldClient,
} from './account-surroundings.ts';
import { PATIENT } from './database.ts';
import type { Environments, Outcome, Run } from './environments.ts';
import { placesOf, placesOfMarks } from './secret-search.ts';
import type { WorldClock } from './world-clock.ts';

export interface WorldOptions extends EnvironmentOptions {
  clients?: WorldClient[];
}

/** As long as the function that settles has, in milliseconds. */
const SETTLEMENT_MS = 55_000;

/** A call that is under way. */
interface Pending {
  /** Undefined when there is none, because the function was killed, out of time or crashed. */
  answer: Promise<AccountAnswer | undefined>;
  outcome: Promise<Outcome>;
  kill(): Promise<void>;
  stop(ms: number): Promise<void>;
}

interface Written {
  tables: string;
  /** Metrics too. */
  log: string;
  messages: string;
  refusals: string;
}

/**
 * Everything around the two account functions: database, secrets, mail, topic and a trading server of each protocol, each
 * with its faults; and the functions as they are deployed, in environments that can be killed.
 */
export interface AccountWorld {
  readonly database: Database;
  readonly faults: Record<'dynamodb' | 'secrets' | 'ses' | 'sns' | ServerName, Faults>;
  readonly servers: { tp5: WebApiServer; reg: SimulatedServer; gw: SimulatedServer };
  /** What the gateway is like: it may be changed at any time. */
  readonly gateway: TextServerOptions;
  readonly outbox: Outbox;
  readonly environments: Environments;
  readonly clock: WorldClock;
  /** Every password that a request gave or an answer held, whatever came of it. */
  readonly passwords: ReadonlySet<string>;
  send(call: AccountCall): Pending;
  /** @throws Error when there is no answer */
  ask(call: AccountCall): Promise<AccountAnswer>;
  /** Calls the function that settles what nobody retries, as the clock does each minute. */
  settle(): Run;
  addClients(clients: WorldClient[]): Promise<void>;
  clearFaults(): void;
  /** What is kept of an idempotency key. @param scope that of its operation */
  operationOf(scope: string[]): Promise<Item | undefined>;
  /** The records of a client's accounts. */
  records(userId: string): Promise<Item[]>;
  /** The operations that are to be taken up again, by their ids; not those that only an operator can end. */
  openOperations(): Promise<Set<string>>;
  /** Those that only an operator can end. */
  operatorsOperations(): Promise<Set<string>>;
  /** The operations of the accounts that others were told of. */
  told(): Set<unknown>;
  /** Everything that was kept, logged, counted, sent or told until now, by what it is. */
  written(): Promise<Written>;
  /**
   * Where in it stands what must not: a password or a secret of ours anywhere; a client's name, e-mail address or phone
   * number in the log or a refusal.
   */
  leaks(): Promise<string[]>;
  /** Ends everything. @throws Error when there are leaks */
  close(): Promise<void>;
}

export async function startAccountWorld(options: WorldOptions): Promise<AccountWorld> {
  const { aws, clock, faults, clearFaults, tp5, reg, gw, gateway } = await startSurroundings();
  const { database, outbox, bus } = aws;
  const endpoint = { AWS_ENDPOINT_URL_DYNAMODB: await database.lookOn() };
  const client = { ...localClient({ ...aws.environment, ...endpoint }, 'AWS_ENDPOINT_URL_DYNAMODB'), ...PATIENT };
  const crm = crmWriter(client);
  await crm.write({ connections: connectionRecords(tp5, reg, gw), account_types: ACCOUNT_TYPES, forms: FORMS });
  await crm.addClients(options.clients ?? []);
  const environments = environmentsAround(aws, { ...options, clock });
  const reader = databaseClient(client);
  const { send, ask, passwords, refusals } = callsOf(environments);
  const items = (table: keyof typeof TABLES) => itemsOf(reader, TABLES[table]);

  async function written(): Promise<Written> {
    const tables = await Promise.all((['crm', 'operations', 'accounts'] as const).map(items));
    return {
      tables: JSON.stringify(tables),
      log: environments.log.join(''),
      messages: JSON.stringify(outbox.list()),
      refusals: refusals.join(''),
    };
  }

  async function leaks(): Promise<string[]> {
    const texts = await written();
    const secrets = [
      ...passwords,
      ...derivedPasswords(await items('operations')),
      MANAGER_PASSWORD,
      MASTER_CODE,
      PASSWORD_KEY,
    ];
    const { log, refusals } = texts;
    return [
      ...placesOf(secrets, { ...texts }).map((place) => `a password or a secret in ${place}`),
      ...placesOfMarks(crm.marks, { log, refusals }).map((place) => `a client’s data in ${place}`),
    ];
  }

  return {
    database,
    faults,
    servers: { tp5, reg, gw },
    gateway,
    outbox,
    environments,
    clock,
    passwords,
    send,
    ask,
    addClients: crm.addClients,
    ...kept(reader, bus),
    settle: () => environments.run('settle-operations', {}, SETTLEMENT_MS),
    written,
    leaks,
    clearFaults,
    close: async () => {
      await environments.close();
      clearFaults();
      const found = await leaks();
      crm.close();
      reader.destroy();
      await Promise.all([aws, tp5, reg, gw].map((one) => one.close()));
      if (found.length > 0) throw new Error(`There is ${found.join(', ')}.`);
    },
  };
}

/** What calls the functions, and keeps the passwords and the refusals of them all. */
function callsOf(environments: Environments) {
  const passwords = new Set<string>();
  const refusals: string[] = [];

  function send(call: AccountCall): Pending {
    const { version = versionOf(call.body), ms = 29_000 } = call;
    const run = environments.run(`create-${version}-account`, accountEvent(version, call), ms);
    const given = typeof call.body === 'object' ? passwordsIn(call.body).filter(isTelling) : [];
    for (const password of given) passwords.add(password);
    const answer = run.outcome.then((outcome) => {
      const one = toAnswer(version, outcome);
      if (one?.status === 200) for (const password of passwordsIn(one.body)) passwords.add(password);
      else if (one !== undefined) refusals.push(JSON.stringify(one));
      return one;
    });
    return { ...run, answer };
  }

  async function ask(call: AccountCall): Promise<AccountAnswer> {
    const pending = send(call);
    const answer = await pending.answer;
    if (answer === undefined) throw new Error(`There is no answer: ${(await pending.outcome).kind}.`);
    return answer;
  }

  return { send, ask, passwords, refusals };
}

async function itemsOf(reader: ReturnType<typeof databaseClient>, table: string): Promise<Item[]> {
  const all: Item[] = [];
  let from: Item | undefined;
  do {
    const page = await reader.send(new ScanCommand({ TableName: table, ExclusiveStartKey: from }));
    all.push(...(page.Items ?? []));
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  return all;
}

/** The passwords that the operations have, whether they were answered or not. */
function derivedPasswords(operations: Item[]): string[] {
  const key = parsePasswordKey(SECRETS.get('platform/password-key') ?? '');
  return operations.flatMap(({ nonce }) =>
    (['tp5', 'tp4'] as const).flatMap((version) =>
      Object.values(derivePasswords({ key, nonce: String(nonce), version })),
    ),
  );
}

async function accountsOf(reader: ReturnType<typeof databaseClient>, userId: string): Promise<Item[]> {
  const KeyConditionExpression = 'pk = :pk';
  const values = { ExpressionAttributeValues: { ':pk': userId }, KeyConditionExpression };
  return (await reader.send(new QueryCommand({ TableName: TABLES.accounts, ...values }))).Items ?? [];
}

/** What is kept of accounts and told of them. */
function kept(
  reader: ReturnType<typeof databaseClient>,
  bus: Bus,
): Pick<AccountWorld, 'operationOf' | 'records' | 'openOperations' | 'operatorsOperations' | 'told'> {
  return {
    async operationOf(scope) {
      const Key = { pk: keyOf(scope) };
      return (await reader.send(new GetCommand({ TableName: TABLES.operations, Key, ConsistentRead: true }))).Item;
    },
    records: (userId) => accountsOf(reader, userId),
    openOperations: () => openIn(reader, (at) => at < NEVER),
    operatorsOperations: () => openIn(reader, (at) => at === NEVER),
    told: () => new Set(bus.list().map(({ detail }) => (detail as { id?: unknown }).id)),
  };
}

async function openIn(
  reader: ReturnType<typeof databaseClient>,
  isWanted: (dueAt: number) => boolean,
): Promise<Set<string>> {
  const { Items = [] } = await reader.send(
    new ScanCommand({ TableName: TABLES.operations, IndexName: DUE_INDEX.name }),
  );
  const due = Items.filter((item) => isWanted(Number(item[DUE_INDEX.at])));
  const found = await Promise.all(
    due.map(({ pk }) =>
      reader.send(new GetCommand({ TableName: TABLES.operations, Key: { pk }, ConsistentRead: true })),
    ),
  );
  return new Set(found.flatMap(({ Item }) => (Item === undefined ? [] : [String(Item.operation_id)])));
}

function passwordsIn({ master_password, investor_password }: Record<string, unknown>): string[] {
  return [master_password, investor_password].filter((one) => typeof one === 'string');
}

/** A password that a rule refuses may be so short that it stands everywhere. */
function isTelling(password: string): boolean {
  return password.length >= 8 && /\d/.test(password);
}
