import { randomUUID } from 'node:crypto';
import { QueryCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { parseCrmFile } from '../../infra/crm/crm-file.ts';
import { toItems } from '../../infra/crm/crm-items.ts';
import { crmTable } from '../../infra/crm/crm-table.ts';
import { localClient, startAws } from '../../infra/local/aws.ts';
import { type Database, TABLES } from '../../infra/local/database.ts';
import type { Faults } from '../../infra/local/faults.ts';
import type { GatewayEvent } from '../../infra/local/gateway-event.ts';
import type { Outbox } from '../../infra/local/outbox.ts';
import type { SimulatedGroup, SimulatedServer } from '../../infra/local/platforms/simulated-server.ts';
import { startTextServer } from '../../infra/local/platforms/text-server.ts';
import { startWebApiServer, type WebApiServer } from '../../infra/local/platforms/web-api-server.ts';
import { databaseClient, type Item } from '../../lib/aws/dynamodb.ts';
import { derivePassword, parsePasswordKey } from '../../lib/platform/passwords.ts';
import { AccountEnvironment, environmentOf } from '../../lib/validators/deployment.ts';
import type { PlatformVersion } from '../../lib/validators/trading-account.ts';
import { type Bundles, Environments, type Outcome } from './environments.ts';
import { checkAnswer } from './openapi.ts';
import { marksOf, type PersonalData, placesOf, placesOfMarks } from './secret-search.ts';
import { localCertificate } from './web-api.ts';

const MANAGER_PASSWORD = 'Man4ger-of-tests';
const MASTER_CODE = 'master-c0de-of-tests';
const PASSWORD_KEY = Buffer.from('the password key of these tests!').toString('base64');

const TOPIC = 'arn:aws:sns:eu-west-1:000000000000:client-notifications';
const SENDER = 'no-reply@example.com';
const SECRETS = new Map([
  ['test/password-key', JSON.stringify({ key: PASSWORD_KEY })],
  ['test/tp5', JSON.stringify({ login: 1000, password: MANAGER_PASSWORD })],
  ['test/tp4', JSON.stringify({ master: MASTER_CODE })],
]);

const ACCOUNT_TYPES = [
  { id: 'ATDEMO05', platform: 'tp5', deposit: 10_000 },
  { id: 'ATLIVE05', platform: 'tp5' },
  { id: 'ATDEMO04', platform: 'tp4', deposit: 5_000 },
  { id: 'ATLIVE04', platform: 'tp4' },
];

const TP5_GROUPS: SimulatedGroup[] = [
  { name: 'real\\standard' },
  { name: 'real\\strict', minPasswordLength: 14 },
  { name: 'real\\closed', permitted: false },
];
const TP4_GROUPS: SimulatedGroup[] = [
  { name: 'standard' },
  { name: 'demoforex' },
  { name: 'strict', minPasswordLength: 14 },
];

/** A client of the CRM. Its name and addresses are searched for, so they must be words that nothing else holds. */
interface WorldClient extends PersonalData {
  id: string;
  country?: string;
  language?: string;
}

export interface WorldOptions {
  bundles: Bundles;
  clients?: WorldClient[];
  settleSeconds?: number;
  environment?: Record<string, string>;
  /** By how much the wall clock of each new environment is wrong, in milliseconds. */
  skewMs?: () => number;
}

/** What a caller sends. */
export interface AccountCall {
  version?: PlatformVersion;
  userId?: string;
  body: Record<string, unknown> | string;
  key?: string;
  caller?: string;
  /** How long the function may take, in milliseconds, as Lambda tells it. */
  ms?: number;
}

export interface AccountAnswer {
  status: number;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/** A call that is under way. */
export interface Pending {
  /** Undefined when there is none, because the function was killed, out of time or crashed. */
  answer: Promise<AccountAnswer | undefined>;
  outcome: Promise<Outcome>;
  kill(): Promise<void>;
  pause(ms: number): Promise<void>;
}

/** The connections of a world, by what their servers speak. The two of a pair are one server. */
export const CONNECTIONS = {
  'tp5-live': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: undefined },
  'tp5-demo': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: 'ATDEMO05' },
  'reg-live': { version: 'tp4', server: 'reg', group: 'standard', account_type_id: undefined },
  'reg-demo': { version: 'tp4', server: 'reg', group: 'demoforex', account_type_id: 'ATDEMO04' },
  'gw-live': { version: 'tp4', server: 'gw', group: 'standard', account_type_id: undefined },
  'gw-demo': { version: 'tp4', server: 'gw', group: 'demoforex', account_type_id: 'ATDEMO04' },
  'tp5-range': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: undefined },
  'tp5-range-demo': { version: 'tp5', server: 'tp5', group: 'real\\standard', account_type_id: 'ATDEMO05' },
  'gw-range': { version: 'tp4', server: 'gw', group: 'standard', account_type_id: undefined },
  'gw-range-demo': { version: 'tp4', server: 'gw', group: 'demoforex', account_type_id: 'ATDEMO04' },
} as const;
export type ConnectionId = keyof typeof CONNECTIONS;
type ServerName = (typeof CONNECTIONS)[ConnectionId]['server'];

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
  readonly outbox: Outbox;
  readonly environments: Environments;
  /** Every password that a request gave or an answer held, whatever came of it. */
  readonly passwords: ReadonlySet<string>;
  send(call: AccountCall): Pending;
  /** @throws Error when there is no answer */
  ask(call: AccountCall): Promise<AccountAnswer>;
  addClients(clients: WorldClient[]): Promise<void>;
  clearFaults(): void;
  /** The records of a client's accounts. */
  records(userId: string): Promise<Item[]>;
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
  const resources = { senderAddress: SENDER, topicArn: TOPIC, bucket: 'documents', eventBus: 'events' };
  const [aws, tp5, reg, gw] = await Promise.all([
    startAws({ ...resources, secrets: new Map(SECRETS) }),
    startWebApiServer({
      manager: { login: 1000, password: MANAGER_PASSWORD },
      groups: TP5_GROUPS,
      certificate: await localCertificate(),
    }),
    startTextServer({ dialect: 'web-registration', master: MASTER_CODE, groups: TP4_GROUPS }),
    startTextServer({ dialect: 'interface-gateway', master: MASTER_CODE, groups: TP4_GROUPS }),
  ]);
  const { database, outbox } = aws;
  await database.createTables(TABLES);

  const text = { platform: 'tp4', host: '127.0.0.1', secret: 'test/tp4' };
  const web = { platform: 'tp5', protocol: 'web-api', host: '127.0.0.1', secret: 'test/tp5', ca: tp5.ca };
  const byIndex = { groups: { standard: 1, demoforex: 2, strict: 3 } };
  const connections = [
    { ...web, id: 'tp5-live', name: 'Live', port: tp5.port, demo: false },
    { ...web, id: 'tp5-demo', port: tp5.port, demo: true },
    { ...text, id: 'reg-live', protocol: 'web-registration', port: reg.port, demo: false, ...byIndex },
    { ...text, id: 'reg-demo', protocol: 'web-registration', port: reg.port, demo: true, ...byIndex },
    { ...text, id: 'gw-live', protocol: 'interface-gateway', port: gw.port, demo: false },
    { ...text, id: 'gw-demo', protocol: 'interface-gateway', port: gw.port, demo: true },
    { ...web, id: 'tp5-range', port: tp5.port, demo: false, logins: { from: 500_000, to: 501_999 } },
    { ...web, id: 'tp5-range-demo', port: tp5.port, demo: true, logins: { from: 502_000, to: 503_999 } },
    {
      ...text,
      id: 'gw-range',
      protocol: 'interface-gateway',
      port: gw.port,
      demo: false,
      logins: { from: 510_000, to: 511_999 },
    },
    {
      ...text,
      id: 'gw-range-demo',
      protocol: 'interface-gateway',
      port: gw.port,
      demo: true,
      logins: { from: 512_000, to: 513_999 },
    },
  ];
  const client = localClient(aws.environment, 'AWS_ENDPOINT_URL_DYNAMODB');
  const crm = crmTable(TABLES.crm, client);
  const write = async (records: object) => {
    const items = await toItems(await parseCrmFile(JSON.stringify(records)));
    await crm.write(items.map((put) => ({ put })));
  };
  await write({ connections, account_types: ACCOUNT_TYPES });
  const marks = new Set<string>();
  const addClients = async (clients: WorldClient[]) => {
    for (const mark of clients.flatMap(marksOf)) marks.add(mark);
    await write({ clients });
  };
  await addClients(options.clients ?? []);

  const environments = new Environments(
    options.bundles,
    {
      ...environmentOf(AccountEnvironment, {
        stage: 'test',
        brand: { name: 'Example Broker', supportEmail: 'support@example.com' },
        senderAddress: SENDER,
        crmTable: TABLES.crm,
        operationsTable: TABLES.operations,
        accountsTable: TABLES.accounts,
        passwordSecret: 'test/password-key',
        notificationsTopicArn: TOPIC,
        eventBus: 'events',
        settleSeconds: options.settleSeconds ?? 1,
      }),
      ...aws.environment,
      ...options.environment,
    },
    options.skewMs === undefined ? {} : { skewMs: options.skewMs },
  );
  const reader = databaseClient(client);
  const allFaults = { ...aws.faults, tp5: tp5.faults, reg: reg.faults, gw: gw.faults };

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

  async function items(table: keyof typeof TABLES): Promise<Item[]> {
    const all: Item[] = [];
    let from: Item | undefined;
    do {
      const page = await reader.send(new ScanCommand({ TableName: TABLES[table], ExclusiveStartKey: from }));
      all.push(...(page.Items ?? []));
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return all;
  }

  async function written(): Promise<Written> {
    const tables = await Promise.all((['crm', 'operations', 'accounts'] as const).map(items));
    return {
      tables: JSON.stringify(tables),
      log: environments.log.join(''),
      messages: JSON.stringify(outbox.list()),
      refusals: refusals.join(''),
    };
  }

  /** The passwords that the operations have, whether they were answered or not. */
  async function derivedPasswords(): Promise<string[]> {
    const key = parsePasswordKey(SECRETS.get('test/password-key') ?? '');
    return (await items('operations')).flatMap(({ nonce }) =>
      (['tp5', 'tp4'] as const).flatMap((version) =>
        (['master', 'investor'] as const).map((role) => derivePassword({ key, nonce: String(nonce), role, version })),
      ),
    );
  }

  async function leaks(): Promise<string[]> {
    const texts = await written();
    const secrets = [...passwords, ...(await derivedPasswords()), MANAGER_PASSWORD, MASTER_CODE, PASSWORD_KEY];
    const { log, refusals } = texts;
    return [
      ...placesOf(secrets, { ...texts }).map((place) => `a password or a secret in ${place}`),
      ...placesOfMarks(marks, { log, refusals }).map((place) => `a client’s data in ${place}`),
    ];
  }

  return {
    database,
    faults: allFaults,
    servers: { tp5, reg, gw },
    outbox,
    environments,
    passwords,
    send,
    ask: async (call) => {
      const pending = send(call);
      const answer = await pending.answer;
      if (answer === undefined) throw new Error(`There is no answer: ${(await pending.outcome).kind}.`);
      return answer;
    },
    addClients,
    records: async (userId) => {
      const KeyConditionExpression = 'pk = :pk';
      const values = { ExpressionAttributeValues: { ':pk': userId }, KeyConditionExpression };
      return (await reader.send(new QueryCommand({ TableName: TABLES.accounts, ...values }))).Items ?? [];
    },
    written,
    leaks,
    clearFaults: () => {
      for (const one of Object.values(allFaults)) one.clear();
    },
    close: async () => {
      await environments.close();
      for (const one of Object.values(allFaults)) one.clear();
      const found = await leaks();
      crm.close();
      reader.destroy();
      await Promise.all([aws, tp5, reg, gw].map((one) => one.close()));
      if (found.length > 0) throw new Error(`There is ${found.join(', ')}.`);
    },
  };
}

function passwordsIn({ master_password, investor_password }: Record<string, unknown>): string[] {
  return [master_password, investor_password].filter((one) => typeof one === 'string');
}

/** A password that a rule refuses may be so short that it stands everywhere. */
function isTelling(password: string): boolean {
  return password.length >= 8 && /\d/.test(password);
}

/** A request for an account with what a connection needs at least. */
export function accountBody(connection: ConnectionId, more: Record<string, unknown> = {}): Record<string, unknown> {
  const { group, account_type_id } = CONNECTIONS[connection];
  const type = account_type_id === undefined ? {} : { account_type_id };
  return { connection_id: connection, group, leverage: 100, ...type, ...more };
}

function versionOf(body: AccountCall['body']): PlatformVersion {
  const id = typeof body === 'object' ? String(body.connection_id) : '';
  return id in CONNECTIONS ? CONNECTIONS[id as ConnectionId].version : 'tp5';
}

/** What API Gateway hands to the function, with an IAM caller. */
function accountEvent(version: PlatformVersion, { userId = 'CLIENT01', body, key, caller }: AccountCall): GatewayEvent {
  const path = `/public/v1/users/${userId}/${version}/accounts`;
  const routeKey = `POST /public/v1/users/{user_id}/${version}/accounts`;
  const now = new Date();
  const event = {
    version: '2.0',
    routeKey,
    rawPath: path,
    rawQueryString: '',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
    requestContext: {
      accountId: '000000000000',
      apiId: 'test',
      domainName: 'api.example.com',
      domainPrefix: 'api',
      http: { method: 'POST', path, protocol: 'HTTP/1.1', sourceIp: '203.0.113.7', userAgent: 'test' },
      requestId: randomUUID(),
      routeKey,
      stage: '$default',
      time: now.toUTCString(),
      timeEpoch: now.getTime(),
      authorizer: { iam: { userArn: caller ?? 'arn:aws:iam::000000000000:user/crm' } },
    },
    pathParameters: { user_id: userId },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    isBase64Encoded: false,
  };
  return event;
}

/** @throws Error when the answer is not one of those that are documented */
function toAnswer(version: PlatformVersion, outcome: Outcome): AccountAnswer | undefined {
  if (outcome.kind !== 'answer') return undefined;
  const { statusCode, headers, body } = outcome.answer as {
    statusCode: number;
    headers: Record<string, string>;
    body: string;
  };
  checkAnswer('POST', `/public/v1/users/{user_id}/${version}/accounts`, statusCode, headers, body);
  return { status: statusCode, headers, body: JSON.parse(body) as Record<string, unknown> };
}
