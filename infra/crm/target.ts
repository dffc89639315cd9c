import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import * as v from 'valibot';
import { CommandError, wrong } from './command.ts';
import { type CrmTable, crmTable } from './crm-table.ts';

/** A table, and how its account's services are reached. */
export interface Target {
  table: CrmTable;
  /** For messages. */
  name: string;
  /** Of the client that reads the secrets. */
  client: ClientConfig;
}

interface ClientConfig {
  region?: string;
  endpoint?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
}

/** Where the operator says that the records are. */
export interface Where {
  stack?: string;
  table?: string;
  /** The address of a local service. */
  local?: string;
}

export const LOCAL_URL = 'http://localhost:3000';

/** @throws CommandError where nothing is found there */
export async function openTarget({ stack, table, local }: Where): Promise<Target> {
  if ([stack, table, local].filter((place) => place !== undefined).length === 1) {
    if (local !== undefined) return openLocal(local);
    const name = table ?? (stack === undefined ? undefined : await tableOfStack(stack));
    if (name !== undefined) return { table: crmTable(name), name: `the table ${name}`, client: {} };
  }
  throw wrong('Say where the records are: --stack NAME, --table NAME or --local.');
}

const EnvironmentSchema = v.object({
  CRM_TABLE: v.string(),
  AWS_REGION: v.string(),
  AWS_ACCESS_KEY_ID: v.string(),
  AWS_SECRET_ACCESS_KEY: v.string(),
  AWS_ENDPOINT_URL_DYNAMODB: v.string(),
  AWS_ENDPOINT_URL_SECRETS_MANAGER: v.string(),
});

async function openLocal(address: string): Promise<Target> {
  if (!/^https?:/.test(address))
    throw wrong(`${address} is no address of a local service: write --local=URL, or --local behind the rest.`);
  const url = address.replace(/\/+$/, '');
  const answer = await fetch(`${url}/_local/environment`).then(
    (response) => response.json(),
    () => undefined,
  );
  const environment = v.safeParse(EnvironmentSchema, answer);
  if (!environment.success) throw new CommandError(`No local service answers at ${url}. npm start starts it.`);
  const { output } = environment;
  const client = {
    region: output.AWS_REGION,
    credentials: { accessKeyId: output.AWS_ACCESS_KEY_ID, secretAccessKey: output.AWS_SECRET_ACCESS_KEY },
  };
  return {
    table: crmTable(output.CRM_TABLE, { ...client, endpoint: output.AWS_ENDPOINT_URL_DYNAMODB }),
    name: 'the local service',
    client: { ...client, endpoint: output.AWS_ENDPOINT_URL_SECRETS_MANAGER },
  };
}

/** The output of the stack that names the table of CRM records. */
const TABLE_OUTPUT = /^CrmTable/;

async function tableOfStack(stack: string): Promise<string> {
  const client = new CloudFormationClient({});
  try {
    const answer = await client.send(new DescribeStacksCommand({ StackName: stack }));
    const output = answer.Stacks?.[0]?.Outputs?.find(({ OutputKey = '' }) => TABLE_OUTPUT.test(OutputKey));
    if (output?.OutputValue === undefined) throw new CommandError(`The stack ${stack} has no table of CRM records.`);
    return output.OutputValue;
  } finally {
    client.destroy();
  }
}
