import { argon2, createHmac, randomBytes, randomInt, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { SESClient, SendEmailCommand } from '@aws-sdk/client-ses';
import { put, read, secret, update } from './bare.ts';

/**
 * A registration as it would be with the SDK alone: the same clients, of which the same ones are loaded on first use, the
 * same calls in the same order, the same password hash. No rules, no effective limits, no error handling, no texts.
 */

const mail = new SESClient({});
const hash = promisify(argon2);
const { CRM_TABLE, LIMITS_TABLE, PEPPER_SECRET, REGISTRATIONS_TABLE } = process.env;

interface Body {
  email: string;
  password: string;
  form_id: string;
  otp_type?: keyof typeof LATER;
}

export async function handler(event: { body: string }): Promise<{ statusCode: number }> {
  const { email, password, form_id, otp_type = 'email' } = JSON.parse(event.body) as Body;
  const limits = [randomUUID(), randomUUID(), randomUUID()];
  const [pepper] = await Promise.all([
    secret(PEPPER_SECRET),
    secret(PEPPER_SECRET).then(() => Promise.all([count(), read(LIMITS_TABLE, ...limits)])),
    read(CRM_TABLE, `form#${form_id}`),
  ]);
  const nonce = randomBytes(16);
  const argon = { message: Buffer.from(password), nonce, memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
  const [hashed] = await Promise.all([hash('argon2id', argon).then((bytes) => bytes.toString('base64')), count()]);
  const code = String(randomInt(0, 1_000_000)).padStart(6, '0');
  const registration = {
    pk: `registration#${randomUUID()}`,
    email,
    password_hash: hashed,
    code: { hmac: createHmac('sha256', pepper).update(code).digest('base64url'), guesses: 0 },
    expires_at: Math.floor(Date.now() / 1_000) + 86_400,
  };
  await Promise.all([count(), put(REGISTRATIONS_TABLE, registration)]);
  await LATER[otp_type]();
  await sendMail(email, code);
  return { statusCode: 204 };
}

/** A counter of an hour and a day. */
function count(): Promise<unknown> {
  const now = Date.now();
  const values = { ':one': 1, ':now': now, ':hour': now - 3_600_000, ':day': now - 86_400_000 };
  return update(
    LIMITS_TABLE,
    randomUUID(),
    'SET n_hour = :one, from_hour = :now, n_day = :one, from_day = :now, expires_at = :expires_at',
    { ...values, ':expires_at': Math.floor(now / 1_000) + 86_400 },
    { ConditionExpression: 'NOT from_hour > :hour AND NOT from_day > :day' },
  );
}

async function sendMail(email: string, code: string): Promise<void> {
  const command = new SendEmailCommand({
    Source: 'no-reply@example.com',
    Destination: { ToAddresses: [email] },
    Message: { Subject: { Data: 'Your code' }, Body: { Text: { Data: code }, Html: { Data: `<p>${code}</p>` } } },
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
