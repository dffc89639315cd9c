import { parseArgs } from 'node:util';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import * as v from 'valibot';
import { COMMANDS, CommandError, type CrmStreams, counted, indented, type Target, wrong } from './commands.ts';
import { CrmFileError } from './crm-file.ts';
import { crmTable } from './crm-table.ts';

const HELP = `The operators' command on the records of the CRM.

  npm run crm -- COMMAND WHERE [--dry-run]

COMMAND
  import FILE            adds and changes the records of a CRM file (- reads the standard input); deletes none
  export [FILE]          writes all records as a CRM file, to the standard output where no file is named
  list KIND [--json]     shows the records of a kind: forms, clients, account-types or connections
  put KIND FILE          adds or changes one record, which stands in a file as JSON (- reads the standard input)
  delete KIND ID...      deletes records
  check CONNECTION_ID... connects to trading servers and logs in, without creating anything

WHERE
  --stack NAME           the table of a deployed stack, found by the stack's outputs
  --table NAME           a table by its name
  --local [URL]          the local service, http://localhost:3000 where no URL is given

OPTIONS
  --dry-run              shows what import, put or delete would change, and changes nothing
  --json                 lists as JSON
  --help                 shows this

AWS credentials and region come from the environment (AWS_PROFILE, AWS_REGION and so on). Within a pipe, use
\`npm run -s crm\`, which leaves out npm's own words. The command ends with 0 when all went well, 1 when something
did not, 2 when it was called wrongly.
`;

const LOCAL_URL = 'http://localhost:3000';
/** Runs the operators' command. @returns its exit code */
export async function runCrm(args: readonly string[], streams: CrmStreams): Promise<number> {
  try {
    const { values, positionals } = parse(args);
    const [command, ...operands] = positionals;
    if (values.help === true || command === 'help') {
      streams.print(HELP);
      return 0;
    }
    const action = COMMANDS.find(({ name }) => name === command);
    if (action === undefined) throw wrong(command === undefined ? 'Say a command.' : `There is no command ${command}.`);
    if (operands.length < action.least || operands.length > action.most)
      throw wrong(`${action.name} takes ${action.takes}.`);
    const target = await open(values);
    try {
      await action.run(target, operands, { dryRun: values['dry-run'] === true, json: values.json === true }, streams);
    } finally {
      target.table.close();
    }
    return 0;
  } catch (error) {
    const { message, exitCode } = explain(error);
    streams.tell(`${message}\n`);
    return exitCode;
  }
}

function parse(args: readonly string[]) {
  // `--local` may stand alone or with an address behind it.
  const normal = args.flatMap((argument, index) => {
    if (index > 0 && args[index - 1] === '--local' && /^https?:/.test(argument)) return [];
    if (argument !== '--local') return [argument];
    const next = args[index + 1] ?? '';
    return [`--local=${/^https?:/.test(next) ? next : LOCAL_URL}`];
  });
  try {
    return parseArgs({
      args: normal,
      allowPositionals: true,
      options: {
        stack: { type: 'string' },
        table: { type: 'string' },
        local: { type: 'string' },
        'dry-run': { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw wrong(error instanceof Error ? (error.message.split('. ')[0] ?? '') : '');
  }
}

async function open(where: { stack?: string; table?: string; local?: string }): Promise<Target> {
  const given = [where.stack, where.table, where.local].filter((name) => name !== undefined);
  if (given.length !== 1) throw wrong('Say where the records are: --stack NAME, --table NAME or --local.');
  if (where.local !== undefined) return openLocal(where.local);
  const name = where.table ?? (await tableOfStack(where.stack ?? ''));
  return { table: crmTable(name), name: `the table ${name}`, client: {} };
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

function explain(error: unknown): { message: string; exitCode: 1 | 2 } {
  if (error instanceof CommandError) return error;
  if (error instanceof CrmFileError) {
    return {
      message: `${counted(error.faults.length, 'fault')}; nothing was written:\n${indented(error)}`,
      exitCode: 1,
    };
  }
  if (!(error instanceof Error)) return { message: String(error), exitCode: 1 };
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' && 'path' in error) return { message: `There is no file ${error.path}.`, exitCode: 1 };
  if (code === 'ENOTFOUND' || code === 'ECONNREFUSED' || code === 'ETIMEDOUT') {
    return { message: `AWS cannot be reached from here (${error.message}).`, exitCode: 1 };
  }
  const sentence =
    SERVICE_ERRORS[error.name] ?? (/region is missing/i.test(error.message) ? SERVICE_ERRORS.NoRegion : undefined);
  return { message: sentence ?? `${error.name}: ${error.message}`, exitCode: 1 };
}

const SERVICE_ERRORS: Record<string, string> = {
  NoRegion: 'The AWS region is not known: set AWS_REGION, or AWS_PROFILE to a profile that names one.',
  CredentialsProviderError: 'There are no AWS credentials: set AWS_PROFILE, or log in with `aws sso login`.',
  ExpiredTokenException: 'The AWS credentials have expired.',
  UnrecognizedClientException: 'AWS does not know these credentials.',
  AccessDeniedException:
    'These AWS credentials may not do this: it takes dynamodb:Scan, GetItem and BatchWriteItem on the table, ' +
    'cloudformation:DescribeStacks for --stack, and secretsmanager:GetSecretValue for check.',
  ResourceNotFoundException: 'There is no such table in this account and region.',
  ValidationError: 'There is no such stack in this account and region.',
};

if (import.meta.main) {
  process.exitCode = await runCrm(process.argv.slice(2), {
    input: process.stdin,
    print: (text) => process.stdout.write(text),
    tell: (text) => process.stderr.write(text),
  });
}
