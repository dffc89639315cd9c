import { ArnFormat, Aws, type Stack, Validations } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { IConstruct } from 'constructs';
import {
  type CallSettings,
  type CrmIndex,
  DUE_INDEX,
  RESERVATION_INDEX,
  variableName,
  type WhatsAppSettings,
} from '../../lib/validators/deployment.ts';
import type { Use } from '../functions.ts';
import { type Settings, signingSecretName, usesAws } from '../settings.ts';
import type { CrmWebhook } from './crm-webhook.ts';
import type { DataStores } from './data-stores.ts';
import { documentRights } from './documents.ts';
import type { ServiceEvents } from './event-bus.ts';
import type { MailSender } from './mail-sender.ts';
import { policyStatement } from './policy-statement.ts';

/*
 * Rights are written by hand: the grants of CDK, such as `grantReadWriteData`, allow more than a function calls. The
 * local service refuses a call whose right is missing here, and CI a right that no call needs.
 */

/** The resources of a stack. */
export interface StackResources {
  stack: Stack;
  settings: Settings;
  data: DataStores;
  mail: MailSender;
  notifications: Topic;
  events: ServiceEvents;
  /** The queues of events for the CRM. Absent: the CRM is not notified. */
  webhook: CrmWebhook | undefined;
  /** The country rules that calls obey. Absent: all countries are served. */
  protectConfiguration: string | undefined;
}

/** A use of a resource: the statements that allow it, and the variables that name the resource. */
export function grantUse(use: Use, context: StackResources) {
  const { statements, variables = {} } = granted(use, context);
  const named = Object.entries(variables).flatMap(([name, value]) =>
    value === undefined ? [] : [[variableName(name), value] as const],
  );
  return { statements, variables: Object.fromEntries(named) };
}

interface Granted {
  statements: PolicyStatement[];
  /** By the names of `lib/config.ts`. */
  variables?: Record<string, string | undefined>;
}

/** The indexes that functions query, besides those of CRM records. */
const INDEXES = {
  dueOperations: { table: 'Operations', name: DUE_INDEX.name },
  dueRegistrations: { table: 'Registrations', name: DUE_INDEX.name },
  reservations: { table: 'Logins', name: RESERVATION_INDEX },
} as const;

function granted({ sid, of, actions = [], indexes = [] }: Use, context: StackResources): Granted {
  const { stack, settings, data, mail, events, webhook } = context;
  const documentsBucket = data.documents.bucketName;
  switch (of) {
    case 'dueOperations':
    case 'dueRegistrations':
    case 'reservations':
      return { statements: [onIndex(data.tables[INDEXES[of].table], sid, INDEXES[of].name)] };
    case 'crmIndexes': {
      const { Crm } = data.tables;
      return { statements: [onCrmIndexes(Crm, sid, indexes)], variables: { crmTable: Crm.tableName } };
    }
    case 'clients':
      return { statements: writeClients(data.tables.Crm), variables: { crmTable: data.tables.Crm.tableName } };
    case 'newDocuments':
      return { statements: documentRights(data, settings).store, variables: { documentsBucket } };
    case 'confirmedDocuments':
      return { statements: documentRights(data, settings).keep, variables: { documentsBucket } };
    case 'readableDocuments':
      return { statements: documentRights(data, settings).deliver, variables: { documentsBucket } };
    case 'pepper': {
      const pepperSecret = data.pepper.secretArn;
      return { statements: [readSecrets(sid, pepperSecret)], variables: { pepperSecret } };
    }
    case 'passwordKey': {
      const passwordSecret = data.passwordSecret.secretArn;
      return { statements: [readSecrets(sid, passwordSecret)], variables: { passwordSecret } };
    }
    case 'platformSecrets':
      return { statements: [readSecrets(sid, secretArn(stack, `${settings.platformSecrets}*`))] };
    case 'captchaKey':
      return { statements: [readSecretNamed(stack, sid, settings.captcha?.secret ?? '')] };
    case 'frontKey':
      return { statements: [readSecretNamed(stack, sid, settings.front?.secret ?? '')] };
    case 'providerKeys': {
      const providerSecret = signingSecretName(settings.stage, 'provider');
      return { statements: [readSecretNamed(stack, sid, providerSecret)], variables: { providerSecret } };
    }
    case 'webhookKeys': {
      const webhookSecret = signingSecretName(settings.stage, 'crmWebhook');
      return { statements: [readSecretNamed(stack, sid, webhookSecret)], variables: { webhookSecret } };
    }
    case 'mail':
      return { statements: [mail.right], variables: { sesConfigurationSet: mail.configurationSetName } };
    case 'messages': {
      const protectConfiguration = settings.call && context.protectConfiguration;
      return {
        statements: rightsOfChannels(stack, settings, protectConfiguration),
        variables: { protectConfiguration },
      };
    }
    case 'notifications': {
      const { topicArn } = context.notifications;
      return {
        statements: [policyStatement(sid, 'sns', ['Publish'], topicArn)],
        variables: { notificationsTopicArn: topicArn },
      };
    }
    case 'events':
      return { statements: [events.right], variables: { eventBus: events.bus.eventBusName } };
    case 'registrationsQueue':
    case 'webhookQueues':
      return webhook === undefined ? { statements: [] } : grantedQueues({ sid, of, actions }, webhook);
    default:
      return {
        statements: actions.length === 0 ? [] : [onTable(data.tables[of], sid, [...actions])],
        variables: { [`${of.toLowerCase()}Table`]: data.tables[of].tableName },
      };
  }
}

/** The accounts' functions see how many registrations wait; another one delivers all events. */
function grantedQueues({ sid, of, actions = [] }: Use, { queues }: CrmWebhook): Granted {
  const { registrations, accounts } = queues;
  const webhookQueue = registrations.queueUrl;
  if (of === 'registrationsQueue') {
    return { statements: [onQueues([registrations], sid, ['GetQueueAttributes'])], variables: { webhookQueue } };
  }
  return {
    statements: [onQueues([registrations, accounts], sid, [...actions])],
    variables: { webhookQueue, webhookAccountsQueue: accounts.queueUrl },
  };
}

/** The actions on one table, without `dynamodb:`. */
export function onTable({ tableArn }: Table, sid: string, actions: string[]): PolicyStatement {
  return policyStatement(sid, 'dynamodb', actions, tableArn);
}

/** The keys of clients in the table of CRM records. */
export const CLIENT_KEYS = ['client#*'];

/** To write clients, and no other records of the CRM: those of trading servers decide where passwords go. */
function writeClients(table: Table): PolicyStatement[] {
  const write = onTable(table, 'WriteClients', ['GetItem', 'PutItem', 'UpdateItem']);
  write.addCondition('ForAllValues:StringLike', { 'dynamodb:LeadingKeys': CLIENT_KEYS });
  return [write];
}

/** The actions on queues, without `sqs:`. */
export function onQueues(queues: readonly Queue[], sid: string, actions: string[]): PolicyStatement {
  return policyStatement(sid, 'sqs', actions, ...queues.map(({ queueArn }) => queueArn));
}

/** To find the due items of a table. */
export function onDueIndex(table: Table, sid: string): PolicyStatement {
  return onIndex(table, sid, DUE_INDEX.name);
}

function onIndex({ tableArn }: Table, sid: string, index: string): PolicyStatement {
  return policyStatement(sid, 'dynamodb', ['Query'], `${tableArn}/index/${index}`);
}

/** To find CRM records by these indexes. */
function onCrmIndexes({ tableArn }: Table, sid: string, indexes: readonly CrmIndex[]): PolicyStatement {
  const arns = indexes.map((index) => `${tableArn}/index/${index}`);
  return policyStatement(sid, 'dynamodb', ['Query'], ...arns);
}

/** To read the secret of this name, with any random suffix. */
function readSecretNamed(stack: Stack, sid: string, name: string): PolicyStatement {
  return readSecrets(sid, secretArn(stack, `${name}-??????`));
}

/** The ARN of secrets; the name may hold placeholders. */
export function secretArn(stack: Stack, resourceName: string): string {
  return stack.formatArn({
    service: 'secretsmanager',
    resource: 'secret',
    resourceName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
}

export function acknowledgePlatformSecrets<T extends IConstruct>(holder: T, { platformSecrets }: Settings): T {
  const secrets = `secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:${platformSecrets}*`;
  Validations.of(holder).acknowledge({
    id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:${secrets}]`,
    reason: 'Operators add trading servers, each with a secret of its own, without a deployment.',
  });
  return holder;
}

function readSecrets(sid: string, ...resources: string[]): PolicyStatement {
  return policyStatement(sid, 'secretsmanager', ['GetSecretValue'], ...resources);
}

/** To send by the channels that are installed, and by no other. */
function rightsOfChannels(
  stack: Stack,
  settings: Settings,
  protectConfiguration: string | undefined,
): PolicyStatement[] {
  const { call, whatsapp } = settings;
  return [
    ...(usesAws(settings, 'sms') ? [sendTexts()] : []),
    ...(call === undefined || !usesAws(settings, 'call') ? [] : [sendCalls(stack, call, protectConfiguration)]),
    ...(whatsapp === undefined || !usesAws(settings, 'whatsapp') ? [] : [sendWhatsApp(stack, whatsapp)]),
  ];
}

/** A text goes to a number, which is not a resource. This form excludes every topic. */
function sendTexts(): PolicyStatement {
  return new PolicyStatement({
    sid: 'SendTexts',
    actions: ['sns:Publish'],
    notResources: [`arn:${Aws.PARTITION}:sns:*:*:*`],
  });
}

function sendCalls(stack: Stack, call: CallSettings, protectConfiguration: string | undefined): PolicyStatement {
  const { originationIdentity: identity } = call;
  const arn = (resource: string, resourceName: string) =>
    stack.formatArn({ service: 'sms-voice', resource, resourceName });
  const from = identity.startsWith('arn:')
    ? identity
    : arn(identity.startsWith('pool-') ? 'pool' : 'phone-number', identity);
  const rules = protectConfiguration === undefined ? [] : [arn('protect-configuration', protectConfiguration)];
  return policyStatement('SendCalls', 'sms-voice', ['SendVoiceMessage'], from, ...rules);
}

function sendWhatsApp(stack: Stack, { phoneNumberId }: WhatsAppSettings): PolicyStatement {
  const resourceName = phoneNumberId.replace(/^phone-number-id-/, '');
  const number = stack.formatArn({ service: 'social-messaging', resource: 'phone-number-id', resourceName });
  return policyStatement('SendWhatsApp', 'social-messaging', ['SendWhatsAppMessage'], number);
}
