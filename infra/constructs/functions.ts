import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage, Duration, RemovalPolicy, type Stack, Validations } from 'aws-cdk-lib';
import { type ISecurityGroup, type IVpc, SubnetType } from 'aws-cdk-lib/aws-ec2';
import { type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Alias,
  Architecture,
  Code,
  type IFunction,
  type IVersion,
  type Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { SETTINGS_FILE, variableName } from '../../lib/validators/deployment.ts';
import { ENTRY_FILE } from '../bundle.ts';
import type { DeployedFunction, DeployedRoute, NOTIFIER, ScheduledFunction } from '../routes.ts';
import { type Settings, settingsFile, signingSecretName } from '../settings.ts';
import type { DataStores } from './data-stores.ts';
import type { ServiceEvents } from './event-bus.ts';
import type { FixedEgress } from './fixed-egress.ts';
import type { MailSender } from './mail-sender.ts';
import {
  acknowledgeDocuments,
  acknowledgePlatformSecrets,
  allow,
  onCrmIndexes,
  onDocuments,
  onDueIndex,
  onTable,
  readSecretNamed,
  readSecrets,
  rightsOfChannels,
  secretArn,
} from './rights.ts';

/** The context of the functions. */
export interface FunctionContext {
  stack: Stack;
  settings: Settings;
  data: DataStores;
  mail: MailSender;
  notifications: Topic;
  events: ServiceEvents;
  /** The country rules that calls obey; absent: all countries are served. */
  protectConfiguration: string | undefined;
  /** Of the account functions; absent: outside of a VPC. */
  egress: FixedEgress | undefined;
  logRetention: RetentionDays;
  removalPolicy: RemovalPolicy;
}

/** The function that answers a route, with its rights and variables. */
export function createFunction(route: DeployedRoute, context: FunctionContext): ServiceFunction {
  switch (route.operation) {
    case 'requestRegistration':
      return registration(route, context);
    case 'confirmRegistration':
      return confirmation(route, context);
    case 'createTp5Account':
    case 'createTp4Account':
      return accounts(route, context);
  }
}

/** The name of its construct, and the prefix of its outputs: `RequestRegistration`. */
export function constructName({ name }: DeployedRoute | ScheduledFunction | typeof NOTIFIER): string {
  return name.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

const OPERATION_STEPS = ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'];

function registration(route: DeployedRoute, context: FunctionContext): ServiceFunction {
  const { stack, settings, data, mail } = context;
  return acknowledgeDocuments(
    answering(route, context, 'registration', {
      description: 'Keeps a pending registration and sends its one-time password.',
      rights: [
        mail.right,
        ...rightsOfChannels(stack, settings, context.protectConfiguration),
        onTable(data.tables.Crm, 'ReadCrm', ['GetItem']),
        onCrmIndexes(data.tables.Crm, 'Query', 'proven_email', 'proven_phone', 'referral_code'),
        onTable(data.tables.Registrations, 'KeepRegistrations', ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem']),
        onTable(data.tables.Limits, 'CountSends', ['GetItem', 'BatchGetItem', 'UpdateItem']),
        onTable(data.tables.Operations, 'KeepOperations', OPERATION_STEPS),
        // If registrations can be confirmed, a document gets a tag, and disappears after a day.
        onDocuments(data, 'StoreDocuments', ['PutObject', ...(settings.confirmation ? ['PutObjectTagging'] : [])]),
        readSecrets('ReadPepper', data.pepper.secretArn),
        ...edgeRights(stack, settings),
      ],
      resources: {
        ...mailResources(context),
        ...registrationResources(context),
        operationsTable: data.tables.Operations.tableName,
        providerSecret: settings.provider && signingSecretName(settings.stage, 'provider'),
        protectConfiguration: settings.call && context.protectConfiguration,
      },
    }),
  );
}

function confirmation(route: DeployedRoute, context: FunctionContext): ServiceFunction {
  const { stack, settings, data, events } = context;
  return acknowledgeDocuments(
    answering(route, context, 'registration', {
      description: 'Confirms a registration by its one-time password.',
      rights: [
        events.right,
        onCrmIndexes(data.tables.Crm, 'Query', 'proven_email', 'proven_phone'),
        onTable(data.tables.Registrations, 'ConfirmRegistrations', ['GetItem', 'UpdateItem']),
        onTable(data.tables.Limits, 'CountGuesses', ['GetItem', 'UpdateItem']),
        onDocuments(
          data,
          'KeepDocuments',
          settings.scanDocuments ? ['GetObjectTagging', 'PutObjectTagging'] : ['DeleteObjectTagging'],
        ),
        readSecrets('ReadPepper', data.pepper.secretArn),
        ...edgeRights(stack, { ...settings, captcha: undefined }),
      ],
      resources: { ...registrationResources(context), eventBus: events.bus.eventBusName },
    }),
  );
}

function accounts(route: Extract<DeployedRoute, { version: unknown }>, context: FunctionContext): ServiceFunction {
  const made = answering(route, context, 'accounts', {
    description: `Opens an account of platform version ${route.version.slice(2)} for a client.`,
    network: context.egress,
    rights: [
      ...rightsOfAccounts(context),
      onTable(context.data.tables.Operations, 'KeepOperations', OPERATION_STEPS),
      onTable(context.data.tables.Logins, 'ReserveLogins', ['PutItem', 'DeleteItem']),
    ],
    resources: accountResources(context),
  });
  return acknowledgePlatformSecrets(made, context.settings);
}

/** The function of a route, with the settings of its kind. */
function answering(
  route: DeployedRoute,
  context: FunctionContext,
  kind: 'registration' | 'accounts',
  own: Pick<ServiceFunctionProps, 'description' | 'network' | 'rights' | 'resources'>,
): ServiceFunction {
  const { stack, settings, logRetention, removalPolicy } = context;
  return new ServiceFunction(stack, constructName(route), {
    ...own,
    name: route.name,
    timeoutSeconds: route.timeoutSeconds,
    logRetention,
    removalPolicy,
    memory: settings.memory[kind],
    settings,
    reservedConcurrency: settings.concurrency[kind],
    provisionedConcurrency: settings.provisioned[kind],
  });
}

/** The settler and its schedule. */
export function settlement(scheduled: ScheduledFunction, context: FunctionContext): ServiceFunction {
  const { stack, settings, data } = context;
  const made = new ServiceFunction(stack, constructName(scheduled), {
    name: scheduled.name,
    timeoutSeconds: scheduled.timeoutSeconds,
    description: 'Completes the operations that no client retries.',
    memory: settings.memory.accounts,
    settings,
    logRetention: context.logRetention,
    removalPolicy: context.removalPolicy,
    network: context.egress,
    rights: [
      ...rightsOfAccounts(context),
      onTable(data.tables.Operations, 'SettleOperations', ['UpdateItem']),
      onDueIndex(data.tables.Operations, 'FindOperations'),
      onDueIndex(data.tables.Registrations, 'FindRegistrations'),
      onTable(data.tables.Registrations, 'MarkPublished', ['BatchGetItem', 'UpdateItem']),
    ],
    resources: { ...accountResources(context), registrationsTable: data.tables.Registrations.tableName },
  });
  acknowledgePlatformSecrets(made, settings);
  schedule(made, scheduled.everyMinutes);
  return made;
}

/**
 * Calls a function on a schedule. A failed call is not retried, because the next one follows soon. The call is
 * asynchronous: by default Lambda would retry it twice, and queue it for six hours.
 */
function schedule(called: ServiceFunction, everyMinutes: number): void {
  const { live } = called;
  live.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(everyMinutes) });
  new Schedule(new Construct(called, 'Schedule'), 'Rule', {
    description: 'Completes the operations that no client retries.',
    schedule: ScheduleExpression.rate(Duration.minutes(everyMinutes)),
    // The library's types disagree about optional members.
    target: new LambdaInvoke(live as IFunction, { retryAttempts: 0, input: ScheduleTargetInput.fromObject({}) }),
  });
}

function rightsOfAccounts({ stack, settings, data, mail, notifications, events }: FunctionContext): PolicyStatement[] {
  return [
    mail.right,
    allow('PublishClientNotifications', 'sns', ['Publish'], notifications.topicArn),
    events.right,
    onTable(data.tables.Crm, 'ReadCrm', ['BatchGetItem']),
    onTable(data.tables.Accounts, 'RecordAccounts', ['PutItem']),
    readSecrets('ReadPlatformSecrets', secretArn(stack, `${settings.platformSecrets}*`)),
  ];
}

function accountResources(context: FunctionContext) {
  const { data, notifications, events } = context;
  return {
    ...mailResources(context),
    crmTable: data.tables.Crm.tableName,
    operationsTable: data.tables.Operations.tableName,
    accountsTable: data.tables.Accounts.tableName,
    loginsTable: data.tables.Logins.tableName,
    passwordSecret: data.passwordKey.secretArn,
    notificationsTopicArn: notifications.topicArn,
    eventBus: events.bus.eventBusName,
  };
}

function registrationResources({ data }: FunctionContext) {
  return {
    crmTable: data.tables.Crm.tableName,
    registrationsTable: data.tables.Registrations.tableName,
    limitsTable: data.tables.Limits.tableName,
    documentsBucket: data.documents.bucketName,
    pepperSecret: data.pepper.secretArn,
  };
}

const mailResources = ({ mail }: FunctionContext) => ({ sesConfigurationSet: mail.configurationSetName });

/** To read the keys of the captcha and of the front, if there are any. */
function edgeRights(stack: Stack, { captcha, front }: Settings): PolicyStatement[] {
  return [
    ...(captcha === undefined ? [] : [readSecretNamed(stack, 'ReadCaptchaKey', captcha.secret)]),
    ...(front === undefined ? [] : [readSecretNamed(stack, 'ReadFrontKey', front.secret)]),
  ];
}

export interface ServiceFunctionProps {
  /** The file in `functions/`. */
  name: DeployedFunction;
  description: string;
  /** The settings of the deployment, which become a file next to the code. */
  settings: Settings;
  /** The names of its resources, which become its variables. */
  resources: Readonly<Record<string, string | undefined>>;
  /** MB. */
  memory: number;
  timeoutSeconds: number;
  /** None by default: a new account has 10 in all, and a reservation would fail the deployment. */
  reservedConcurrency?: number | undefined;
  /** Environments that are kept warm. */
  provisionedConcurrency?: number | undefined;
  /** All its rights, except for its log and trace. */
  rights: PolicyStatement[];
  logRetention: RetentionDays;
  removalPolicy: RemovalPolicy;
  /** Absent: outside of a VPC. */
  network?: { vpc: IVpc; securityGroup: ISecurityGroup } | undefined;
}

/** A function, with the settings that all of them have, and a role of its own that holds each right by name. */
export class ServiceFunction extends Construct {
  readonly lambda: LambdaFunction;
  /** The version that callers get: the gateway calls it, and a release moves it. */
  readonly live: Alias;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    this.logGroup = new LogGroup(this, 'Log', { retention: props.logRetention, removalPolicy: props.removalPolicy });
    const { network } = props;
    this.lambda = new NodejsFunction(this, 'Function', {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: bundled(props.name, settingsFile(props.settings)),
      handler: ENTRY_FILE.replace(/\.mjs$/, '.handler'),
      memorySize: props.memory,
      timeout: Duration.seconds(props.timeoutSeconds),
      environment: variables(props.resources),
      ...(props.reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: props.reservedConcurrency }),
      role: this.role(props),
      tracing: Tracing.ACTIVE,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      ...(network === undefined
        ? {}
        : {
            vpc: network.vpc,
            vpcSubnets: { subnetType: SubnetType.PRIVATE_WITH_EGRESS },
            securityGroups: [network.securityGroup],
          }),
      // Old versions stay, so that one of them can be made live again.
      currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN },
    });
    this.live = new Alias(this, 'Live', {
      aliasName: 'live',
      // The library's types disagree about optional members.
      version: this.lambda.currentVersion as IVersion,
      ...(props.provisionedConcurrency === undefined
        ? {}
        : { provisionedConcurrentExecutions: props.provisionedConcurrency }),
    });
  }

  private role({ name, rights, network }: ServiceFunctionProps): Role {
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `What ${name} may do.`,
    });
    for (const right of rights) role.addToPolicy(right);
    if (network !== undefined) role.addToPolicy(allow('JoinNetwork', 'ec2', INTERFACE_ACTIONS, '*'));
    role.addToPolicy(allow('WriteOwnLog', 'logs', ['CreateLogStream', 'PutLogEvents'], this.logGroup.logGroupArn));
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'X-Ray and the network interfaces of Lambda know no resources: their actions can be granted on all or not.',
    });
    return role;
  }
}

/** What Lambda itself needs of the role to put a function into a network. */
const INTERFACE_ACTIONS = [
  ...['CreateNetworkInterface', 'DescribeNetworkInterfaces', 'DescribeSubnets', 'DeleteNetworkInterface'],
  ...['AssignPrivateIpAddresses', 'UnassignPrivateIpAddresses'],
];

const FUNCTIONS_FOLDER = fileURLToPath(new URL('../../functions', import.meta.url));
const BUNDLER = fileURLToPath(new URL('../bundle.ts', import.meta.url));

/** The function's code as infra/bundle.ts makes it, with the file of settings; the container image is never used. */
function bundled(name: DeployedFunction, settings: string): Code {
  return Code.fromAsset(FUNCTIONS_FOLDER, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('none'),
      // Distinguishes the assets.
      command: [name, settings],
      local: {
        tryBundle(folder) {
          execFileSync(process.execPath, [BUNDLER, name, folder], { stdio: ['ignore', 2, 2] });
          writeFileSync(join(folder, SETTINGS_FILE), settings);
          return true;
        },
      },
    },
  });
}

function variables(resources: ServiceFunctionProps['resources']): Record<string, string> {
  const all = Object.entries(resources).flatMap(([name, value]) =>
    value === undefined ? [] : [[variableName(name), value] as const],
  );
  return Object.fromEntries(all);
}
