import { DynamoDBClient, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { expect, it, onTestFinished } from 'vitest';
import { startDatabase } from '../../../../infra/local/database.ts';
import { Faults } from '../../../../infra/local/faults.ts';
import { parseRights, type Statement } from '../../../../infra/local/rights/policy.ts';
import { startS3 } from '../../../../infra/local/stand-ins/s3.ts';
import { startSns } from '../../../../infra/local/stand-ins/sns.ts';
import type { StandInOptions } from '../../../../infra/local/stand-ins/stand-in.ts';
import { clientSettings } from '../../../support/servers.ts';

const ARN = (service: string, rest: string) => `arn:aws:${service}:eu-west-1:000000000000:${rest}`;
const TABLE = ARN('dynamodb', 'table/crm');
const TOPIC = ARN('sns', 'popups');
const DOCUMENTS = 'arn:aws:s3:::documents';

type Client = ReturnType<typeof clientSettings> & { maxAttempts: number };
type Send = (client: Client) => Promise<unknown>;

const getItem: Send = (client) =>
  new DynamoDBClient(client).send(new GetItemCommand({ TableName: 'crm', Key: { pk: { S: 'x' } } }));
const query: Send = (client) => {
  const input = { TableName: 'crm', IndexName: 'due', KeyConditionExpression: 'a = b' };
  return new DynamoDBClient(client).send(new QueryCommand(input));
};
const put =
  (Key: string, more = {}): Send =>
  (client) =>
    new S3Client(client).send(new PutObjectCommand({ Bucket: 'documents', Key, Body: 'text', ...more }));
const publish =
  (to: object): Send =>
  (client) =>
    new SNSClient(client).send(new PublishCommand({ ...to, Message: 'x' }));

const START = {
  DynamoDB: ({ callers = new Map() }: StandInOptions) => startDatabase({ callers }),
  S3: (options: StandInOptions) => startS3({ ...options, buckets: ['documents'] }),
  SNS: (options: StandInOptions) => startSns({ ...options, topics: [TOPIC] }),
};

type Denial = readonly [call: Send, error: string, action: string, resource: string];
/**
 * One service of each protocol: the right of the caller, a call that it allows, and calls that it denies. That every
 * call of a function needs exactly the rights of the stack is shown by test/support/rights.
 */
const CASES: readonly [keyof typeof START, Omit<Statement, 'Effect'>, Send | undefined, ...Denial[]][] = [
  [
    'DynamoDB',
    { Action: 'dynamodb:Query', Resource: TABLE },
    undefined,
    [getItem, 'AccessDeniedException', 'dynamodb:GetItem', TABLE],
    [query, 'AccessDeniedException', 'dynamodb:Query', `${TABLE}/index/due`],
  ],
  [
    'S3',
    { Action: 's3:PutObject', Resource: `${DOCUMENTS}/registrations/*` },
    put('registrations/x'),
    [put('registrations/x', { Tagging: 'a=b' }), 'AccessDenied', 's3:PutObjectTagging', `${DOCUMENTS}/registrations/x`],
    [put('elsewhere/x'), 'AccessDenied', 's3:PutObject', `${DOCUMENTS}/elsewhere/x`],
  ],
  [
    'SNS',
    { Action: 'sns:Publish', NotResource: 'arn:aws:sns:*:*:*' },
    publish({ PhoneNumber: '+447400123456' }),
    [publish({ TopicArn: TOPIC }), 'AuthorizationErrorException', 'sns:Publish', TOPIC],
  ],
];

it.each(CASES)(
  '%s answers a call without the right in its own words: %j',
  async (service, right, allowed, ...denied) => {
    const rights = parseRights('tester', [{ Sid: 'Test', Effect: 'Allow', ...right }]);
    const callers = new Map([['local', { name: 'tester', rights }]]);
    const standIn = await START[service]({ faults: new Faults(), record: () => {}, callers });
    onTestFinished(() => standIn.close());
    const client = { ...clientSettings(standIn.url), maxAttempts: 1 };
    await allowed?.(client);
    for (const [call, name, action, resource] of denied) {
      const message =
        `User: arn:aws:sts::000000000000:assumed-role/tester/tester is not authorized to perform: ${action} ` +
        `on resource: ${resource} because no identity-based policy allows the ${action} action`;
      await expect(call(client)).rejects.toMatchObject({ name, message });
    }
  },
);
