import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { registrationConfig } from '../../lib/config.ts';
import { type Connection, TextProtocolSecretSchema, WebApiSecretSchema } from '../../lib/records/crm-records.ts';
import {
  AccountEnvironment,
  ALL_COUNTRIES,
  environmentOf,
  RegistrationEnvironment,
} from '../../lib/validators/deployment.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import type { CrmFile } from '../crm/crm-file.ts';
import { type CrmItem, toItems } from '../crm/crm-items.ts';
import { crmTable } from '../crm/crm-table.ts';
import { LOCAL_HOST } from '../crm/record-rules.ts';
import { type FunctionName, ROUTES } from '../routes.ts';
import { type Database, startDatabase } from './database.ts';
import { DEMO_RECORDS } from './demo-records.ts';
import { Faults } from './faults.ts';
import { firstCalls } from './first-calls.ts';
import { type LambdaHandler, type Route, startGateway } from './gateway.ts';
import { localRoutes } from './local-routes.ts';
import { Outbox } from './outbox.ts';
import type { SimulatedGroup, SimulatedServer } from './platforms/simulated-server.ts';
import { startTextServer } from './platforms/text-server.ts';
import { startWebApiServer } from './platforms/web-api-server.ts';
import { type S3StandIn, startS3 } from './stand-ins/s3.ts';
import { startSecrets } from './stand-ins/secrets.ts';
import { startSes } from './stand-ins/ses.ts';
import { startSns } from './stand-ins/sns.ts';
import { startSocial } from './stand-ins/social.ts';
import type { StandIn } from './stand-ins/stand-in.ts';
import { startVoice } from './stand-ins/voice.ts';

export interface ServiceOptions {
  /** 0 (or nothing) picks a free one. */
  port?: number;
  /** Instead of the demo records. */
  records?: CrmFile;
  /** Variables of the functions that differ from the local ones (`lib/validators/deployment.ts`). */
  environment?: Record<string, string>;
  /** Origins whose pages may register people, beside the service's own. */
  allowedOrigins?: readonly string[];
  /** False: the functions log to the standard output, as they do to CloudWatch. */
  quiet?: boolean;
  /** Loads a function; the bundled ones can be run this way. Called once the environment is set. */
  load?: (name: FunctionName) => Promise<LambdaHandler>;
}

/** The services of AWS that run inside; each is a target of faults. */
const SERVICES = ['ses', 'sns', 'voice', 'whatsapp', 'dynamodb', 's3', 'secrets'] as const;
type ServiceName = (typeof SERVICES)[number];

export interface LocalService {
  url: string;
  port: number;
  outbox: Outbox;
  /** The faults of an embedded service or, by connection id, of a simulated trading server. */
  faults(target: string): Faults;
  /** The simulated trading servers by connection id. */
  platforms: ReadonlyMap<string, SimulatedServer>;
  database: Database;
  /** The other embedded services, with their counts of requests and what they keep. */
  standIns: Readonly<Record<Exclude<ServiceName, 'dynamodb' | 's3'>, StandIn> & { s3: S3StandIn }>;
  /** What the functions were given. */
  environment: Readonly<Record<string, string>>;
  /** Ends everything at once. */
  close(): Promise<void>;
}

const REGION = 'eu-west-1';
const TABLES = {
  crm: 'crm',
  operations: 'operations',
  registrations: 'registrations',
  limits: 'limits',
  accounts: 'accounts',
};
const BUCKET = 'documents';
const TOPIC = `arn:aws:sns:${REGION}:000000000000:client-notifications`;
const PEPPER_SECRET = 'local/pepper';
const PASSWORD_SECRET = 'local/password-key';

const DEPLOYMENT = {
  stage: 'local',
  senderAddress: 'no-reply@example.com',
  brand: { name: 'Example Broker', supportEmail: 'support@example.com' },
  channels: [...OTP_TYPES],
  phone: { countries: [ALL_COUNTRIES] },
  call: { originationIdentity: 'phone-00000000000000000000000000000001' },
  whatsapp: {
    phoneNumberId: 'phone-number-id-00000000000000000000000000000001',
    codeTemplate: 'one_time_password',
    noticeTemplate: 'registration_attempt',
  },
  crmTable: TABLES.crm,
  operationsTable: TABLES.operations,
};

/** What the functions are told; AWS endpoints and credentials come beside it. */
const SETTINGS = {
  ...environmentOf(RegistrationEnvironment, {
    ...DEPLOYMENT,
    registrationsTable: TABLES.registrations,
    limitsTable: TABLES.limits,
    documentsBucket: BUCKET,
    pepperSecret: PEPPER_SECRET,
  }),
  ...environmentOf(AccountEnvironment, {
    ...DEPLOYMENT,
    accountsTable: TABLES.accounts,
    passwordSecret: PASSWORD_SECRET,
    notificationsTopicArn: TOPIC,
  }),
};

/** The groups of a simulated server whose connection names none. */
const TP5_GROUPS = ['real\\standard', 'real\\raw', 'real\\strict', 'demo\\standard', 'demo\\forex', 'demoforex'];
const TP4_GROUPS = ['standard', 'raw', 'strict', 'demostandard', 'demoforex'];
/** A group of this name asks for longer passwords than the platform does, so that a rejection can be seen. */
const STRICT = /strict$/;
const STRICT_PASSWORD_LENGTH = 11;

let running = false;
let loads = 0;

/**
 * The whole service in this process: the functions of `functions/` with their real SDK clients behind a gateway,
 * embedded stand-ins for what they call, and simulated trading servers. One at a time in a process, because the
 * functions read the process's environment.
 */
export async function startService(options: ServiceOptions = {}): Promise<LocalService> {
  if (running) throw new Error('One local service at a time runs in a process.');
  running = true;
  const opened: Closable[] = [];
  let closed = false;
  const close = async () => {
    closed = true;
    await Promise.all(opened.splice(0).map((one) => one.close()));
    running = false;
  };
  const open: Open = async (starting) => {
    const started = await starting;
    opened.push(started);
    if (closed) await close();
    return started;
  };
  try {
    return await start(options, open, close);
  } catch (error) {
    await close();
    throw error;
  }
}

interface Closable {
  close(): unknown;
}
/** Notes a thing that runs, so that it ends with the service, also with one that fails to start. */
type Open = <T extends Closable>(starting: T | Promise<T>) => Promise<T>;

async function start(options: ServiceOptions, open: Open, close: () => Promise<void>): Promise<LocalService> {
  const records = options.records ?? DEMO_RECORDS;
  const settings = { ...SETTINGS, ...options.environment };
  const told = registrationConfig(settings);
  const outbox = new Outbox();
  const services = new Map(SERVICES.map((name) => [name as string, new Faults()]));
  const faults = (target: string): Faults => {
    const found = services.get(target) ?? platforms.get(target)?.faults;
    if (found === undefined) throw new Error(`There is no target ${target}.`);
    return found;
  };
  const secrets = makeSecrets(records);
  const platforms = new Map<string, SimulatedServer>();
  const simulated = records.connections.filter(({ host }) => host === LOCAL_HOST);
  const standIn = (name: ServiceName) => ({ faults: faults(name), record: outbox.record.bind(outbox) });

  const [database, ses, sns, voice, whatsapp, s3, secretsManager] = await Promise.all([
    open(startDatabase({ faults: faults('dynamodb') })),
    open(startSes({ ...standIn('ses'), verified: [told.email.senderAddress] })),
    open(startSns({ ...standIn('sns'), topics: [TOPIC] })),
    open(
      startVoice({
        ...standIn('voice'),
        originationIdentities: told.call === undefined ? [] : [told.call.originationIdentity],
      }),
    ),
    open(
      startSocial({
        ...standIn('whatsapp'),
        phoneNumberIds: told.whatsapp === undefined ? [] : [told.whatsapp.phoneNumberId],
        codeTemplates: told.whatsapp === undefined ? [] : [told.whatsapp.codeTemplate],
        noticeTemplates: told.whatsapp === undefined ? [] : [told.whatsapp.noticeTemplate],
      }),
    ),
    open(startS3({ ...standIn('s3'), buckets: [BUCKET] })),
    open(startSecrets({ faults: faults('secrets'), secrets })),
  ]);
  const servers = await Promise.all(simulated.map((connection) => open(startPlatform(connection, secrets))));
  for (const [index, { id }] of simulated.entries()) {
    const server = servers[index];
    if (server !== undefined) platforms.set(id, server);
  }

  const endpoints = {
    AWS_ENDPOINT_URL_DYNAMODB: database.url,
    AWS_ENDPOINT_URL_SES: ses.url,
    AWS_ENDPOINT_URL_SNS: sns.url,
    AWS_ENDPOINT_URL_PINPOINT_SMS_VOICE_V2: voice.url,
    AWS_ENDPOINT_URL_SOCIALMESSAGING: whatsapp.url,
    AWS_ENDPOINT_URL_S3: s3.url,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
  };
  const aws = { AWS_REGION: REGION, AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local', ...endpoints };
  const environment = { ...settings, ...aws, ...(options.quiet === false ? {} : QUIET) };

  await database.createTables(TABLES);
  const connections = records.connections.map((connection) =>
    withRealAddress(connection, platforms.get(connection.id)),
  );
  await writeRecords(await toItems({ ...records, connections }), database.url);

  await open(setEnvironment(environment));
  loads += 1;
  const routes: Route[] = [];
  for (const { path, name, timeoutSeconds, access } of ROUTES) {
    const handler = await (options.load ?? loadSource)(name);
    routes.push({
      method: 'POST',
      path,
      handler,
      functionName: name,
      timeoutMs: timeoutSeconds * 1_000,
      cors: access === 'open',
    });
  }
  const gateway = await open(
    startGateway({
      routes,
      port: options.port ?? 0,
      allowedOrigins: options.allowedOrigins ?? [],
      beside: (app) =>
        localRoutes(app, {
          outbox,
          platforms,
          services,
          firstCalls: firstCalls(records),
          environment: { ...settings, ...aws },
        }),
    }),
  );

  return {
    url: gateway.url,
    port: gateway.port,
    outbox,
    faults,
    platforms,
    database,
    standIns: { ses, sns, voice, whatsapp, s3, secrets: secretsManager },
    environment,
    close,
  };
}

/** Loads a function anew, so that what it makes at cold start belongs to this service and to no earlier one. */
async function loadSource(name: FunctionName): Promise<LambdaHandler> {
  const url = new URL(`../../functions/${name}.ts?service=${loads}`, import.meta.url);
  return ((await import(/* @vite-ignore */ url.href)) as { handler: LambdaHandler }).handler;
}

/** Keeps the functions from logging. */
const QUIET = { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' };

/**
 * Sets the process's environment to what a function finds, and puts the old one back on `close`. Whatever the machine
 * says of AWS is taken away, so that nothing here ever reaches an account.
 */
function setEnvironment(environment: Record<string, string>): { close(): void } {
  const before = { ...process.env };
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  const nowhere = join(tmpdir(), 'no-such-directory', 'aws');
  Object.assign(process.env, { AWS_CONFIG_FILE: nowhere, AWS_SHARED_CREDENTIALS_FILE: nowhere, ...environment });
  return {
    close() {
      for (const name of Object.keys(process.env)) delete process.env[name];
      Object.assign(process.env, before);
    },
  };
}

/** The values of all secrets by name: the file's own ones, and made-up ones for the simulated servers. */
function makeSecrets({ connections, local_secrets: given }: CrmFile): Map<string, string> {
  const key = () => randomBytes(32).toString('base64');
  const values = new Map([
    [PEPPER_SECRET, JSON.stringify({ current: '1', '1': key() })],
    [PASSWORD_SECRET, JSON.stringify({ key: key() })],
  ]);
  for (const [name, value] of Object.entries(given)) values.set(name, JSON.stringify(value));
  for (const { secret } of connections) {
    if (values.has(secret)) continue;
    // Members of both kinds of protocol, because connections may share a secret.
    const password = `${randomBytes(9).toString('base64url')}aA1!`;
    values.set(secret, JSON.stringify({ login: 1000, password, master: randomBytes(12).toString('base64url') }));
  }
  return values;
}

function startPlatform(connection: Connection, secrets: ReadonlyMap<string, string>): Promise<SimulatedServer> {
  const secret: unknown = JSON.parse(secrets.get(connection.secret) ?? '{}');
  if (connection.protocol === 'web-api') {
    const { login, password } = v.parse(WebApiSecretSchema, secret);
    return startWebApiServer({ manager: { login, password }, groups: groupsOf(connection, TP5_GROUPS) });
  }
  const { master } = v.parse(TextProtocolSecretSchema, secret);
  return startTextServer({
    dialect: connection.protocol,
    master,
    groups: groupsOf(connection, TP4_GROUPS),
    codePage: connection.code_page,
    // Answers come in pieces, as on a bad day, yet not byte by byte: each piece is a system call.
    packetBytes: 8,
  });
}

/** The groups of a simulated server: those that its connection offers, at their index where it has one. */
function groupsOf({ groups }: Connection, standard: string[]): SimulatedGroup[] {
  let names = groups ?? standard;
  if (!Array.isArray(names)) {
    const byIndex = new Map(Object.entries(names).map(([name, index]) => [index, name]));
    const count = Math.min(Math.max(0, ...byIndex.keys()), 1_000);
    names = Array.from({ length: count }, (_, place) => byIndex.get(place + 1) ?? `group${place + 1}`);
  }
  return names.map((name) => (STRICT.test(name) ? { name, minPasswordLength: STRICT_PASSWORD_LENGTH } : { name }));
}

/** The connection as the functions see it: a simulated server stands on this machine, at the port it picked. */
function withRealAddress(connection: Connection, server: SimulatedServer | undefined): Connection {
  if (server === undefined) return connection;
  const address = { host: '127.0.0.1', port: server.port };
  if (connection.protocol !== 'web-api') return { ...connection, ...address };
  const { fingerprint: _, ...rest } = connection;
  return { ...rest, ...address, ...(server.ca === undefined ? {} : { ca: server.ca }) };
}

async function writeRecords(items: CrmItem[], endpoint: string): Promise<void> {
  const table = crmTable(TABLES.crm, {
    endpoint,
    region: REGION,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  await table.write(items.map((put) => ({ put })));
  table.close();
}
