import {
  CloudFormationClient,
  DescribeStackResourceCommand,
  DescribeStacksCommand,
} from '@aws-sdk/client-cloudformation';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as v from 'valibot';
import { localClient } from '../local-client.ts';
import type { Settings } from '../settings.ts';
import { keyAttributes, logicalId, type TableName } from '../tables.ts';
import { CommandError, undefinedIfAbsent, wrongUsage } from './command.ts';
import { type CrmTable, crmTable, operatorsDatabase, type TableItems, tableItems } from './crm-table.ts';
import { readDeployed } from './stack-settings.ts';

/** The deployment, or the table, that an operator works on. */
export interface Target {
  /** The target's name in messages. */
  name: string;
  /** The options that name it in commands, such as `['--stack', 'broker-api-prod']`. */
  place: readonly string[];
  /** The settings of the stack, which is asked once; absent without a stack. */
  settings?(): Promise<Settings>;
  /** The client of all tables. */
  database: DynamoDBDocumentClient;
  /** The table of CRM records. */
  table: CrmTable;
  /** The configuration of the client of a service; empty: the environment has it. */
  clientOf(service: Service): ClientConfig;
  /** Whether only a table is named, and nothing else can be used. */
  isTable?: true;
  /**
   * The name of a table, a bucket or a queue by its id in the stack, such as `OperationsTable`.
   * @throws CommandError if only a table is named
   */
  resource(logicalId: string): Promise<string>;
  /** The secret that codes are sealed with; absent if only a table is named. */
  pepperSecret?: string | undefined;
}

/** A service, as the name of its endpoint variable spells it. */
type Service = 'DYNAMODB' | 'S3' | 'SECRETS_MANAGER' | 'SESV2' | 'SQS';

/** `{}`: the environment has it. */
type ClientConfig = Partial<ReturnType<typeof localClient>>;

/** The options of a command that name its target. */
export interface WrittenTarget {
  stack?: string;
  table?: string;
  /** The address of a local service. */
  local?: string;
}

/** A table of the service, item by item. @param name absent: that of the deployment */
export async function openTable({ database, resource }: Target, table: TableName, name?: string): Promise<TableItems> {
  return tableItems(name ?? (await resource(logicalId(table))), keyAttributes(table), database);
}

export const LOCAL_URL = 'http://localhost:3000';

/** @throws CommandError if nothing is found there */
export async function openTarget({ stack, table, local }: WrittenTarget): Promise<Target> {
  if ([stack, table, local].filter((place) => place !== undefined).length === 1) {
    if (local !== undefined) return openLocal(local);
    if (stack !== undefined) return openStack(stack);
    if (table !== undefined) {
      const resource = async () => {
        throw new CommandError('This is found by --stack NAME or --local, not by --table.');
      };
      const database = operatorsDatabase();
      const named = {
        name: `the table ${table}`,
        place: ['--table', table],
        database,
        table: crmTable(table, database),
      };
      return { ...named, isTable: true, resource, clientOf: () => ({}) };
    }
  }
  throw wrongUsage('Say where the records are: --stack NAME, --table NAME or --local.');
}

const EnvironmentSchema = v.record(v.string(), v.string());

async function openLocal(address: string): Promise<Target> {
  if (!/^https?:/.test(address))
    throw wrongUsage(`${address} is no address of a local service: write --local=URL, or --local at the end.`);
  const url = address.replace(/\/+$/, '');
  const answer = await fetch(`${url}/_local/environment`).then(
    (response) => response.json(),
    () => undefined,
  );
  const environment = v.safeParse(EnvironmentSchema, answer);
  if (!environment.success) throw new CommandError(`No local service answers at ${url}. npm start starts it.`);
  const { output } = environment;
  const clientOf = (service: Service) => localClient(output, `AWS_ENDPOINT_URL_${service}`);
  /** The variable of a resource: `OPERATIONS_TABLE` of `OperationsTable`. */
  const resource = async (logicalId: string) => {
    const name = output[logicalId.replaceAll(/\B[A-Z]/g, (letter) => `_${letter}`).toUpperCase()];
    if (name === undefined) throw new CommandError(`The local service has no ${logicalId}.`);
    return name;
  };
  const database = operatorsDatabase(clientOf('DYNAMODB'));
  return {
    name: 'the local service',
    place: [url === LOCAL_URL ? '--local' : `--local=${url}`],
    database,
    table: crmTable(await resource('CrmTable'), database),
    clientOf,
    resource,
    pepperSecret: output.PEPPER_SECRET,
  };
}

/** A read that is made at the first call; later calls get its result. */
export function once<T>(read: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  return () => {
    found ??= read();
    return found;
  };
}

async function openStack(stack: string): Promise<Target> {
  const client = new CloudFormationClient({});
  try {
    const answer = await client.send(new DescribeStacksCommand({ StackName: stack }));
    const outputs = answer.Stacks?.[0]?.Outputs ?? [];
    const output = (name: string) => outputs.find(({ OutputKey }) => OutputKey === name)?.OutputValue;
    const table = output('CrmTableName');
    if (table === undefined) throw new CommandError(`The stack ${stack} has no table of CRM records.`);
    const database = operatorsDatabase();
    return {
      name: `the table ${table}`,
      place: ['--stack', stack],
      settings: once(() => readDeployed(stack)),
      database,
      table: crmTable(table, database),
      clientOf: () => ({}),
      resource: (logicalId) => physicalName(stack, logicalId),
      pepperSecret: output('PepperSecretArn'),
    };
  } finally {
    client.destroy();
  }
}

/** The settings that make a resource which commands use. */
const SETTINGS_OF: Readonly<Record<string, string>> = {
  CrmUndeliveredQueue: 'crmWebhook',
  CrmAccountsQueue: 'crmWebhook',
};

/** The name of a resource of a stack. @param logicalId as the template names it */
async function physicalName(stack: string, logicalId: string): Promise<string> {
  const client = new CloudFormationClient({});
  const command = new DescribeStackResourceCommand({ StackName: stack, LogicalResourceId: logicalId });
  const answer = await undefinedIfAbsent(client.send(command)).finally(() => client.destroy());
  const name = answer?.StackResourceDetail?.PhysicalResourceId;
  const setting = SETTINGS_OF[logicalId];
  const why = setting === undefined ? '' : `: the setting ${setting} is not deployed`;
  if (name === undefined) throw new CommandError(`The stack ${stack} has no ${logicalId}${why}.`);
  return name;
}
