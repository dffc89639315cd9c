import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { ALL_FUNCTIONS, type FunctionName, ROUTES, VERSIONS_TAG } from '../functions.ts';
import { localClient } from '../local-client.ts';
import type { CrmFile } from '../ops/crm-file.ts';
import { type CrmItem, serializeItems } from '../ops/crm-items.ts';
import { crmTable, operatorsDatabase } from '../ops/crm-table.ts';
import { readForm } from '../ops/form.ts';
import { LOCAL_HOST } from '../ops/record-rules.ts';
import { startAws } from './aws.ts';
import { TABLES } from './database.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import { DEMO_RECORDS } from './demo-records.ts';
import { type Faults, serviceFaults } from './faults.ts';
import { firstCalls } from './first-calls.ts';
import { type LambdaHandler, lambdaContext, type Route, startGateway } from './gateway.ts';
import { localRoutes } from './local-routes.ts';
import {
  type DeploymentSettings,
  localResources,
  localSettings,
  makeSecrets,
  setEnvironment,
  signingKeys,
  taskRoot,
} from './local-settings.ts';
import type { OutboxEntry } from './outbox.ts';
import { type Right, runAsCaller } from './rights/policy.ts';
import { PLATFORM_SECRETS } from './rights/stack-rights.ts';
import { resolveAddress, startPlatform } from './simulated-platforms.ts';
import { startCaptcha } from './stand-ins/captcha.ts';
import { startCrm, startProvider } from './stand-ins/receivers.ts';

type LoadFunction = (name: FunctionName) => Promise<LambdaHandler>;

export interface ServiceOptions {
  /** Absent or 0: a free port. */
  port?: number;
  /** The records of the CRM instead of the demo records. */
  records?: CrmFile | undefined;
  /** Settings of the functions that differ from the local ones, by their names in cdk.json. */
  settings?: Readonly<Record<string, unknown>>;
  /** A CRM on this machine that receives the events, instead of the stand-in. */
  crmWebhook?: { url: string; key: string } | undefined;
  /** The key that messages to the broker's own provider are signed with. */
  providerKey?: string | undefined;
  /** Other origins whose pages may register people. */
  allowedOrigins?: readonly string[];
  /** Request headers that these pages may send beyond the usual ones. */
  allowedHeaders?: readonly string[];
  /** False: the functions log to the standard output, as they do to CloudWatch. */
  quiet?: boolean;
  /** Loads a function, such as a bundled one. Called once the environment is set. */
  load?: LoadFunction;
  /** The rights of callers next to the functions, by their names: `runAsCaller` signs calls with their keys. */
  callers?: Readonly<Record<string, readonly Right[]>>;
  /** True: scheduled functions run here too. */
  clock?: boolean;
}

/** A running service. `close` ends everything at once. */
export type LocalService = Awaited<ReturnType<typeof start>>;

const QUIET = { LOG_LEVEL: 'SILENT' };

let running = false;
let loads = 0;

/** A part of the service that runs until it is closed. */
interface Closable {
  close(): unknown;
}
/** Registers a running part, so that it ends with the service, also if the service fails to start. */
type Open = <T extends Closable>(started: T) => T;

/**
 * The whole service in this process: the gateway, the functions of `functions/` with their real SDK clients,
 * embedded stand-ins for what they call, and simulated trading servers. Only one at a time in a process, because the
 * functions read its environment.
 */
export async function startService(options: ServiceOptions = {}): Promise<LocalService> {
  if (running) throw new Error('One local service at a time runs in a process.');
  running = true;
  const opened: Closable[] = [];
  const open: Open = (started) => {
    opened.push(started);
    return started;
  };
  const close = async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()));
    running = false;
  };
  try {
    return { ...(await start(options, open)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(options: ServiceOptions, open: Open) {
  const records = grantSecrets(options.records ?? DEMO_RECORDS);
  const settings = localSettings(options.settings);
  const resources = localResources(settings);
  const world = await startEnvironment(records, settings, resources, options, open);
  const { aws, platforms, targets, captcha, crm, provider } = world;
  const crmWebhook = options.crmWebhook?.url ?? crm?.webhook;
  const root = open(taskRoot({ ...settings, crmWebhook, provider }));
  const environment: Record<string, string> = {
    ...resources,
    ...root.variables,
    ...(captcha === undefined ? {} : { CAPTCHA_URL: captcha.siteverify }),
    ...aws.environment,
    ...(options.quiet === false ? {} : QUIET),
  };
  open(setEnvironment(environment, aws.findAccessKey));
  loads += 1;
  const load = addIdentity(options.load ?? loadSource);
  const { tick } = open(await startClock(load, options.clock === true));
  await startNotifier(load, aws.deliveries);
  const shown = { forms: records.forms, firstCalls: firstCalls(records) };
  const { url, port } = open(
    await startGateway({
      routes: await loadRoutes(load),
      port: options.port ?? 0,
      allowedOrigins: options.allowedOrigins ?? [],
      allowedHeaders: options.allowedHeaders ?? [],
      addRoutes: (app) => localRoutes(app, { ...aws, ...world, ...shown, environment }),
    }),
  );
  /** The faults of an embedded service or, by connection id, of a simulated trading server. */
  const faults = (target: string): Faults => {
    const found = targets.get(target);
    if (found === undefined) throw new Error(`There is no target ${target}.`);
    return found;
  };
  return { ...aws, url, port, crm, captcha, faults, platforms, environment, tick };
}

/** @param runs false: the functions are called only when `tick` is */
async function startClock(load: LoadFunction, runs: boolean) {
  const calls: ((time: string) => Promise<unknown>)[] = [];
  const timers: NodeJS.Timeout[] = [];
  const now = () => new Date().toISOString();
  for (const { name, everyMinutes, timeoutSeconds } of ALL_FUNCTIONS) {
    if (everyMinutes === undefined) continue;
    const handler = (await load(name)) as (event: unknown, context: Context) => Promise<unknown>;
    const call = (time: string) => handler({ time }, lambdaContext(name, Date.now() + timeoutSeconds * 1_000));
    calls.push(call);
    // A call that fails is logged by the function, and not repeated: the next one comes soon.
    if (runs) timers.push(setInterval(() => void call(now()).catch(() => {}), everyMinutes * 60_000));
  }
  return {
    /** Calls the scheduled functions once. @param time of the schedule, ISO 8601 */
    tick: async (time = now()) => void (await Promise.all(calls.map((call) => call(time)))),
    close: () => timers.forEach(clearInterval),
  };
}

/** Starts the function that notifies the CRM on its queue. */
async function startNotifier(load: LoadFunction, deliveries: DeliveryQueue): Promise<void> {
  for (const { name, timeoutSeconds, queued } of ALL_FUNCTIONS) {
    if (!queued) continue;
    const handler = (await load(name)) as unknown as (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;
    deliveries.consume(handler, () => lambdaContext(name, Date.now() + timeoutSeconds * 1_000));
  }
}

/**
 * The records, with every connection's secret below the prefix of the setting `platformSecrets`: the account functions
 * may read only such secrets. An operator would name them like this there.
 */
function grantSecrets(records: CrmFile): CrmFile {
  const readable = (name: string) => (name.startsWith(PLATFORM_SECRETS) ? name : `${PLATFORM_SECRETS}${name}`);
  const given = Object.entries(records.local_secrets).map(([name, value]) => [readable(name), value]);
  return {
    ...records,
    connections: records.connections.map((one) => ({ ...one, secret: readable(one.secret) })),
    local_secrets: Object.fromEntries(given),
  };
}

/** The versions of the connections that use each secret, as `ops secret put` writes them. */
function platformTags({ connections }: CrmFile) {
  const users = Map.groupBy(connections, ({ secret }) => secret);
  const versions = [...users].map(
    ([secret, some]) => [secret, some.map(({ platform }) => platform).join(' ')] as const,
  );
  return new Map(versions.map(([secret, value]) => [secret, { [VERSIONS_TAG]: value }]));
}

async function startEnvironment(
  records: CrmFile,
  settings: DeploymentSettings,
  resources: Readonly<Record<string, string>>,
  { crmWebhook, providerKey, callers }: Pick<ServiceOptions, 'crmWebhook' | 'providerKey' | 'callers'>,
  open: Open,
) {
  const secrets = makeSecrets(records, settings, { webhookKey: crmWebhook?.key, providerKey });
  const aws = open(
    await startAws(settings, resources, secrets, { tags: platformTags(records), ...(callers && { callers }) }),
  );
  const targets = new Map<string, Faults>(Object.entries(aws.faults));
  const addTarget = (name: Parameters<typeof serviceFaults>[0]) => {
    const faults = serviceFaults(name);
    targets.set(name, faults);
    return faults;
  };
  const captcha =
    settings.captcha &&
    open(
      await startCaptcha({
        secret: secrets.get(settings.captcha.secret) ?? '',
        faults: addTarget('captcha'),
        settings: settings.captcha,
      }),
    );
  const crm =
    crmWebhook === undefined
      ? open(await startCrm({ keys: () => signingKeys(secrets, 'crmWebhook'), faults: addTarget('crm') }))
      : undefined;
  let { provider } = settings;
  if (provider !== undefined && Object.values(provider).includes(LOCAL_HOST)) {
    const record = (entry: OutboxEntry) => aws.outbox.record(entry);
    const { url: base } = open(
      await startProvider({ keys: () => signingKeys(secrets, 'provider'), record, faults: addTarget('provider') }),
    );
    const urls = Object.entries(provider).map(([name, url]) => [name, url === LOCAL_HOST ? `${base}/${name}` : url]);
    provider = Object.fromEntries(urls);
  }

  const simulated = records.connections.filter(({ host }) => host === LOCAL_HOST);
  const platforms = new Map(
    await Promise.all(simulated.map(async (one) => [one.id, open(await startPlatform(one, secrets))] as const)),
  );
  for (const [id, server] of platforms) targets.set(id, server.faults);
  await aws.database.createTables();
  const database = operatorsDatabase(localClient(aws.environment, 'AWS_ENDPOINT_URL_DYNAMODB'));
  open({ close: () => database.destroy() });
  const table = crmTable(TABLES.crm, database);
  const connections = records.connections.map((one) => resolveAddress(one, platforms.get(one.id)));
  const items: CrmItem[] = await serializeItems({ ...records, connections });
  await table.write(items.map((put) => ({ put })));
  return { aws, targets, captcha, provider, platforms, crm, form: (id: string) => readForm(table, id) };
}

async function loadRoutes(load: LoadFunction): Promise<Route[]> {
  const routes: Route[] = [];
  for (const { route, name, timeoutSeconds } of ROUTES) {
    const [timeoutMs, cors] = [timeoutSeconds * 1_000, route.access === 'open'];
    routes.push({ path: route.path, functionName: name, timeoutMs, cors, handler: await load(name) });
  }
  return routes;
}

/** Loads and calls every function with credentials of its own. */
function addIdentity(load: LoadFunction): LoadFunction {
  return async (name) => {
    const handler = await runAsCaller(name, () => load(name));
    return (event, context) => runAsCaller(name, () => handler(event, context));
  };
}

/** Loads a copy of a function of its own, so that its cold start belongs to this service. */
async function loadSource(name: FunctionName): Promise<LambdaHandler> {
  const url = new URL(`../../functions/${name}.ts?service=${loads}`, import.meta.url);
  return ((await import(/* @vite-ignore */ url.href)) as { handler: LambdaHandler }).handler;
}
