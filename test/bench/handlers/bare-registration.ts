import { argon2, createHmac, randomBytes, randomInt, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { SESClient, SendEmailCommand } from '@aws-sdk/client-ses';
import { get, put, read, secret, update } from './bare.ts';

/**
 * A registration as it would be with the SDK alone: the same clients, of which the same ones are loaded on first use, the
 * same calls in the same order, items and conditions with the same members, the same password hash, a mail of the same
 * length. No rules, no effective limits, no error handling, no texts.
 */

const mail = new SESClient({});
const hash = promisify(argon2);
const { CRM_TABLE, LIMITS_TABLE, PEPPER_SECRET, REGISTRATIONS_TABLE } = process.env;

/** The windows of the two counters of a source: its requests, and its messages. */
const SOURCE_WINDOWS = ['ten_minutes', 'hour'];

type Texts = Record<'email' | 'password' | 'repeat_password' | 'form_id' | 'k3J9xQ', string>;

export async function handler(event: { body: string }): Promise<{ statusCode: number }> {
  const body = JSON.parse(event.body) as Texts & { otp_type?: keyof typeof LATER };
  const { password, repeat_password, k3J9xQ, otp_type = 'email', ...given } = body;
  const { email, form_id } = given;
  const [source, recipient, sender] = [counter('source'), counter('recipient'), counter('sender')];
  const countSource = () => Promise.all([read(LIMITS_TABLE, source, recipient, sender), count(source, SOURCE_WINDOWS)]);
  const reading = secret(PEPPER_SECRET);
  const [pepper] = await Promise.all([reading, reading.then(countSource), get(CRM_TABLE, `form#${form_id}`)]);
  const nonce = randomBytes(16);
  const argon = { message: Buffer.from(password), nonce, memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
  const [hashed] = await Promise.all([hash('argon2id', argon), count(recipient, ['minute', 'hour', 'day'])]);
  const code = String(randomInt(0, 1_000_000)).padStart(6, '0');
  const now = Date.now();
  const [registration_id, lease] = [randomUUID(), randomUUID()];
  const registration = {
    pk: `registration#${registration_id}`,
    registration_id,
    ...given,
    otp_type,
    address: email,
    email_key: email,
    source: '203.0.113.7',
    code_seal: createHmac('sha256', pepper).update(`${registration_id}\n${code}`).digest('base64url'),
    pepper_version: '1',
    password_hash: `$argon2id$v=19$m=19456,t=2,p=1$${nonce.toString('base64')}$${hashed.toString('base64')}`,
    custom_fields: JSON.stringify({ k3J9xQ }),
    consents: [],
    documents: [],
    requested_at: new Date(now).toISOString(),
    lease,
    guesses: 0,
    code_expires_at_ms: now + 600_000,
    expires_at: Math.floor(now / 1_000) + 86_400,
  };
  const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };
  const stored = put({ TableName: REGISTRATIONS_TABLE, Item: registration, ...isNew });
  await Promise.all([stored, count(sender, SOURCE_WINDOWS)]);
  await LATER[otp_type]();
  await sendMail(email, code);
  return { statusCode: 204 };
}

/** The name of a counter that no other request has. */
function counter(kind: string): string {
  return `${kind}#${randomBytes(32).toString('base64url')}`;
}

/** Counts in a new window of each length. */
function count(pk: string, windows: readonly string[]): Promise<unknown> {
  const now = Date.now();
  const changes = windows.map((window) => `, n_${window} = :one, from_${window} = :at`).join('');
  const conditions = windows.map((window) => ` AND NOT from_${window} > :${window}`).join('');
  const starts = Object.fromEntries(windows.map((window) => [`:${window}`, now - 86_400_000]));
  const expires_at = Math.floor(now / 1_000) + 86_400;
  return update({
    TableName: LIMITS_TABLE,
    Key: { pk },
    UpdateExpression: `SET counted_by = :id, expires_at = :expires_at${changes}`,
    ConditionExpression: `NOT counted_by = :id${conditions}`,
    ExpressionAttributeValues: { ':id': randomUUID(), ':one': 1, ':at': now, ':expires_at': expires_at, ...starts },
  });
}

/** The HTML part of a mail of ours has this length. */
const HTML = '<p style="margin:0">Your code.</p>\n'.repeat(153);

async function sendMail(email: string, code: string): Promise<void> {
  const utf8 = (Data: string) => ({ Data, Charset: 'UTF-8' });
  const Body = { Text: utf8(`${code}\n`.repeat(77)), Html: utf8(`${code}${HTML}`) };
  const command = new SendEmailCommand({
    Source: '"Example Broker" <no-reply@example.com>',
    ReplyToAddresses: ['support@example.com'],
    Destination: { ToAddresses: [email] },
    Message: { Subject: utf8('The code for your registration with the broker'), Body },
    ConfigurationSetName: 'mails',
    Tags: [{ Name: 'kind', Value: 'code' }],
  });
  await mail.send(command);
}

/** The clients of the other channels and of documents: in the bundle, and loaded on first use. */
const LATER = {
  email: async () => {},
  sms: () => import('@aws-sdk/client-sns'),
  call: () => import('@aws-sdk/client-pinpoint-sms-voice-v2'),
  whatsapp: () => import('@aws-sdk/client-socialmessaging'),
  document: () => import('@aws-sdk/client-s3'),
};
