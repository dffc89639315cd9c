import { ArnFormat, Aws, type Stack, Validations } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { IConstruct } from 'constructs';
import {
  type CallSettings,
  CLEAN_VERDICT,
  type CrmIndex,
  DOCUMENTS_FOLDER,
  DUE_INDEX,
  SCAN_TAG,
  type WhatsAppSettings,
} from '../../lib/validators/deployment.ts';
import { type Settings, signingSecretName, usesAws } from '../settings.ts';
import type { DataStores } from './data-stores.ts';

/*
 * Rights are written by hand: the grants of CDK, such as `grantReadWriteData`, allow more than a function calls. The
 * local service refuses a call whose right is missing here, and CI a right that no call needs.
 */

/** The actions of one service on these resources. */
export function allow(sid: string, service: string, actions: readonly string[], ...resources: string[]) {
  return new PolicyStatement({ sid, actions: actions.map((action) => `${service}:${action}`), resources });
}

/** The actions on one table, without `dynamodb:`. */
export function onTable({ tableArn }: Table, sid: string, actions: string[]): PolicyStatement {
  return allow(sid, 'dynamodb', actions, tableArn);
}

/** The keys of clients in the table of CRM records. */
export const CLIENT_KEYS = ['client#*'];

/** To write clients, and no other records of the CRM: those of trading servers decide where passwords go. */
export function writeClients(table: Table): PolicyStatement[] {
  const write = onTable(table, 'WriteClients', ['GetItem', 'PutItem', 'UpdateItem']);
  write.addCondition('ForAllValues:StringLike', { 'dynamodb:LeadingKeys': CLIENT_KEYS });
  return [write];
}

/** The actions on one queue, without `sqs:`. */
export function onQueue({ queueArn }: Queue, sid: string, actions: string[]): PolicyStatement {
  return allow(sid, 'sqs', actions, queueArn);
}

/** To find the due items of a table. */
export function onDueIndex({ tableArn }: Table, sid: string): PolicyStatement {
  return allow(sid, 'dynamodb', ['Query'], `${tableArn}/index/${DUE_INDEX.name}`);
}

/** To find CRM records by these indexes. */
export function onCrmIndexes({ tableArn }: Table, action: 'Query' | 'Scan', ...indexes: CrmIndex[]): PolicyStatement {
  return allow(`${action}CrmIndexes`, 'dynamodb', [action], ...indexes.map((index) => `${tableArn}/index/${index}`));
}

/** To read the secret of this name, with any random suffix. */
export function readSecretNamed(stack: Stack, sid: string, name: string): PolicyStatement {
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

/** The actions on the documents of registrations, without `s3:`. */
export function onDocuments({ documents }: DataStores, sid: string, actions: string[]): PolicyStatement {
  return allow(sid, 's3', actions, documents.arnForObjects(`${DOCUMENTS_FOLDER}/*`));
}

/** To read documents; if they are scanned, only those without malware. */
export function readDocuments(data: DataStores, scanned: boolean | undefined): PolicyStatement {
  const right = onDocuments(data, 'ReadDocuments', ['GetObject']);
  if (scanned) right.addCondition('StringEquals', { [`s3:ExistingObjectTag/${SCAN_TAG}`]: CLEAN_VERDICT });
  return right;
}

export function acknowledgeDocuments<T extends IConstruct>(holder: T): T {
  Validations.of(holder).acknowledge({
    id: `AwsSolutions-IAM5[Resource::<DocumentsBucket.Arn>/${DOCUMENTS_FOLDER}/*]`,
    reason: 'Documents are named by their registration: their names are not known beforehand.',
  });
  return holder;
}

export function acknowledgePlatformSecrets<T extends IConstruct>(holder: T, { platformSecrets }: Settings): T {
  const secrets = `secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:${platformSecrets}*`;
  Validations.of(holder).acknowledge({
    id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:${secrets}]`,
    reason: 'Operators add trading servers, each with a secret of its own, without a deployment.',
  });
  return holder;
}

export function readSecrets(sid: string, ...resources: string[]): PolicyStatement {
  return allow(sid, 'secretsmanager', ['GetSecretValue'], ...resources);
}

/** To send by the channels that are installed, and by no other. */
export function rightsOfChannels(
  stack: Stack,
  settings: Settings,
  protectConfiguration: string | undefined,
): PolicyStatement[] {
  const { stage, call, whatsapp, provider } = settings;
  return [
    ...(usesAws(settings, 'sms') ? [sendTexts()] : []),
    ...(call === undefined || !usesAws(settings, 'call') ? [] : [sendCalls(stack, call, protectConfiguration)]),
    ...(whatsapp === undefined || !usesAws(settings, 'whatsapp') ? [] : [sendWhatsApp(stack, whatsapp)]),
    ...(provider === undefined
      ? []
      : [readSecretNamed(stack, 'ReadProviderKeys', signingSecretName(stage, 'provider'))]),
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
  return allow('SendCalls', 'sms-voice', ['SendVoiceMessage'], from, ...rules);
}

function sendWhatsApp(stack: Stack, { phoneNumberId }: WhatsAppSettings): PolicyStatement {
  const resourceName = phoneNumberId.replace(/^phone-number-id-/, '');
  const number = stack.formatArn({ service: 'social-messaging', resource: 'phone-number-id', resourceName });
  return allow('SendWhatsApp', 'social-messaging', ['SendWhatsAppMessage'], number);
}
