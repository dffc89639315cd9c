import { DynamoDBClient, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { PinpointSMSVoiceV2Client, SendVoiceMessageCommand } from '@aws-sdk/client-pinpoint-sms-voice-v2';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SESClient, SendEmailCommand } from '@aws-sdk/client-ses';
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { SendWhatsAppMessageCommand, SocialMessagingClient } from '@aws-sdk/client-socialmessaging';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startDatabase } from '../../../../infra/local/database.ts';
import { Faults } from '../../../../infra/local/faults.ts';
import type { Caller } from '../../../../infra/local/rights/callers.ts';
import { parseRights, type Statement } from '../../../../infra/local/rights/policy.ts';
import { startEvents } from '../../../../infra/local/stand-ins/events.ts';
import { startS3 } from '../../../../infra/local/stand-ins/s3.ts';
import { startSecrets } from '../../../../infra/local/stand-ins/secrets.ts';
import { startSes } from '../../../../infra/local/stand-ins/ses.ts';
import { startSns } from '../../../../infra/local/stand-ins/sns.ts';
import { startSocial } from '../../../../infra/local/stand-ins/social.ts';
import { startVoice } from '../../../../infra/local/stand-ins/voice.ts';

const ARN = (service: string, rest: string) => `arn:aws:${service}:eu-west-1:000000000000:${rest}`;
const record = () => {};

/** A caller named `tester`, whose key is `local`. */
function tester(...statements: Omit<Statement, 'Effect'>[]): ReadonlyMap<string, Caller> {
  const rights = parseRights(
    'tester',
    statements.map((one) => ({ Sid: 'Test', Effect: 'Allow', ...one })),
  );
  return new Map([['local', { name: 'tester', rights }]]);
}

function clientOf({ url, close }: { url: string; close(): Promise<void> }) {
  onTestFinished(close);
  return {
    endpoint: url,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  };
}

/** The SDK's error for a denial: its name and message. */
async function denial(call: Promise<unknown>): Promise<[name: string, message: string]> {
  const error: unknown = await call.then(
    () => new Error('The call was allowed.'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error('It failed without an error.');
  return [error.name, error.message];
}

const sentence = (action: string, resource: string) =>
  `User: arn:aws:sts::000000000000:assumed-role/tester/tester is not authorized to perform: ${action} ` +
  `on resource: ${resource} because no identity-based policy allows the ${action} action`;

describe('A call without the right is answered in the words of the service', () => {
  it('by DynamoDB', async () => {
    const callers = tester({ Action: 'dynamodb:Query', Resource: ARN('dynamodb', 'table/crm') });
    const client = new DynamoDBClient(clientOf(await startDatabase({ callers })));
    const key = { TableName: 'crm', Key: { pk: { S: 'x' } } };
    expect(await denial(client.send(new GetItemCommand(key)))).toEqual([
      'AccessDeniedException',
      sentence('dynamodb:GetItem', ARN('dynamodb', 'table/crm')),
    ]);
    const query = { TableName: 'crm', IndexName: 'due', KeyConditionExpression: 'a = b' };
    expect(await denial(client.send(new QueryCommand(query)))).toEqual([
      'AccessDeniedException',
      sentence('dynamodb:Query', ARN('dynamodb', 'table/crm/index/due')),
    ]);
  });

  it('by S3, for tags too', async () => {
    const callers = tester({ Action: 's3:PutObject', Resource: 'arn:aws:s3:::documents/registrations/*' });
    const options = clientOf(await startS3({ faults: new Faults(), callers, buckets: ['documents'] }));
    const client = new S3Client(options);
    const object = { Bucket: 'documents', Key: 'registrations/x', Body: 'text' };
    expect(await client.send(new PutObjectCommand(object))).toMatchObject({ $metadata: { httpStatusCode: 200 } });
    expect(await denial(client.send(new PutObjectCommand({ ...object, Tagging: 'a=b' })))).toEqual([
      'AccessDenied',
      sentence('s3:PutObjectTagging', 'arn:aws:s3:::documents/registrations/x'),
    ]);
    expect(await denial(client.send(new PutObjectCommand({ ...object, Key: 'elsewhere/x' })))).toEqual([
      'AccessDenied',
      sentence('s3:PutObject', 'arn:aws:s3:::documents/elsewhere/x'),
    ]);
  });

  it('by SES, for another sender too', async () => {
    const callers = tester({
      Action: 'ses:SendEmail',
      Resource: [ARN('ses', 'identity/acme.example'), ARN('ses', 'configuration-set/mails')],
      Condition: { StringEquals: { 'ses:FromAddress': 'no-reply@acme.example' } },
    });
    const [verified, configurationSets] = [['acme.example'], ['mails', 'others']];
    const client = new SESClient(
      clientOf(await startSes({ faults: new Faults(), record, callers, verified, configurationSets })),
    );
    const send = (Source: string, ConfigurationSetName: string) =>
      client.send(
        new SendEmailCommand({
          Source,
          ConfigurationSetName,
          Destination: { ToAddresses: ['ann@example.com'] },
          Message: { Subject: { Data: 'a' }, Body: { Text: { Data: 'b' } } },
        }),
      );
    expect(await send('"Acme" <no-reply@acme.example>', 'mails')).toHaveProperty('MessageId');
    expect(await denial(send('ceo@acme.example', 'mails'))).toEqual([
      'AccessDenied',
      sentence('ses:SendEmail', ARN('ses', 'identity/acme.example')),
    ]);
    expect(await denial(send('no-reply@acme.example', 'others'))).toEqual([
      'AccessDenied',
      sentence('ses:SendEmail', ARN('ses', 'configuration-set/others')),
    ]);
  });

  it('by SNS, for a topic and for a number', async () => {
    const texts = tester({ Action: 'sns:Publish', NotResource: 'arn:aws:sns:*:*:*' });
    const topic = ARN('sns', 'popups');
    const sms = new SNSClient(
      clientOf(await startSns({ faults: new Faults(), record, callers: texts, topics: [topic] })),
    );
    const text = { PhoneNumber: '+447400123456', Message: 'x' };
    expect(await sms.send(new PublishCommand(text))).toHaveProperty('MessageId');
    expect(await denial(sms.send(new PublishCommand({ TopicArn: topic, Message: 'x' })))).toEqual([
      'AuthorizationErrorException',
      sentence('sns:Publish', topic),
    ]);
    const popups = tester({ Action: 'sns:Publish', Resource: topic });
    const other = new SNSClient(
      clientOf(await startSns({ faults: new Faults(), record, callers: popups, topics: [topic] })),
    );
    expect(await denial(other.send(new PublishCommand(text)))).toEqual([
      'AuthorizationErrorException',
      sentence('sns:Publish', '+447400123456'),
    ]);
  });

  it('by End User Messaging, for calls', async () => {
    const callers = tester({
      Action: 'sms-voice:SendVoiceMessage',
      Resource: ARN('sms-voice', 'phone-number/phone-1'),
    });
    const originationIdentities = ['phone-1', 'pool-1'];
    const client = new PinpointSMSVoiceV2Client(
      clientOf(await startVoice({ faults: new Faults(), record, callers, originationIdentities })),
    );
    const call = { DestinationPhoneNumber: '+447400123456', OriginationIdentity: 'phone-1', MessageBody: 'x' };
    expect(await client.send(new SendVoiceMessageCommand(call))).toHaveProperty('MessageId');
    expect(await denial(client.send(new SendVoiceMessageCommand({ ...call, OriginationIdentity: 'pool-1' })))).toEqual([
      'AccessDeniedException',
      sentence('sms-voice:SendVoiceMessage', ARN('sms-voice', 'pool/pool-1')),
    ]);
    const blocking = { ...call, ProtectConfigurationId: 'protect-1' };
    expect(await denial(client.send(new SendVoiceMessageCommand(blocking)))).toEqual([
      'AccessDeniedException',
      sentence('sms-voice:SendVoiceMessage', ARN('sms-voice', 'protect-configuration/protect-1')),
    ]);
  });

  it('by End User Messaging Social, for WhatsApp', async () => {
    const templates = { codeTemplates: [], noticeTemplates: [] };
    const client = new SocialMessagingClient(
      clientOf(
        await startSocial({ faults: new Faults(), record, callers: tester(), phoneNumberIds: [], ...templates }),
      ),
    );
    const send = new SendWhatsAppMessageCommand({
      originationPhoneNumberId: 'phone-number-id-1',
      metaApiVersion: 'v20.0',
      message: Buffer.from('{}'),
    });
    expect(await denial(client.send(send))).toEqual([
      'AccessDeniedException',
      sentence('social-messaging:SendWhatsAppMessage', ARN('social-messaging', 'phone-number-id/1')),
    ]);
  });

  it('by Secrets Manager', async () => {
    const callers = tester({
      Action: 'secretsmanager:GetSecretValue',
      Resource: ARN('secretsmanager', 'secret:platform/*'),
    });
    const secrets = new Map(['platform/x', 'pepper'].map((name) => [name, '{}']));
    const client = new SecretsManagerClient(clientOf(await startSecrets({ faults: new Faults(), callers, secrets })));
    expect(await client.send(new GetSecretValueCommand({ SecretId: 'platform/x' }))).toHaveProperty('SecretString');
    expect(await denial(client.send(new GetSecretValueCommand({ SecretId: 'pepper' })))).toEqual([
      'AccessDeniedException',
      sentence('secretsmanager:GetSecretValue', ARN('secretsmanager', 'secret:pepper-local0')),
    ]);
  });

  it('by EventBridge', async () => {
    const callers = tester({ Action: 'events:PutEvents', Resource: ARN('events', 'event-bus/ours') });
    const client = new EventBridgeClient(
      clientOf(await startEvents({ faults: new Faults(), callers, buses: ['ours', 'theirs'], deliver: () => {} })),
    );
    const put = (EventBusName: string) =>
      client.send(new PutEventsCommand({ Entries: [{ EventBusName, Source: 'a', DetailType: 'b', Detail: '{}' }] }));
    expect(await put('ours')).toMatchObject({ FailedEntryCount: 0 });
    expect(await denial(put('theirs'))).toEqual([
      'AccessDeniedException',
      sentence('events:PutEvents', ARN('events', 'event-bus/theirs')),
    ]);
  });
});
