import { databaseClient, dynamoTable, type Table } from '../aws/dynamodb.ts';
import { parsedSecret, type ReadSecret } from '../aws/secrets.ts';
import type { RegistrationConfig } from '../config.ts';
import { dynamoLimits } from '../limits/limits.ts';
import { installed, installedChannels, type Openers } from '../messages/channels.ts';
import { s3Documents } from '../records/documents.ts';
import { dynamoRegistrationDirectory } from '../records/registration-directory.ts';
import { dynamoRegistrationKeys } from '../records/registration-keys.ts';
import { dynamoRegistrations } from '../records/registrations.ts';
import { makeCode } from '../secrets/one-time-code.ts';
import { hashPassword, matchesPassword } from '../secrets/password-hash.ts';
import { parsePepper } from '../secrets/pepper.ts';
import type { PhoneChannel } from '../validators/otp-types.ts';
import type { RegistrationDependencies } from './work.ts';

/**
 * How each channel is opened: loaded on first use, while the password is hashed, so no cold start reads its SDK client.
 */
export const CHANNEL_OPENERS: Openers = {
  async email({ email, brand }) {
    const [{ emailChannel }, { sesMailer }] = await Promise.all([
      import('../messages/email.ts'),
      import('../aws/ses.ts'),
    ]);
    return emailChannel(email, brand, sesMailer());
  },
  async sms({ sms, brand }) {
    const [{ smsChannel }, { snsPublisher }] = await Promise.all([
      import('../messages/sms.ts'),
      import('../aws/sns.ts'),
    ]);
    return smsChannel(sms, brand, snsPublisher());
  },
  async call({ call, protectConfiguration, brand }) {
    const [{ callChannel }, { voiceCaller }] = await Promise.all([
      import('../messages/call.ts'),
      import('../aws/voice.ts'),
    ]);
    return callChannel({ ...installed(call), protectConfiguration }, brand, voiceCaller());
  },
  async whatsapp({ whatsapp }) {
    const [{ whatsAppChannel }, { whatsAppSender }] = await Promise.all([
      import('../messages/whatsapp.ts'),
      import('../aws/social.ts'),
    ]);
    return whatsAppChannel(installed(whatsapp), whatsAppSender());
  },
};

/** How phone channels are opened that have a provider of the broker, which is used instead of AWS. */
function providerOpeners(
  { provider = {}, providerSecret = '' }: Pick<RegistrationConfig, 'provider' | 'providerSecret'>,
  readSecret: ReadSecret,
): Partial<Openers> {
  const opener =
    (channel: PhoneChannel, url: string): Openers[PhoneChannel] =>
    async ({ sms, brand }) => {
      const [{ providerChannel }, { parseSigningSecret }] = await Promise.all([
        import('../messages/provider.ts'),
        import('../secrets/webhook-signature.ts'),
      ]);
      const keys = parsedSecret(readSecret, providerSecret, parseSigningSecret);
      return providerChannel(channel, { url, keys, brand, webOtpDomain: sms.webOtpDomain });
    };
  const channels = Object.entries(provider) as [PhoneChannel, string][];
  return Object.fromEntries(channels.map(([channel, url]) => [channel, opener(channel, url)]));
}

/** The table of limits for releases. Its client does not retry, and is created for the first release. */
function releasingTable(name: string): () => Table {
  let made: Table | undefined;
  return () => {
    made ??= dynamoTable(databaseClient({ maxAttempts: 1 }), name);
    return made;
  };
}

/** The production dependencies of a registration; created once, at cold start. */
export function registrationDependencies(config: RegistrationConfig, readSecret: ReadSecret): RegistrationDependencies {
  // Up to three calls are made in parallel.
  const database = databaseClient({}, 2);
  return {
    settings: config,
    directory: dynamoRegistrationDirectory(dynamoTable(database, config.crmTable)),
    keys: dynamoRegistrationKeys(dynamoTable(database, config.operationsTable)),
    registrations: dynamoRegistrations(dynamoTable(database, config.registrationsTable)),
    documents: s3Documents(config.documentsBucket, { tagged: config.confirmation === true }),
    channel: installedChannels(config, { ...CHANNEL_OPENERS, ...providerOpeners(config, readSecret) }),
    pepper: parsedSecret(readSecret, config.pepperSecret, parsePepper),
    limits: dynamoLimits(dynamoTable(database, config.limitsTable), releasingTable(config.limitsTable), config.limits),
    hashPassword,
    matchesPassword,
    makeCode,
    now: Date.now,
  };
}
