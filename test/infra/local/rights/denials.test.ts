import { DynamoDBClient, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { PinpointSMSVoiceV2Client, SendVoiceMessageCommand } from '@aws-sdk/client-pinpoint-sms-voice-v2';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { SESClient, SendEmailCommand } from '@aws-sdk/client-ses';
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { expect, it, onTestFinished } from 'vitest';
import { startDatabase } from '../../../../infra/local/database.ts';
import { Faults } from '../../../../infra/local/faults.ts';
import { parseRights, type Statement } from '../../../../infra/local/rights/policy.ts';
import { startS3 } from '../../../../infra/local/stand-ins/s3.ts';
import { startSes } from '../../../../infra/local/stand-ins/ses.ts';
import { startSns } from '../../../../infra/local/stand-ins/sns.ts';
import type { StandInOptions } from '../../../../infra/local/stand-ins/stand-in.ts';
import { startVoice } from '../../../../infra/local/stand-ins/voice.ts';
import { clientOf } from '../../../support/senders.ts';

const ARN = (service: string, rest: string) => `arn:aws:${service}:eu-west-1:000000000000:${rest}`;
const TOPIC = ARN('sns', 'popups');
const DOCUMENTS = 'arn:aws:s3:::documents';

type Client = ReturnType<typeof clientOf> & { maxAttempts: number };
type Send = (client: Client) => Promise<unknown>;

const getItem: Send = (client) =>
  new DynamoDBClient(client).send(new GetItemCommand({ TableName: 'crm', Key: { pk: { S: 'x' } } }));
const query: Send = (client) => {
  const input = { TableName: 'crm', IndexName: 'due', KeyConditionExpression: 'a = b' };
  return new DynamoDBClient(client).send(new QueryCommand(input));
};
const putObject =
  (Key: string, more = {}): Send =>
  (client) =>
    new S3Client(client).send(new PutObjectCommand({ Bucket: 'documents', Key, Body: 'text', ...more }));
const sendEmail =
  (Source: string, ConfigurationSetName = 'mails'): Send =>
  (client) =>
    new SESClient(client).send(
      new SendEmailCommand({
        Source,
        ConfigurationSetName,
        Destination: { ToAddresses: ['ann@example.com'] },
        Message: { Subject: { Data: 'a' }, Body: { Text: { Data: 'b' } } },
      }),
    );
const publish =
  (to: object): Send =>
  (client) =>
    new SNSClient(client).send(new PublishCommand({ ...to, Message: 'x' }));
const callFrom =
  (OriginationIdentity: string, more = {}): Send =>
  (client) =>
    new PinpointSMSVoiceV2Client(client).send(
      new SendVoiceMessageCommand({
        DestinationPhoneNumber: '+447400123456',
        OriginationIdentity,
        MessageBody: '<speak>Hello</speak>',
        MessageBodyTextType: 'SSML',
        VoiceId: 'AMY',
        TimeToLive: 60,
        ...more,
      }),
    );

const START = {
  DynamoDB: (options: StandInOptions) => startDatabase({ callers: options.callers ?? new Map() }),
  S3: (options: StandInOptions) => startS3({ ...options, buckets: ['documents'] }),
  SES: (options: StandInOptions) =>
    startSes({ ...options, verified: ['acme.example'], configurationSets: ['mails', 'others'] }),
  SNS: (options: StandInOptions) => startSns({ ...options, topics: [TOPIC] }),
  voice: (options: StandInOptions) => startVoice({ ...options, originationIdentities: ['phone-1', 'pool-1'] }),
};

type Denial = readonly [call: Send, error: string, action: string, resource: string];
/**
 * One service of each protocol, and those whose calls need several rights: the right of the caller, a call that it
 * allows, and calls that it denies.
 */
const CASES: readonly [keyof typeof START, Omit<Statement, 'Effect'>, Send | undefined, ...Denial[]][] = [
  [
    'DynamoDB',
    { Action: 'dynamodb:Query', Resource: ARN('dynamodb', 'table/crm') },
    undefined,
    [getItem, 'AccessDeniedException', 'dynamodb:GetItem', ARN('dynamodb', 'table/crm')],
    [query, 'AccessDeniedException', 'dynamodb:Query', ARN('dynamodb', 'table/crm/index/due')],
  ],
  [
    'S3',
    { Action: 's3:PutObject', Resource: `${DOCUMENTS}/registrations/*` },
    putObject('registrations/x'),
    [
      putObject('registrations/x', { Tagging: 'a=b' }),
      'AccessDenied',
      's3:PutObjectTagging',
      `${DOCUMENTS}/registrations/x`,
    ],
    [putObject('elsewhere/x'), 'AccessDenied', 's3:PutObject', `${DOCUMENTS}/elsewhere/x`],
  ],
  [
    'SES',
    {
      Action: 'ses:SendEmail',
      Resource: [ARN('ses', 'identity/acme.example'), ARN('ses', 'configuration-set/mails')],
      Condition: { StringEquals: { 'ses:FromAddress': 'no-reply@acme.example' } },
    },
    sendEmail('"Acme" <no-reply@acme.example>'),
    [sendEmail('ceo@acme.example'), 'AccessDenied', 'ses:SendEmail', ARN('ses', 'identity/acme.example')],
    [
      sendEmail('no-reply@acme.example', 'others'),
      'AccessDenied',
      'ses:SendEmail',
      ARN('ses', 'configuration-set/others'),
    ],
  ],
  [
    'SNS',
    { Action: 'sns:Publish', NotResource: 'arn:aws:sns:*:*:*' },
    publish({ PhoneNumber: '+447400123456' }),
    [publish({ TopicArn: TOPIC }), 'AuthorizationErrorException', 'sns:Publish', TOPIC],
  ],
  [
    'SNS',
    { Action: 'sns:Publish', Resource: TOPIC },
    publish({ TopicArn: TOPIC }),
    [publish({ PhoneNumber: '+447400123456' }), 'AuthorizationErrorException', 'sns:Publish', '+447400123456'],
  ],
  [
    'voice',
    { Action: 'sms-voice:SendVoiceMessage', Resource: ARN('sms-voice', 'phone-number/phone-1') },
    callFrom('phone-1'),
    [callFrom('pool-1'), 'AccessDeniedException', 'sms-voice:SendVoiceMessage', ARN('sms-voice', 'pool/pool-1')],
    [
      callFrom('phone-1', { ProtectConfigurationId: 'protect-1' }),
      'AccessDeniedException',
      'sms-voice:SendVoiceMessage',
      ARN('sms-voice', 'protect-configuration/protect-1'),
    ],
  ],
];

it.each(CASES)(
  '%s answers a call without the right in its own words: %j',
  async (service, right, allowed, ...denied) => {
    const rights = parseRights('tester', [{ Sid: 'Test', Effect: 'Allow', ...right }]);
    const callers = new Map([['local', { name: 'tester', rights }]]);
    const standIn = await START[service]({ faults: new Faults(), record: () => {}, callers });
    onTestFinished(() => standIn.close());
    const client = { ...clientOf(standIn), maxAttempts: 1 };
    await allowed?.(client);
    for (const [call, name, action, resource] of denied) {
      const message =
        `User: arn:aws:sts::000000000000:assumed-role/tester/tester is not authorized to perform: ${action} ` +
        `on resource: ${resource} because no identity-based policy allows the ${action} action`;
      await expect(call(client)).rejects.toMatchObject({ name, message });
    }
  },
);
