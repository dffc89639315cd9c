import { DeleteCommand, type DynamoDBDocumentClient, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import pLimit, { type LimitFunction } from 'p-limit';
import { startAws } from '../../infra/local/aws.ts';
import { type EmbeddedDatabase, TABLES } from '../../infra/local/database.ts';
import type { Faults } from '../../infra/local/faults.ts';
import { RESOURCES as LOCAL_RESOURCES, localSettings, taskRoot } from '../../infra/local/local-settings.ts';
import type { Outbox } from '../../infra/local/outbox.ts';
import type { SimulatedServer } from '../../infra/local/platforms/simulated-server.ts';
import { startTextServer, type TextServerOptions } from '../../infra/local/platforms/text-server.ts';
import type { ManagerRights } from '../../infra/local/platforms/web-api-accounts.ts';
import {
  startWebApiServer,
  type WebApiServer,
  type WebApiServerOptions,
} from '../../infra/local/platforms/web-api-server.ts';
import { localClient } from '../../infra/local-client.ts';
import { parseCrmFile } from '../../infra/ops/crm-file.ts';
import { serializeItems } from '../../infra/ops/crm-items.ts';
import { crmTable } from '../../infra/ops/crm-table.ts';
import { secretStore } from '../../infra/ops/secrets.ts';
import { databaseClient, type Item } from '../../lib/aws/dynamodb.ts';
import { derivePasswords, deriveSeed, type Identity, parseDerivationKeys } from '../../lib/openings/derivation.ts';
import type { LoginRange } from '../../lib/records/crm-records.ts';
import type { PlatformVersion } from '../../lib/validators/trading-account.ts';
import { type AccountAnswer, type AccountCall, accountEvent, toAnswer, versionOf } from './account-calls.ts';
import {
  ACCOUNT_TYPES,
  connectionRecords,
  type KeyedConnectionId,
  type ServerName,
  TP4_GROUPS,
  TP5_GROUPS,
} from './account-connections.ts';
import { LONG_TIMEOUTS, scanItems } from './database.ts';
import { Environments, type EnvironmentsOptions, type Outcome, type Run, WorldClock } from './environments.ts';
import { type PersonalData, searchedMarks, textsWithMarks, textsWithSecrets } from './secret-search.ts';
import { localCertificate } from './web-api.ts';

const MANAGER_PASSWORD = 'Man4ger-of-tests';
const MASTER_CODE = 'master-c0de-of-tests';
const PASSWORD_KEY = Buffer.from('the password key of these tests!').toString('base64');
const PLATFORM_SECRETS = {
  tp5: { login: 1000, password: MANAGER_PASSWORD },
  reg: { master: MASTER_CODE },
  gw: { master: MASTER_CODE },
} as const satisfies Record<ServerName, object>;
const SECRETS = new Map([
  [LOCAL_RESOURCES.PEPPER_SECRET, JSON.stringify({ current: '1', 1: 'the pepper of these tests, with 40 characters' })],
  ['platform/password-key', JSON.stringify({ current: '1', 1: PASSWORD_KEY })],
  ['platform/tp5', JSON.stringify(PLATFORM_SECRETS.tp5)],
  ['platform/tp4', JSON.stringify(PLATFORM_SECRETS.gw)],
]);
const SETTINGS = localSettings({ stage: 'test' });
const ROTATED_KEYS = JSON.stringify({ current: '2', 1: PASSWORD_KEY, 2: 'the newer key of derived passwords' });
const RESOURCES = { ...LOCAL_RESOURCES, PASSWORD_SECRET: 'platform/password-key' };
/** The time of the settler, in milliseconds. */
const SETTLER_MS = 55_000;

/** A client of the CRM. Its name and addresses are searched for in the log, so no other text may contain them. */
export interface WorldClient extends PersonalData {
  id: string;
  country?: string;
  language?: string;
}

interface WorldOptions extends Omit<EnvironmentsOptions, 'clock'> {
  /** The folder of `bundleInto`. */
  bundles: string;
  clients?: WorldClient[];
  /** True: the functions may do everything. They belong to a release that had other rights. */
  areAdministrators?: boolean;
  /** True: the secret of derived passwords has an earlier key, too. */
  isRotated?: boolean;
}

/** The members that an operator may change in the CRM's record of a connection. */
interface ConnectionChanges {
  logins: LoginRange | readonly LoginRange[];
  strict?: boolean;
  /** The questions that a gateway never answers. */
  lacks?: readonly string[];
}

/** A running call. */
interface Pending extends Run {
  /** Undefined if the function was killed, out of time or crashed. */
  answer: Promise<AccountAnswer | undefined>;
}

interface StoredSecret {
  version: PlatformVersion;
  /** The server whose password the secret holds. */
  server: ServerName;
  /** The servers that may get the secret. */
  hosts: readonly string[];
}

/** Everything that was stored, logged, sent or answered, by kind. */
type Written = Record<'tables' | 'log' | 'messages' | 'refusals', string>;

export type AccountWorld = Awaited<ReturnType<typeof startAccountWorld>>;
/** The targets of faults. */
export type Target = keyof AccountWorld['faults'];

/** Starts the services of the functions: AWS, and a trading server of each protocol, each with its faults. */
async function startServices(isRotated: boolean) {
  const gateway: TextServerOptions = { dialect: 'interface-gateway', master: MASTER_CODE, groups: TP4_GROUPS };
  const rights: ManagerRights = {};
  const manager = { login: 1000, password: MANAGER_PASSWORD };
  const certificate = await localCertificate();
  const webApi: WebApiServerOptions = { manager, groups: TP5_GROUPS, rights, certificate };
  const [aws, tp5, reg, gw] = await Promise.all([
    startAws(SETTINGS, RESOURCES, new Map(isRotated ? [...SECRETS, ['platform/password-key', ROTATED_KEYS]] : SECRETS)),
    startWebApiServer(webApi),
    startTextServer({ dialect: 'web-registration', master: MASTER_CODE, groups: TP4_GROUPS }),
    startTextServer(gateway),
  ]);
  await aws.database.createTables();
  const servers: { tp5: WebApiServer; reg: SimulatedServer; gw: SimulatedServer } = { tp5, reg, gw };
  const faults: Record<'dynamodb' | 'secrets' | 'ses' | 'sns' | 'events' | ServerName, Faults> = {
    ...aws.faults,
    tp5: tp5.faults,
    reg: reg.faults,
    gw: gw.faults,
  };
  return { aws, servers, faults, gateway, webApi, rights };
}

/**
 * The deployed functions, in processes that can be killed, with all their services: a database, secrets,
 * mail, a topic, an event bus, and a trading server of each protocol.
 */
async function startAccountWorld({
  bundles,
  clients = [],
  skewMs,
  areAdministrators = false,
  isRotated = false,
}: WorldOptions) {
  const { aws, servers, faults, gateway, webApi, rights } = await startServices(isRotated);
  const { database, outbox, bus } = aws;
  const clock = new WorldClock();
  for (const one of Object.values(faults)) one.pause = (ms, signal) => clock.sleep(ms, signal);
  const clearFaults = () => Object.values(faults).map((one) => one.clear());

  const endpoint = { AWS_ENDPOINT_URL_DYNAMODB: await database.observe() };
  const client = { ...localClient({ ...aws.environment, ...endpoint }, 'AWS_ENDPOINT_URL_DYNAMODB'), ...LONG_TIMEOUTS };
  const reader = databaseClient(client);
  const { marks, writeRecords, writeClients } = worldCrm(reader);
  const connections = connectionRecords(servers.tp5, servers.reg, servers.gw);
  await writeRecords({ connections: Object.values(connections), account_types: ACCOUNT_TYPES });
  await writeClients(clients);

  const options = { clock, ...(skewMs === undefined ? {} : { skewMs }) };
  const { environments, root } = environmentsOf(aws, { bundles, areAdministrators }, options);
  const { send, ask, passwords, refusals } = callsOf(environments);
  const { written, leaks } = searchOf(reader, { environments, outbox, refusals, passwords, marks });

  return {
    database: database as EmbeddedDatabase,
    faults,
    clearFaults,
    servers,
    /** Properties of the gateway, of the tp5 server and of its manager. They may be changed at any time. */
    gateway,
    webApi,
    rights,
    outbox: outbox as Outbox,
    environments,
    clock,
    /** Every password that a request gave or an answer held. */
    passwords: passwords as ReadonlySet<string>,
    send,
    ask,
    writeClients,
    writeRecords,
    /** Connects this service to the trading servers of another one. */
    async shareServers(other: { connections: typeof connections }): Promise<void> {
      await writeRecords({ connections: Object.values(other.connections) });
    },
    connections,
    /** Edits a connection in the CRM. @param changes `strict`: other programs open accounts in its ranges too */
    writeConnection(id: KeyedConnectionId, changes: ConnectionChanges) {
      return writeRecords({ connections: [{ ...connections[id], ...changes }] });
    },
    /** Calls the settler, as the clock does each minute. */
    settle: () => environments.run('settle-operations', {}, SETTLER_MS),
    ...tablesOf(reader),
    /** The secret of a connection, as `ops secret put` would store it for these servers. */
    putSecret: (name: string, { version, server, hosts }: StoredSecret) =>
      secretStore(localClient(aws.environment, 'AWS_ENDPOINT_URL_SECRETS_MANAGER')).write(
        name,
        JSON.stringify({ ...PLATFORM_SECRETS[server], hosts }),
        [version],
      ),
    /** The operations whose accounts were published. */
    published: () => new Set(bus.list().map(({ detail }) => (detail as { id?: unknown }).id)),
    written,
    leaks,
    /** Ends everything. @throws Error if a password, a secret or a client's data leaked */
    async close(): Promise<void> {
      await environments.close();
      root.close();
      clearFaults();
      const found = await leaks();
      reader.destroy();
      await Promise.all([aws, ...Object.values(servers)].map((one) => one.close()));
      if (found.length > 0) throw new Error(`There is ${found.join(', ')}.`);
    },
  };
}

/** The processes of the functions, and the folder of their environment. */
function environmentsOf(
  aws: Awaited<ReturnType<typeof startServices>>['aws'],
  { bundles, areAdministrators }: Required<Pick<WorldOptions, 'bundles' | 'areAdministrators'>>,
  options: EnvironmentsOptions,
) {
  const root = taskRoot(SETTINGS);
  const variables = (name: string) => ({
    ...RESOURCES,
    ...root.variables,
    ...aws.environment,
    ...(areAdministrators ? {} : { AWS_ACCESS_KEY_ID: aws.findAccessKey(name) }),
  });
  return { root, environments: new Environments(bundles, variables, options) };
}

/** The records of the CRM, and the marks by which a test finds data of its clients in a text. */
function worldCrm(database: DynamoDBDocumentClient) {
  const crm = crmTable(TABLES.crm, database);
  const marks = new Set<string>();
  const writeRecords = async (records: object) => {
    const items = await serializeItems(await parseCrmFile(JSON.stringify(records)));
    await crm.write(items.map((put) => ({ put })));
  };
  const writeClients = async (added: WorldClient[]) => {
    for (const mark of added.flatMap(searchedMarks)) marks.add(mark);
    await writeRecords({ clients: added });
  };
  return { marks, writeRecords, writeClients };
}

/** The tables of the world, past every function and fault. */
function tablesOf(reader: ReturnType<typeof databaseClient>) {
  return {
    /** The records of a client's accounts. */
    async records(userId: string): Promise<Item[]> {
      const KeyConditionExpression = 'pk = :pk';
      const values = { ExpressionAttributeValues: { ':pk': userId }, KeyConditionExpression };
      return (await reader.send(new QueryCommand({ TableName: TABLES.accounts, ...values }))).Items ?? [];
    },
    items: (table: keyof typeof TABLES) => scanItems(reader, TABLES[table]),
    /** Writes items as they are. */
    async put(table: keyof typeof TABLES, items: readonly Item[]): Promise<void> {
      for (const Item of items) await reader.send(new PutCommand({ TableName: TABLES[table], Item }));
    },
    /** Deletes all items of some tables. */
    async lose(...tables: (keyof typeof TABLES)[]): Promise<void> {
      for (const TableName of tables.map((table) => TABLES[table])) {
        for (const item of await scanItems(reader, TableName)) {
          const Key = 'sk' in item ? { pk: item.pk, sk: item.sk } : { pk: item.pk };
          await reader.send(new DeleteCommand({ TableName, Key }));
        }
      }
    },
  };
}

/** Calls the functions; collects the passwords and the refusals of all calls. */
function callsOf(environments: Environments) {
  const passwords = new Set<string>();
  const refusals: string[] = [];

  function send(call: AccountCall): Pending {
    const { version = versionOf(call.body), ms = 29_000 } = call;
    const run = environments.run(`create-${version}-account`, accountEvent(version, call), ms);
    const given = typeof call.body === 'object' ? passwordsIn(call.body).filter(isSearchable) : [];
    for (const password of given) passwords.add(password);
    const answer = run.outcome.then((outcome: Outcome) => {
      const one = toAnswer(version, outcome);
      if (one?.status === 200) for (const password of passwordsIn(one.body)) passwords.add(password);
      else if (one !== undefined) refusals.push(JSON.stringify(one));
      return one;
    });
    return { ...run, answer };
  }

  /** @throws Error without an answer */
  async function ask(call: AccountCall): Promise<AccountAnswer> {
    const pending = send(call);
    const answer = await pending.answer;
    if (answer === undefined) throw new Error(`There is no answer: ${(await pending.outcome).kind}.`);
    return answer;
  }

  return { send, ask, passwords, refusals };
}

interface Searched {
  environments: Environments;
  outbox: Outbox;
  refusals: readonly string[];
  passwords: ReadonlySet<string>;
  marks: ReadonlySet<string>;
}

/** Searches everything that was written for texts that must not be there. */
function searchOf(
  reader: ReturnType<typeof databaseClient>,
  { environments, outbox, refusals, passwords, marks }: Searched,
) {
  const names = ['crm', 'operations', 'accounts', 'logins'] as const;
  const written = async (): Promise<Written> => ({
    tables: JSON.stringify(await Promise.all(names.map((name) => scanItems(reader, TABLES[name])))),
    log: environments.log.join(''),
    messages: JSON.stringify(outbox.list()),
    refusals: refusals.join(''),
  });

  /** The places that hold passwords, secrets or client data and must not. */
  async function leaks(): Promise<string[]> {
    const texts = await written();
    const derived = derivedPasswords(await scanItems(reader, TABLES.operations));
    const secrets = [...passwords, ...derived, MANAGER_PASSWORD, MASTER_CODE, PASSWORD_KEY];
    const { log, refusals: refused } = texts;
    return [
      ...textsWithSecrets(secrets, { ...texts }).map((place) => `a password or a secret in ${place}`),
      ...textsWithMarks(marks, { log, refused }).map((place) => `a client’s data in ${place}`),
    ];
  }

  return { written, leaks };
}

/** The derived passwords of the operations, whether an answer had them or not. */
function derivedPasswords(operations: Item[]): string[] {
  const keys = parseDerivationKeys(SECRETS.get('platform/password-key') ?? '');
  // A test may have rotated the secret of some.
  const derivable = operations.filter(({ secret }) => keys.some(({ id }) => id === secret));
  return derivable.flatMap((item) => {
    const seed = deriveSeed(keys, item as unknown as Identity);
    return (['tp5', 'tp4'] as const).flatMap((version) => Object.values(derivePasswords(seed, version)));
  });
}

function passwordsIn({ master_password, investor_password }: Record<string, unknown>): string[] {
  return [master_password, investor_password].filter((one) => typeof one === 'string');
}

/** A password that breaks a rule may be so short that other texts contain it. */
function isSearchable(password: string): boolean {
  return password.length >= 8 && /\d/.test(password);
}

/** A number of worlds, each used by one test at a time. */
export class WorldPool {
  readonly #options: WorldOptions;
  readonly #free: AccountWorld[] = [];
  readonly #turns: LimitFunction;
  readonly worlds: AccountWorld[] = [];

  constructor(size: number, options: WorldOptions) {
    this.#turns = pLimit(size);
    this.#options = options;
  }

  use<T>(work: (world: AccountWorld) => Promise<T>): Promise<T> {
    return this.#turns(async () => {
      const world = this.#free.pop() ?? (await this.#start());
      try {
        return await work(world);
      } finally {
        world.clearFaults();
        this.#free.push(world);
      }
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.worlds.map((world) => world.close()));
  }

  async #start(): Promise<AccountWorld> {
    const world = await startAccountWorld(this.#options);
    this.worlds.push(world);
    return world;
  }
}

let clients = 0;
/** A new client of this world. The accounts of a request are those with the email address of its client. */
export async function newClient(world: AccountWorld): Promise<WorldClient> {
  clients += 1;
  const client = {
    id: `C${String(clients).padStart(7, '0')}`,
    email: `zoe-quill-${clients}@mailbox.example`,
    name: 'Zoelinde Quillfeather',
    phone: { country_code: '44', number: String(7_400_100_000 + clients) },
    country: 'GB',
    language: 'en',
  };
  await world.writeClients([client]);
  return client;
}
