import { ArnFormat, Aws, type Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { IConstruct } from 'constructs';
import { DUE_INDEX, variableName } from '../../lib/config/deployment.ts';
import { PHONE_CHANNELS } from '../../lib/validators/otp-types.ts';
import type { PlatformVersion } from '../../lib/validators/trading-account.ts';
import { PHONE_CHANNEL_ROWS, type SendingRight } from '../channels.ts';
import { type ResourceName, type ResourceUse, VERSIONS_TAG } from '../functions.ts';
import { type Settings, sendsThroughAws, signingSecretName } from '../settings.ts';
import type { CrmWebhook } from './crm-webhook.ts';
import type { DataStores } from './data-stores.ts';
import { DOCUMENT_USES, documentRights } from './documents.ts';
import type { BusEventType, ServiceEvents } from './event-bus.ts';
import type { MailSender } from './mail-sender.ts';
import { explainWildcard, policyStatement, resourcesOf } from './policy-statement.ts';

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
  protectConfigurationId: string | undefined;
}

/** A use of a resource: the statements that allow it, and the variables that name the resource. */
export function grantUse(use: ResourceUse, context: StackResources) {
  const { statements, variables = {} } = granted(use, context);
  const named = Object.entries(variables).flatMap(([name, value]) =>
    value === undefined ? [] : [[variableName(name), value] as const],
  );
  return { statements, variables: Object.fromEntries(named) };
}

interface Granted {
  statements: PolicyStatement[];
  /** The variables of a function, by the names of `lib/config.ts`. */
  variables?: Record<string, string | undefined>;
}

/** The indexes that functions query, besides those of CRM records. */
const INDEXES = {
  dueOperations: { table: 'Operations', name: DUE_INDEX.name },
  dueRegistrations: { table: 'Registrations', name: DUE_INDEX.name },
} as const;

const EVENT_TYPES = {
  registrationEvents: 'RegistrationConfirmed',
  accountEvents: 'AccountOpened',
} as const satisfies Partial<Record<ResourceName, BusEventType>>;

function granted({ sid, of, actions = [], indexes = [], version }: ResourceUse, context: StackResources): Granted {
  const { stack, settings, data, mail, events, webhook } = context;
  switch (of) {
    case 'dueOperations':
    case 'dueRegistrations':
      return { statements: [indexStatement(data.tables[INDEXES[of].table], sid, INDEXES[of].name)] };
    case 'crmIndexes': {
      const { Crm } = data.tables;
      return { statements: [indexStatement(Crm, sid, ...indexes)], variables: { crmTable: Crm.tableName } };
    }
    case 'forms': {
      const read = tableStatement(data.tables.Crm, sid, ['GetItem']);
      read.addCondition('ForAllValues:StringLike', { 'dynamodb:LeadingKeys': FORM_KEY_PATTERNS });
      return { statements: [read], variables: { crmTable: data.tables.Crm.tableName } };
    }
    case 'clients':
      return { statements: writeClients(data.tables.Crm), variables: { crmTable: data.tables.Crm.tableName } };
    case 'newDocuments':
    case 'confirmedDocuments':
    case 'readableDocuments': {
      const documentsBucket = data.documents.bucketName;
      return { statements: documentRights(data)[DOCUMENT_USES[of]], variables: { documentsBucket } };
    }
    case 'pepper':
      return readableSecret(sid, { pepperSecret: data.pepper.secretArn });
    case 'passwordKey':
      return readableSecret(sid, { passwordSecret: data.passwordSecret.secretArn });
    case 'platformSecrets':
      return { statements: [readPlatformSecrets(sid, secretArn(stack, `${settings.platformSecrets}*`), version)] };
    case 'captchaKey':
      return { statements: [readSecretNamed(stack, sid, settings.captcha?.secret ?? '')] };
    case 'frontKey':
      return { statements: [readSecretNamed(stack, sid, settings.front?.secret ?? '')] };
    case 'providerKeys':
      return signingSecret(sid, context, 'provider', 'providerSecret');
    case 'webhookKeys':
      return signingSecret(sid, context, 'crmWebhook', 'webhookSecret');
    case 'mail':
      return { statements: [mail.right], variables: { sesConfigurationSet: mail.configurationSetName } };
    case 'messages': {
      const protectConfigurationId = settings.call && context.protectConfigurationId;
      return {
        statements: rightsOfChannels(stack, settings, protectConfigurationId),
        variables: { protectConfigurationId },
      };
    }
    case 'notifications': {
      const { topicArn } = context.notifications;
      return {
        statements: [policyStatement(sid, 'sns', ['Publish'], topicArn)],
        variables: { notificationsTopicArn: topicArn },
      };
    }
    case 'registrationEvents':
    case 'accountEvents':
      return publishableEvents(events, sid, EVENT_TYPES[of]);
    case 'webhookQueues':
    case 'undeliveredQueue':
      return webhook === undefined ? { statements: [] } : grantedQueues({ sid, of, actions }, webhook);
    default:
      return {
        statements: actions.length === 0 ? [] : [tableStatement(data.tables[of], sid, [...actions])],
        variables: { [`${of.toLowerCase()}Table`]: data.tables[of].tableName },
      };
  }
}

/** A secret that a variable names by its ARN. */
function readableSecret(sid: string, variables: Record<string, string>): Granted {
  return { statements: [readSecrets(sid, ...Object.values(variables))], variables };
}

/** The key that requests to a receiver are signed with, which a variable names. */
function signingSecret(
  sid: string,
  { stack, settings }: StackResources,
  receiver: Parameters<typeof signingSecretName>[1],
  variable: string,
): Granted {
  const name = signingSecretName(settings.stage, receiver);
  return { statements: [readSecretNamed(stack, sid, name)], variables: { [variable]: name } };
}

/** One function delivers all events, and sets some aside. */
function grantedQueues({ sid, of, actions = [] }: ResourceUse, { queues, undelivered }: CrmWebhook): Granted {
  const { registrations, accounts } = queues;
  if (of === 'undeliveredQueue') {
    const variables = { webhookUndeliveredQueue: undelivered.queueUrl };
    return { statements: [queueStatement([undelivered], sid, [...actions])], variables };
  }
  return { statements: [queueStatement([registrations, accounts], sid, [...actions])] };
}

/** Builds a statement for actions on one table, without the prefix `dynamodb:`. */
export function tableStatement({ tableArn }: Table, sid: string, actions: string[]): PolicyStatement {
  return policyStatement(sid, 'dynamodb', actions, tableArn);
}

/** The keys of clients in the table of CRM records. */
export const CLIENT_KEY_PATTERNS = ['client#*'];
/** The keys of forms in the table of CRM records. */
const FORM_KEY_PATTERNS = ['form#*'];

/** The right to read the secrets of trading servers of one version, or of both. */
function readPlatformSecrets(sid: string, secrets: string, version: PlatformVersion | undefined): PolicyStatement {
  const read = readSecrets(sid, secrets);
  if (version !== undefined)
    read.addCondition('StringLikeIfExists', { [`secretsmanager:ResourceTag/${VERSIONS_TAG}`]: `*${version}*` });
  return read;
}

/**
 * The right to publish events of one type: a function that opens accounts cannot publish that a person was confirmed.
 */
function publishableEvents({ bus }: ServiceEvents, sid: string, type: BusEventType): Granted {
  const publish = policyStatement(sid, 'events', ['PutEvents'], bus.eventBusArn);
  publish.addCondition('StringEquals', { 'events:detail-type': type });
  return { statements: [publish], variables: { eventBus: bus.eventBusName } };
}

/**
 * The right to write clients, and no other records of the CRM: records of trading servers decide where passwords go.
 */
function writeClients(table: Table): PolicyStatement[] {
  const write = tableStatement(table, 'WriteClients', ['GetItem', 'PutItem', 'UpdateItem']);
  write.addCondition('ForAllValues:StringLike', { 'dynamodb:LeadingKeys': CLIENT_KEY_PATTERNS });
  return [write];
}

/** The actions on queues, without `sqs:`. */
export function queueStatement(queues: readonly Queue[], sid: string, actions: string[]): PolicyStatement {
  return policyStatement(sid, 'sqs', actions, ...queues.map(({ queueArn }) => queueArn));
}

/** The right to query indexes of a table. */
export function indexStatement({ tableArn }: Table, sid: string, ...indexes: string[]): PolicyStatement {
  return policyStatement(sid, 'dynamodb', ['Query'], ...indexes.map((index) => `${tableArn}/index/${index}`));
}

/** The right to read the secret of this name, with any random suffix. */
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

export function acknowledgePlatformSecrets(holder: IConstruct, { platformSecrets }: Settings): void {
  const reason = 'Operators add trading servers, each with a secret of its own, without a deployment.';
  explainWildcard(holder, resourcesOf('secretsmanager', `secret:${platformSecrets}*`), reason);
}

function readSecrets(sid: string, ...resources: string[]): PolicyStatement {
  return policyStatement(sid, 'secretsmanager', ['GetSecretValue'], ...resources);
}

/** The rights to send by the channels that are installed, and by no other. */
function rightsOfChannels(
  stack: Stack,
  settings: Settings,
  protectConfigurationId: string | undefined,
): PolicyStatement[] {
  return PHONE_CHANNELS.filter((channel) => sendsThroughAws(settings, channel))
    .flatMap((channel) => PHONE_CHANNEL_ROWS[channel].right(settings, protectConfigurationId) ?? [])
    .map((right) => sendingStatement(stack, right));
}

function sendingStatement(stack: Stack, { sid, action, resources }: SendingRight): PolicyStatement {
  const [service = ''] = action.split(':');
  const notResources = [`arn:${Aws.PARTITION}:${service}:*:*:*`];
  if (resources === undefined) return new PolicyStatement({ sid, actions: [action], notResources });
  const arns = resources.map((one) =>
    one.startsWith('arn:') ? one : stack.formatArn({ service, resource: one, arnFormat: ArnFormat.NO_RESOURCE_NAME }),
  );
  return new PolicyStatement({ sid, actions: [action], resources: arns });
}
