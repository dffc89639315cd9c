import { Duration, type RemovalPolicy, type Stack, Validations } from 'aws-cdk-lib';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import {
  AccountEnvironment,
  ConfirmationEnvironment,
  environmentVariables,
  RegistrationEnvironment,
  SettlementEnvironment,
} from '../../lib/validators/deployment.ts';
import type { DeployedRoute, NOTIFIER, ScheduledFunction } from '../routes.ts';
import { legalFileOf, type Settings, signingSecretName } from '../settings.ts';
import type { DataStores } from './data-stores.ts';
import type { ServiceEvents } from './event-bus.ts';
import type { FixedEgress } from './fixed-egress.ts';
import type { MailSender } from './mail-sender.ts';
import {
  acknowledgeDocuments,
  onDocuments,
  onDueIndex,
  onTable,
  publishRight,
  readSecretNamed,
  readSecrets,
  rightsOfChannels,
  secretArn,
} from './rights.ts';
import { ServiceFunction, type ServiceFunctionProps } from './service-function.ts';

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
  const made = answering(route, context, 'registration', {
    description: 'Keeps a pending registration and sends its one-time password.',
    rights: [
      mail.right,
      ...rightsOfChannels(stack, settings, context.protectConfiguration),
      onTable(data.crm, 'ReadCrm', ['BatchGetItem']),
      onTable(data.registrations, 'KeepRegistrations', ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem']),
      onTable(data.limits, 'CountSends', ['GetItem', 'BatchGetItem', 'UpdateItem']),
      onTable(data.operations, 'KeepOperations', OPERATION_STEPS),
      // If registrations can be confirmed, a document gets a tag, and disappears after a day.
      onDocuments(data, 'StoreDocuments', ['PutObject', ...(settings.confirmation ? ['PutObjectTagging'] : [])]),
      readSecrets('ReadPepper', data.pepper.secretArn),
      ...edgeRights(stack, settings),
    ],
    environment: environmentVariables(RegistrationEnvironment, {
      ...settings,
      ...registrationResources(context),
      providerSecret: settings.provider && signingSecretName(settings.stage, 'provider'),
      protectConfiguration: settings.call && context.protectConfiguration,
    }),
  });
  acknowledgeDocuments(made);
  return made;
}

function confirmation(route: DeployedRoute, context: FunctionContext): ServiceFunction {
  const { stack, settings, data, events } = context;
  const made = answering(route, context, 'registration', {
    description: 'Confirms a registration by its one-time password.',
    rights: [
      events.right,
      onTable(data.crm, 'ReadCrm', ['BatchGetItem']),
      onTable(data.registrations, 'ConfirmRegistrations', ['GetItem', 'UpdateItem']),
      onTable(data.limits, 'CountGuesses', ['GetItem', 'UpdateItem']),
      onDocuments(
        data,
        'KeepDocuments',
        settings.scanDocuments ? ['GetObjectTagging', 'PutObjectTagging'] : ['DeleteObjectTagging'],
      ),
      readSecrets('ReadPepper', data.pepper.secretArn),
      ...edgeRights(stack, { ...settings, captcha: undefined }),
    ],
    environment: environmentVariables(ConfirmationEnvironment, {
      ...settings,
      ...registrationResources(context),
      eventBus: events.bus.eventBusName,
    }),
  });
  acknowledgeDocuments(made);
  return made;
}

function accounts(route: Extract<DeployedRoute, { version: unknown }>, context: FunctionContext): ServiceFunction {
  const made = answering(route, context, 'accounts', {
    description: `Opens an account of platform version ${route.version.slice(2)} for a client.`,
    network: context.egress,
    rights: [
      ...rightsOfAccounts(context),
      onTable(context.data.operations, 'KeepOperations', OPERATION_STEPS),
      onTable(context.data.logins, 'ReserveLogins', ['PutItem', 'DeleteItem']),
    ],
    environment: environmentVariables(AccountEnvironment, { ...context.settings, ...accountResources(context) }),
  });
  acknowledgePlatformSecrets(made, context.settings);
  return made;
}

/** The function of a route, with the settings of its kind. */
function answering(
  route: DeployedRoute,
  context: FunctionContext,
  kind: 'registration' | 'accounts',
  own: Pick<ServiceFunctionProps, 'description' | 'network' | 'rights' | 'environment'>,
): ServiceFunction {
  const { stack, settings, logRetention, removalPolicy } = context;
  return new ServiceFunction(stack, constructName(route), {
    ...own,
    name: route.name,
    timeoutSeconds: route.timeoutSeconds,
    logRetention,
    removalPolicy,
    memory: settings.memory[kind],
    files: mailFiles(settings),
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
    files: mailFiles(settings),
    logRetention: context.logRetention,
    removalPolicy: context.removalPolicy,
    network: context.egress,
    rights: [
      ...rightsOfAccounts(context),
      onTable(data.operations, 'SettleOperations', ['UpdateItem']),
      onDueIndex(data.operations, 'FindOperations'),
      onDueIndex(data.registrations, 'FindRegistrations'),
      onTable(data.registrations, 'NoteTold', ['BatchGetItem', 'UpdateItem']),
    ],
    environment: environmentVariables(SettlementEnvironment, {
      ...settings,
      ...accountResources(context),
      registrationsTable: data.registrations.tableName,
    }),
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
    publishRight(notifications, 'PublishClientNotifications'),
    events.right,
    onTable(data.crm, 'ReadCrm', ['BatchGetItem']),
    onTable(data.accounts, 'RecordAccounts', ['PutItem']),
    readSecrets('ReadPlatformSecrets', secretArn(stack, `${settings.platformSecrets}*`)),
  ];
}

function accountResources(context: FunctionContext) {
  const { data, notifications, events } = context;
  return {
    ...sharedResources(context),
    accountsTable: data.accounts.tableName,
    loginsTable: data.logins.tableName,
    passwordSecret: data.passwordKey.secretArn,
    notificationsTopicArn: notifications.topicArn,
    eventBus: events.bus.eventBusName,
  };
}

function registrationResources(context: FunctionContext) {
  const { data } = context;
  return {
    ...sharedResources(context),
    registrationsTable: data.registrations.tableName,
    limitsTable: data.limits.tableName,
    documentsBucket: data.documents.bucketName,
    pepperSecret: data.pepper.secretArn,
  };
}

function acknowledgePlatformSecrets(made: ServiceFunction, settings: Settings): void {
  const secrets = `secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:${settings.platformSecrets}*`;
  Validations.of(made).acknowledge({
    id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:${secrets}]`,
    reason: 'Operators add trading servers, each with a secret of its own, without a deployment.',
  });
}

function mailFiles({ brand }: Settings): Record<string, string> {
  const legal = legalFileOf(brand);
  return legal === undefined ? {} : { [legal.name]: legal.content };
}

function sharedResources({ data, mail, settings: { brand } }: FunctionContext) {
  return {
    brand: { ...brand, legal: undefined },
    legalFile: legalFileOf(brand)?.name,
    crmTable: data.crm.tableName,
    operationsTable: data.operations.tableName,
    sesConfigurationSet: mail.configurationSetName,
  };
}

/** To read the keys of the captcha and of the front, if there are any. */
function edgeRights(stack: Stack, { captcha, front }: Settings): PolicyStatement[] {
  return [
    ...(captcha === undefined ? [] : [readSecretNamed(stack, 'ReadCaptchaKey', captcha.secret)]),
    ...(front === undefined ? [] : [readSecretNamed(stack, 'ReadFrontKey', front.secret)]),
  ];
}
