import { ArnFormat, Stack } from 'aws-cdk-lib';
import { Effect, ManagedPolicy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct, type IConstruct } from 'constructs';
import { CONFIRMED_INDEX, DUE_INDEX } from '../../lib/config/deployment.ts';
import { KEY_SECRETS, type Settings, settingSecrets, signingSecretName } from '../settings.ts';
import { logicalId, RESTORABLE_TABLES } from '../tables.ts';
import type { CrmWebhook } from './crm-webhook.ts';
import type { DataStores } from './data-stores.ts';
import { releaseParameter } from './deployed-release.ts';
import { acknowledgeDocuments, documentRights } from './documents.ts';
import { explainWildcard, policyStatement, resourcesOf } from './policy-statement.ts';
import {
  acknowledgePlatformSecrets,
  CLIENT_KEY_PATTERNS,
  indexStatement,
  queueStatement,
  secretArn,
  tableStatement,
} from './rights.ts';
import { addOutput } from './stack-names.ts';

/**
 * A managed policy, whose ARN is an output of the stack.
 * @param description of the policy, and of the output
 */
function managedPolicy(
  scope: Construct,
  statements: PolicyStatement[],
  name: string,
  [description, outputDescription]: readonly [string, string],
): ManagedPolicy {
  const policy = new ManagedPolicy(scope, 'Policy', { description, statements });
  addOutput(scope, name, outputDescription, policy.managedPolicyArn);
  return policy;
}

interface PolicyContext {
  settings: Settings;
  data: DataStores;
  webhook: CrmWebhook | undefined;
}

/**
 * Exactly what `npm run ops` and `npm run doctor` call (test/infra/operators-policy.test.ts runs them all), and the
 * commands of the runbook: logs, an earlier version of a function, fewer calls of it. A deployment needs other rights.
 * @param topicArns the topics of the alarms
 */
export function allowOperators(
  stack: Stack,
  { settings, data, webhook }: PolicyContext,
  topicArns: readonly string[],
): void {
  const resourceName = releaseParameter(stack.stackName).slice(1);
  const releases = stack.formatArn({ service: 'ssm', resource: 'parameter', resourceName });
  const statements = [
    ...tableStatements(data),
    ...documentRights(data).forget,
    ...secretStatements(stack, settings),
    ...(webhook === undefined ? [] : redeliver(webhook)),
    readStack(stack),
    policyStatement('ReadReceivers', 'sns', ['ListSubscriptionsByTopic'], ...topicArns),
    policyStatement('ReadReleases', 'ssm', ['GetParameterHistory'], releases),
    new PolicyStatement({ sid: 'ReadAccount', actions: OF_THE_ACCOUNT, resources: ['*'] }),
    ...onCall(stack),
  ];
  // The names of statements count towards the maximum size of a policy.
  for (const statement of statements) statement.sid = undefined;
  const policy = managedPolicy(new Construct(stack, 'Operators'), statements, 'OperatorsPolicy', [
    'To run the commands crm and doctor, and those of the runbook; for operators.',
    'The policy that lets a person run the commands crm and doctor.',
  ]);
  acknowledgePlatformSecrets(policy, settings);
  acknowledgeStack(policy);
  acknowledgeDocuments(policy);
  explainWildcards(policy, stack, settings);
}

/** Explains the wildcards of the operators' policy. */
function explainWildcards(policy: IConstruct, stack: Stack, settings: Settings): void {
  for (const [service, name] of [
    ...logNames(stack).map((log) => ['logs', `log-group:${log}`] as const),
    ['lambda', `function:${stack.stackName}-*`] as const,
    ['secretsmanager', `secret:${settingSecrets(settings.stage)}*`] as const,
  ]) {
    const reason = 'The rest of the names is chosen by CloudFormation, or by the settings of the next deployment.';
    explainWildcard(policy, resourcesOf(service, name), reason);
  }
  const reason = 'An operator reads the whole table, so also each of its indexes.';
  explainWildcard(policy, '<CrmTable.Arn>/index/*', reason);
  for (const name of RESTORED_BY_OPERATORS) {
    const restored = `<${logicalId(name)}.Arn>-restored*`;
    explainWildcard(policy, restored, 'AWS restores a table under a name that the operator chooses.');
  }
  explainSigningKeys(policy, settings);
  const about =
    'These actions ask about the whole account, or about things that the stack does not own. All but one read: it takes an address off the suppression list, which has no ARN.';
  explainWildcard(policy, '*', about);
}

/** The tables that operators restore: all but registrations, which another policy restores. */
const RESTORED_BY_OPERATORS = RESTORABLE_TABLES.filter((name) => name !== 'Registrations');

function tableStatements({ tables }: DataStores): PolicyStatement[] {
  const restored = RESTORED_BY_OPERATORS.map((name) => `${tables[name].tableArn}-restored*`);
  return [
    tableStatement(tables.Crm, 'WriteCrmRecords', ['Scan', 'BatchGetItem', 'BatchWriteItem', 'PutItem', 'UpdateItem']),
    policyStatement('FindCrmRecords', 'dynamodb', ['Query', 'Scan'], `${tables.Crm.tableArn}/index/*`),
    indexStatement(tables.Operations, 'FindOperations', DUE_INDEX.name),
    tableStatement(tables.Operations, 'Settle', ['Scan', 'GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem']),
    tableStatement(tables.Accounts, 'RecordAccounts', ['Scan', 'BatchGetItem', 'PutItem', 'DeleteItem', 'Query']),
    tableStatement(tables.Logins, 'ReserveLogins', ['BatchGetItem', 'PutItem', 'DeleteItem']),
    tableStatement(tables.Registrations, 'Forget', ['Scan', 'DeleteItem']),
    policyStatement('ReadRestored', 'dynamodb', ['Scan'], ...restored),
  ];
}

/**
 * The commands of the alarms. CloudFormation begins the names of functions and logs with that of the stack; each by its
 * ARN would be more than a policy may hold.
 */
function onCall(stack: Stack): PolicyStatement[] {
  const brakes = ['ListVersionsByFunction', 'UpdateAlias', 'PutFunctionConcurrency', 'DeleteFunctionConcurrency'];
  const arn = (service: string, resource: string, resourceName: string) =>
    stack.formatArn({ service, resource, resourceName, arnFormat: ArnFormat.COLON_RESOURCE_NAME });
  return [
    policyStatement(
      'ReadLogs',
      'logs',
      ['FilterLogEvents'],
      ...logNames(stack).map((name) => arn('logs', 'log-group', name)),
    ),
    policyStatement('BrakeFunctions', 'lambda', brakes, arn('lambda', 'function', `${stack.stackName}-*`)),
  ];
}

/** The names of the log groups of the functions, and of the access log. */
const logNames = ({ stackName }: Stack) => [`${stackName}-*`, `/aws/vendedlogs/${stackName}/*`];

/** The rights that SQS checks when undelivered events are moved into the queue of accounts. */
function redeliver({ queues, undelivered }: CrmWebhook): PolicyStatement[] {
  const move = ['StartMessageMoveTask', 'ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'];
  return [
    queueStatement([undelivered], 'Redeliver', move),
    queueStatement([queues.accounts], 'QueueEvents', ['SendMessage']),
  ];
}

/**
 * The actions on the account. All only read, except for the last one, which takes an address off the suppression list.
 */
const OF_THE_ACCOUNT = [
  'ses:GetAccount',
  'ses:GetEmailIdentity',
  'ses:GetSuppressedDestination',
  'sms-voice:DescribeAccountAttributes',
  'social-messaging:ListLinkedWhatsAppBusinessAccounts',
  'social-messaging:ListWhatsAppMessageTemplates',
  'xray:BatchGetTraces',
  'ses:DeleteSuppressedDestination',
];

function secretStatements(stack: Stack, settings: Settings): PolicyStatement[] {
  const prefixes = [settings.platformSecrets, settingSecrets(settings.stage)];
  const others = [settings.captcha?.secret, settings.front?.secret].filter(
    (name) => name !== undefined && !prefixes.some((prefix) => name.startsWith(prefix)),
  );
  // A secret that does not exist yet has no suffix.
  const names = [...prefixes.map((prefix) => `${prefix}*`), ...others.flatMap((name) => [name, `${name}-??????`])];
  return [
    policyStatement(
      'WriteSecrets',
      'secretsmanager',
      // A tag names the functions that read the secret of a trading server.
      ['GetSecretValue', 'PutSecretValue', 'CreateSecret', 'DescribeSecret', 'TagResource'],
      ...names.map((name) => secretArn(stack, String(name))),
    ),
    // Denies the keys of the service, even where another policy or a setting would allow them. A caller with the keys
    // that sign requests could send events in the name of the service. Names and dates may be read.
    new PolicyStatement({
      sid: 'DenyKeys',
      effect: Effect.DENY,
      actions: ['*SecretValue', '*teSecret*', '*Policy'].map((action) => `secretsmanager:${action}`),
      resources: [secretArn(stack, `${KEY_SECRETS}*`), ...signingKeys(stack, settings)],
    }),
  ];
}

/** The secrets that sign requests to the broker's receivers, also before they exist. */
function signingKeys(stack: Stack, { stage }: Settings): string[] {
  return (['crmWebhook', 'provider'] as const).map((receiver) =>
    secretArn(stack, `${signingSecretName(stage, receiver)}*`),
  );
}

/** The right to find the outputs, resources and settings of the stack. */
function readStack(stack: Stack): PolicyStatement {
  const arn = stack.formatArn({ service: 'cloudformation', resource: 'stack', resourceName: `${stack.stackName}/*` });
  return policyStatement('ReadStack', 'cloudformation', ['DescribeStacks', 'DescribeStackResource'], arn);
}

function acknowledgeStack(policy: ManagedPolicy): void {
  const stack = resourcesOf('cloudformation', `stack/${Stack.of(policy).stackName}/*`);
  explainWildcard(policy, stack, 'The last part of the ARN is a number that CloudFormation chooses.');
}

/**
 * The rights to rotate the pepper, the key of derived passwords, and the keys that sign events and messages. A role of
 * its own needs them: the operators' policy denies them, whatever else is attached.
 */
export function allowKeyRotation(stack: Stack, { data, settings }: PolicyContext): void {
  const keys = [data.pepper.secretArn, data.passwordSecret.secretArn];
  const signing = signingKeys(stack, settings);
  const statements = [
    policyStatement('RotateKeys', 'secretsmanager', ['GetSecretValue', 'PutSecretValue'], ...keys, ...signing),
    policyStatement('MakeSigningKeys', 'secretsmanager', ['CreateSecret'], ...signing),
    readStack(stack),
  ];
  const scope = new Construct(stack, 'KeyRotation');
  const policy = managedPolicy(scope, statements, 'KeyRotationPolicy', [
    'To rotate the keys of the service; for a role that is not an operator.',
    'Lets a role rotate the keys of the service.',
  ]);
  acknowledgeStack(policy);
  explainSigningKeys(policy, settings);
}

function explainSigningKeys(policy: IConstruct, { stage }: Settings): void {
  for (const receiver of ['crmWebhook', 'provider'] as const) {
    const name = `secret:${signingSecretName(stage, receiver)}*`;
    explainWildcard(policy, resourcesOf('secretsmanager', name), 'Secrets Manager ends an ARN with random characters.');
  }
}

/**
 * The rights to restore registrations, for a role that operators do not have. A role that writes a registration can have
 * any address published as proven.
 */
export function allowRestoringRegistrations(stack: Stack, { tables }: DataStores): void {
  const { Registrations } = tables;
  const statements = [
    tableStatement(Registrations, 'RestoreRegistrations', ['BatchGetItem', 'PutItem']),
    policyStatement('ReadRestoredTable', 'dynamodb', ['Scan'], `${Registrations.tableArn}-restored*`),
    readStack(stack),
  ];
  const policy = managedPolicy(new Construct(stack, 'Restore'), statements, 'RestorePolicy', [
    'To restore registrations from a backup; for a role that is not an operator.',
    'Lets a role restore registrations from a backup.',
  ]);
  acknowledgeStack(policy);
  const restored = `<${logicalId('Registrations')}.Arn>-restored*`;
  explainWildcard(policy, restored, 'AWS restores a table under a name that the operator chooses.');
}

const ACTIONS = [
  'GetItem',
  'BatchGetItem',
  'ConditionCheckItem',
  'PutItem',
  'UpdateItem',
  'DeleteItem',
  'BatchWriteItem',
];

/** The rights with which the broker's CRM writes its records itself: the records of clients, or all. */
export function allowCrmWrites(stack: Stack, data: DataStores, writes: NonNullable<Settings['crmWriter']>): void {
  const statement = tableStatement(data.tables.Crm, 'WriteCrmItems', ACTIONS);
  if (writes === 'clients')
    statement.addCondition('ForAllValues:StringLike', { 'dynamodb:LeadingKeys': CLIENT_KEY_PATTERNS });
  managedPolicy(new Construct(stack, 'CrmWriter'), [statement], 'CrmWriterPolicy', [
    'To write CRM records as infra/crm-items.json describes them; for the CRM.',
    `Lets the CRM write ${writes === 'all' ? 'its records' : 'clients'}.`,
  ]);
}

/** The rights with which the broker's CRM reads a confirmed registration and its documents. */
export function allowReading(stack: Stack, { data }: PolicyContext): void {
  const { documents, tables } = data;
  const read = indexStatement(tables.Registrations, 'ReadRegistrations', CONFIRMED_INDEX);
  const scope = new Construct(stack, 'Reader');
  const statements = [read, ...documentRights(data).read];
  const policy = managedPolicy(scope, statements, 'ReadRegistrationsPolicy', [
    'To read confirmed registrations and their documents; for the CRM.',
    'Lets the CRM read confirmed registrations.',
  ]);
  acknowledgeDocuments(policy);
  addOutput(scope, 'RegistrationsTableName', 'The table of registrations.', tables.Registrations.tableName);
  addOutput(scope, 'DocumentsBucketName', 'Their documents.', documents.bucketName);
}
