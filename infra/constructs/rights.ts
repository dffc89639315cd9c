import { Aws, type Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { CallSettings, WhatsAppSettings } from '../../lib/validators/deployment.ts';
import type { Settings } from '../settings.ts';

/** The actions on one table, without `dynamodb:`. */
export function onTable(table: Table, sid: string, actions: string[]): PolicyStatement {
  return new PolicyStatement({
    sid,
    actions: actions.map((action) => `dynamodb:${action}`),
    resources: [table.tableArn],
  });
}

export function readSecrets(sid: string, ...resources: string[]): PolicyStatement {
  return new PolicyStatement({ sid, actions: ['secretsmanager:GetSecretValue'], resources });
}

/** To send by the channels that are installed, and by no other. */
export function rightsOfChannels(stack: Stack, { channels, call, whatsapp }: Settings): PolicyStatement[] {
  return [
    ...(channels.includes('sms') ? [sendTexts()] : []),
    ...(call === undefined ? [] : [sendCalls(stack, call)]),
    ...(whatsapp === undefined ? [] : [sendWhatsApp(stack, whatsapp)]),
  ];
}

/** A text goes to a number, which is no resource; this way of saying so leaves out every topic. */
function sendTexts(): PolicyStatement {
  return new PolicyStatement({
    sid: 'SendTexts',
    actions: ['sns:Publish'],
    notResources: [`arn:${Aws.PARTITION}:sns:*:*:*`],
  });
}

function sendCalls(stack: Stack, { originationIdentity: identity, configurationSet }: CallSettings): PolicyStatement {
  const arn = (resource: string, resourceName: string) =>
    stack.formatArn({ service: 'sms-voice', resource, resourceName });
  return new PolicyStatement({
    sid: 'SendCalls',
    actions: ['sms-voice:SendVoiceMessage'],
    resources: [
      identity.startsWith('arn:') ? identity : arn(identity.startsWith('pool-') ? 'pool' : 'phone-number', identity),
      ...(configurationSet === undefined ? [] : [arn('configuration-set', configurationSet)]),
    ],
  });
}

function sendWhatsApp(stack: Stack, { phoneNumberId }: WhatsAppSettings): PolicyStatement {
  const resourceName = phoneNumberId.replace(/^phone-number-id-/, '');
  return new PolicyStatement({
    sid: 'SendWhatsApp',
    actions: ['social-messaging:SendWhatsAppMessage'],
    resources: [stack.formatArn({ service: 'social-messaging', resource: 'phone-number-id', resourceName })],
  });
}
