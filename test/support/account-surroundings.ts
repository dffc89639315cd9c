import { parseCrmFile } from '../../infra/crm/crm-file.ts';
import { toItems } from '../../infra/crm/crm-items.ts';
import { crmTable } from '../../infra/crm/crm-table.ts';
import { type localClient, startAws } from '../../infra/local/aws.ts';
import { TABLES } from '../../infra/local/database.ts';
import type { TextServerOptions } from '../../infra/local/platforms/text-accounts.ts';
import { startTextServer } from '../../infra/local/platforms/text-server.ts';
import { startWebApiServer } from '../../infra/local/platforms/web-api-server.ts';
import { environmentOf, RegistrationEnvironment, SettlementEnvironment } from '../../lib/validators/deployment.ts';
import { TP4_GROUPS, TP5_GROUPS } from './account-connections.ts';
import { Environments, type EnvironmentsOptions } from './environments.ts';
import { marksOf, type PersonalData } from './secret-search.ts';
import { localCertificate } from './web-api.ts';
import { WorldClock } from './world-clock.ts';

export const MANAGER_PASSWORD = 'Man4ger-of-tests';
export const MASTER_CODE = 'master-c0de-of-tests';
export const PASSWORD_KEY = Buffer.from('the password key of these tests!').toString('base64');

const TOPIC = 'arn:aws:sns:eu-west-1:000000000000:client-notifications';
const SENDER = 'no-reply@example.com';
export const SECRETS = new Map([
  ['platform/password-key', JSON.stringify({ key: PASSWORD_KEY })],
  ['test/pepper', JSON.stringify({ current: '1', 1: 'the pepper of these tests, long enough' })],
  ['platform/tp5', JSON.stringify({ login: 1000, password: MANAGER_PASSWORD })],
  ['platform/tp4', JSON.stringify({ master: MASTER_CODE })],
]);

/** A client of the CRM. Its name and addresses are searched for, so they must be words that nothing else holds. */
export interface WorldClient extends PersonalData {
  id: string;
  country?: string;
  language?: string;
}

export interface EnvironmentOptions extends EnvironmentsOptions {
  /** The folder of `bundleInto`. */
  bundles: string;
  settleSeconds?: number;
  environment?: Record<string, string>;
}

/** What the functions call. */
export async function startSurroundings() {
  const environment = { ...registrationEnvironment(), ...functionEnvironment() };
  const resources = {
    environment,
    verified: [SENDER.replace(/^.*@/, '')],
    topicArn: TOPIC,
    bucket: 'documents',
    eventBus: 'events',
  };
  const gateway: TextServerOptions = { dialect: 'interface-gateway', master: MASTER_CODE, groups: TP4_GROUPS };
  const [aws, tp5, reg, gw] = await Promise.all([
    startAws({ ...resources, secrets: new Map(SECRETS) }),
    startWebApiServer({
      manager: { login: 1000, password: MANAGER_PASSWORD },
      groups: TP5_GROUPS,
      certificate: await localCertificate(),
    }),
    startTextServer({ dialect: 'web-registration', master: MASTER_CODE, groups: TP4_GROUPS }),
    startTextServer(gateway),
  ]);
  await aws.database.createTables(TABLES);
  const faults = { ...aws.faults, tp5: tp5.faults, reg: reg.faults, gw: gw.faults };
  const clock = new WorldClock();
  for (const one of Object.values(faults)) one.pause = (ms, signal) => clock.sleep(ms, signal);
  const clearFaults = () => Object.values(faults).map((one) => one.clear());
  return { aws, clock, faults, clearFaults, tp5, reg, gw, gateway };
}

export function crmWriter(client: ReturnType<typeof localClient>) {
  const crm = crmTable(TABLES.crm, client);
  const marks = new Set<string>();
  async function write(records: object): Promise<void> {
    const items = await toItems(await parseCrmFile(JSON.stringify(records)));
    await crm.write(items.map((put) => ({ put })));
  }

  return {
    write,
    async addClients(clients: WorldClient[]): Promise<void> {
      for (const mark of clients.flatMap(marksOf)) marks.add(mark);
      await write({ clients });
    },
    /** What is searched for of the clients. */
    marks,
    close: () => crm.close(),
  };
}

export function environmentsAround(
  { environment, accessKeyOf }: Pick<Awaited<ReturnType<typeof startAws>>, 'environment' | 'accessKeyOf'>,
  options: EnvironmentOptions,
): Environments {
  return new Environments(
    options.bundles,
    (name) => ({
      ...functionEnvironment(options.settleSeconds),
      ...environment,
      AWS_ACCESS_KEY_ID: accessKeyOf(name),
      ...options.environment,
    }),
    options,
  );
}

/** What the function of registrations is told beside. */
export function registrationEnvironment(): Record<string, string> {
  return environmentOf(RegistrationEnvironment, {
    stage: 'test',
    senderAddress: SENDER,
    crmTable: TABLES.crm,
    operationsTable: TABLES.operations,
    registrationsTable: TABLES.registrations,
    limitsTable: TABLES.limits,
    documentsBucket: 'documents',
    pepperSecret: 'test/pepper',
    sesConfigurationSet: 'mails',
  });
}

function functionEnvironment(settleSeconds = 1): Record<string, string> {
  return {
    ...environmentOf(SettlementEnvironment, {
      stage: 'test',
      brand: { name: 'Example Broker', supportEmail: 'support@example.com' },
      senderAddress: SENDER,
      crmTable: TABLES.crm,
      operationsTable: TABLES.operations,
      accountsTable: TABLES.accounts,
      registrationsTable: TABLES.registrations,
      passwordSecret: 'platform/password-key',
      notificationsTopicArn: TOPIC,
      eventBus: 'events',
      sesConfigurationSet: 'mails',
      settleSeconds,
    }),
  };
}
