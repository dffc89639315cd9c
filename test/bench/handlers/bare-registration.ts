import { argon2, createHmac, randomBytes, randomInt, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SESClient, SendEmailCommand } from '@aws-sdk/client-ses';
import { BatchGetCommand, DynamoDBDocumentClient, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';

/**
 * A registration as it would be with the SDK alone: the same clients, of which the same ones are loaded on first use, the
 * same calls in the same order, the same password hash. No rules, no effective limits, no error handling, no texts.
 */

const database = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const secrets = new SecretsManagerClient({});
const mail = new SESClient({});
const hash = promisify(argon2);
const { env } = process;
let pepper: string | undefined;

interface Body {
  email: string;
  password: string;
  form_id: string;
  otp_type?: keyof typeof LATER;
}

export async function handler(event: { body: string }): Promise<{ statusCode: number }> {
  const { email, password, form_id, otp_type = 'email' } = JSON.parse(event.body) as Body;
  pepper ??= (await secrets.send(new GetSecretValueCommand({ SecretId: env.PEPPER_SECRET }))).SecretString ?? '';
  await read(env.CRM_TABLE, `form#${form_id}`);
  const limits = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  await Promise.all([count(), read(env.LIMITS_TABLE, ...limits)]);
  await count();

  const hashed = await hashOf(password);
  const code = String(randomInt(0, 1_000_000)).padStart(6, '0');
  const key = { pk: `email#${email}` };
  const Item = {
    ...key,
    registration_id: randomUUID(),
    email,
    ...hashed,
    code: { hmac: createHmac('sha256', pepper).update(code).digest('base64url'), guesses: 0 },
    expires_at: Math.floor(Date.now() / 1_000) + 86_400,
  };
  await Promise.all([
    count(),
    read(env.CRM_TABLE, `email#${email}`),
    database.send(new PutCommand({ TableName: env.REGISTRATIONS_TABLE, Item })),
    pointTo(Item.registration_id, email),
  ]);
  await LATER[otp_type]();
  const id = await sendMail(email, code);
  await database.send(
    new UpdateCommand({
      TableName: env.REGISTRATIONS_TABLE,
      Key: key,
      UpdateExpression: 'SET delivery = :delivery',
      ExpressionAttributeValues: { ':delivery': { outcome: 'sent', message_id: id } },
    }),
  );
  return { statusCode: 204 };
}

async function hashOf(password: string): Promise<{ password_hash: string; salt: string }> {
  const nonce = randomBytes(16);
  const tag = await hash('argon2id', {
    message: Buffer.from(password),
    nonce,
    memory: 19_456,
    passes: 2,
    parallelism: 1,
    tagLength: 32,
  });
  return { password_hash: tag.toString('base64'), salt: nonce.toString('base64') };
}

async function read(table = '', ...keys: string[]): Promise<void> {
  const RequestItems = { [table]: { Keys: keys.map((pk) => ({ pk })), ConsistentRead: true } };
  await database.send(new BatchGetCommand({ RequestItems }));
}

/** The registrations of an address, by which a confirmation finds them. */
async function pointTo(id: string, email: string): Promise<void> {
  await database.send(
    new UpdateCommand({
      TableName: env.REGISTRATIONS_TABLE,
      Key: { pk: `address#${email}` },
      UpdateExpression: 'SET id = :id',
      ExpressionAttributeValues: { ':id': id },
    }),
  );
}

/** A counter of an hour and a day. */
async function count(): Promise<void> {
  const now = Date.now();
  await database.send(
    new UpdateCommand({
      TableName: env.LIMITS_TABLE,
      Key: { pk: randomUUID() },
      UpdateExpression: 'SET n_hour = :one, from_hour = :now, n_day = :one, from_day = :now, expires_at = :expires_at',
      ConditionExpression: 'NOT from_hour > :hour AND NOT from_day > :day',
      ExpressionAttributeValues: {
        ':one': 1,
        ':now': now,
        ':hour': now - 3_600_000,
        ':day': now - 86_400_000,
        ':expires_at': Math.floor(now / 1_000) + 86_400,
      },
    }),
  );
}

async function sendMail(email: string, code: string): Promise<string | undefined> {
  const command = new SendEmailCommand({
    Source: 'no-reply@example.com',
    Destination: { ToAddresses: [email] },
    Message: { Subject: { Data: 'Your code' }, Body: { Text: { Data: code }, Html: { Data: `<p>${code}</p>` } } },
  });
  return (await mail.send(command)).MessageId;
}

/** The clients of the other channels and of documents: in the bundle, and loaded on first use. */
const LATER = {
  email: async () => {},
  sms: () => import('@aws-sdk/client-sns'),
  call: () => import('@aws-sdk/client-pinpoint-sms-voice-v2'),
  whatsapp: () => import('@aws-sdk/client-socialmessaging'),
  document: () => import('@aws-sdk/client-s3'),
};
