import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { EVERYTHING, plainValue, resourcesOfType, synthesize } from '../support/stack.ts';

const ROOT = new URL('../../', import.meta.url);
const FOLDERS = ['', '.github/', 'infra/docs/', 'infra/local/', 'infra/openapi/', 'lib/', 'test/'];
const PAGES = FOLDERS.flatMap((folder) =>
  readdirSync(new URL(folder || '.', ROOT))
    .filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md')
    .map((name) => `${folder}${name}`),
).concat('infra/commands.sh');

/** A command of the AWS CLI on a page. */
interface Command {
  /** The file and the line. */
  place: string;
  /** Such as `s3api`. */
  service: string;
  /** Such as `copy-object`. */
  operation: string;
  options: string[];
  /** The paragraph, list item or table row that has or introduces it. */
  near: string;
  /** The section and the beginning of the page, one of which may speak for all their commands. */
  around: string;
}

function commandsOf(page: string): Command[] {
  const lines = readFileSync(new URL(page, ROOT), 'utf8').split('\n');
  const begin = lines.findIndex((line) => line.startsWith('## '));
  return lines.flatMap((line, index) => {
    const rest = lines.slice(index);
    const end = rest.findIndex((one) => !one.endsWith('\\'));
    const whole = rest.slice(0, end + 1).join(' ');
    const found = [...whole.matchAll(/\baws ([a-z][a-z0-9-]+) ([a-z][a-z0-9-]+)((?:(?!\baws )[^`#])*)/g)];
    if (!/\baws [a-z]/.test(line)) return [];
    // A block of code belongs to the text before it.
    const text = lines.findLastIndex((one, at) => at <= index && /^(\S| *[-\d])/.test(one));
    const heading = lines.findLastIndex((one, at) => at <= index && /^##+ /.test(one));
    const next = lines.findIndex((one, at) => at > index && /^##+ /.test(one));
    const section = lines.slice(Math.max(heading, 0), next < 0 ? undefined : next);
    return found.map(([, service = '', operation = '', words = '']) => ({
      place: `${page}:${index + 1}: aws ${service} ${operation}`,
      service,
      operation,
      options: [
        ...words
          .split(/ && |\)"?;? /, 1)
          .join('')
          .matchAll(/ --([a-z0-9-]+)/g),
      ].map(([, option = '']) => option),
      near: lines.slice(text, index + 1).join('\n'),
      around: [...section, ...lines.slice(0, begin)].join('\n'),
    }));
  });
}

const COMMANDS = [...PAGES, 'infra/commands.sh'].flatMap(commandsOf);

/** The prefixes of rights, where they are not the names of the CLI. */
const PREFIXES: Record<string, string> = {
  'pinpoint-sms-voice-v2': 'sms-voice',
  s3api: 's3',
  sesv2: 'ses',
  socialmessaging: 'social-messaging',
};
/** Commands that are more than the operation of this name. */
const OTHER_RIGHTS: Record<string, string> = { 'logs tail': 'logs:FilterLogEvents' };
/** Commands that need no right. */
const WITHOUT_RIGHTS = ['configure export-credentials'];

const [policy = ''] = Object.entries(resourcesOfType(synthesize(EVERYTHING), 'AWS::IAM::ManagedPolicy'))
  .filter(([id]) => id.startsWith('OperatorsPolicy'))
  .map(([, { Properties }]) => JSON.stringify(plainValue(Properties.PolicyDocument)).toLowerCase());

function mayOperators({ service, operation }: Command): boolean {
  const name = `${service} ${operation}`;
  const right = OTHER_RIGHTS[name] ?? `${PREFIXES[service] ?? service}:${operation.replaceAll('-', '')}`;
  return WITHOUT_RIGHTS.includes(name) || policy.includes(`"${right.toLowerCase()}"`);
}

/** How a line names another role, and how a section or the beginning of a page does it for all its commands. */
const OTHER_ROLE = /\b[Aa]n administrator\b|deploying role|role of \[rotation\]|`documentRoles`/;
const ADMINISTRATORS_ALL = /`aws` commands( of this \w+)? need an administrator's rights/;

describe('A command of the AWS CLI on a page', () => {
  it('is allowed by the policy of operators, or its page names another role', () => {
    expect(COMMANDS.length).toBeGreaterThan(60);
    const unmarked = COMMANDS.filter((one) => !OTHER_ROLE.test(one.near) && !ADMINISTRATORS_ALL.test(one.around));
    expect(unmarked.length).toBeGreaterThan(10);
    expect(unmarked.filter((one) => !mayOperators(one)).map(({ place }) => place)).toEqual([]);
  });

  it('has options that its operation knows', () => {
    const checked = COMMANDS.filter(({ service, operation, options, place }) => {
      const known = knownOptions(service, operation);
      for (const option of options.filter((one) => !GLOBAL.includes(one))) expect(known, place).toContain(option);
      return options.length > 0;
    });
    expect(checked.length).toBeGreaterThan(45);
  });
});

const GLOBAL = ['query', 'output', 'region'];
/** The options of commands of which the project has no client, or which are the CLI's own, as far as pages use them. */
const OPTIONS: Record<string, string[]> = {
  'acm request-certificate': ['domain-name', 'validation-method'],
  'backup create-backup-plan': ['backup-plan'],
  'backup create-backup-selection': ['backup-plan-id', 'backup-selection'],
  'backup create-backup-vault': ['backup-vault-name', 'encryption-key-arn'],
  'backup put-backup-vault-access-policy': ['backup-vault-name', 'policy'],
  'backup update-global-settings': ['global-settings'],
  'backup update-region-settings': ['resource-type-management-preference', 'resource-type-opt-in-preference'],
  'cloudformation deploy': ['capabilities', 'parameter-overrides', 'stack-name', 'template-file'],
  'cloudwatch set-alarm-state': ['alarm-name', 'state-reason', 'state-value'],
  'cognito-idp describe-user-pool-client': ['client-id', 'user-pool-id'],
  'configure export-credentials': ['format'],
  'dynamodb wait': ['table-name'],
  'ec2 release-address': [],
  'logs delete-log-group': [],
  'logs tail': ['filter-pattern', 'since'],
  's3 rb': ['force'],
  'ssm get-parameter-history': ['name'],
  'xray batch-get-traces': ['trace-ids'],
};

/** As the AWS SDK has them: the input of an operation, and the names of its members, are each the fifth. */
type Structure = [unknown, unknown, unknown, unknown, members: string[]];
type Operation = [unknown, unknown, unknown, unknown, input: Structure | (() => Structure)];
/** Services that the AWS CLI names differently. */
const CLIENTS: Record<string, string> = { events: 'eventbridge', s3api: 's3', secretsmanager: 'secrets-manager' };

/** The options of an operation, as the CLI writes them. */
function knownOptions(service: string, operation: string): string[] {
  const own = OPTIONS[`${service} ${operation}`];
  if (own !== undefined) return own;
  const client = createRequire(import.meta.url)(`@aws-sdk/client-${CLIENTS[service] ?? service}`);
  const wanted = `${operation.replaceAll('-', '')}command`;
  const commands = Object.entries(client as Record<string, new (input: object) => { schema: Operation }>);
  const [, Command = expect.fail(`${service} ${operation}`)] =
    commands.find(([name]) => name.toLowerCase() === wanted) ?? [];
  const input = new Command({}).schema[4];
  const [, , , , members] = typeof input === 'function' ? input() : input;
  const words = members.map((member) => kebab(member));
  return words.flatMap((one) => [one, `no-${one}`]);
}

/** `KMSMasterKeyId` is `kms-master-key-id`. */
function kebab(member: string): string {
  return member
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1-$2')
    .toLowerCase();
}
