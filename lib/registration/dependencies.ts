import { databaseClient, dynamoTable } from '../aws/dynamodb.ts';
import { parsedSecret, type ReadSecret } from '../aws/secrets.ts';
import type { RegistrationConfig } from '../config.ts';
import { pauseAtRandom } from '../deadline.ts';
import { dynamoLimits } from '../limits/limits.ts';
import type { OtpChannel } from '../messages/message.ts';
import { s3Documents } from '../records/documents.ts';
import { dynamoRegistrationDirectory } from '../records/registration-directory.ts';
import { dynamoRegistrations } from '../records/registrations.ts';
import { parsePepper } from '../secrets/keys.ts';
import { makeCode } from '../secrets/one-time-code.ts';
import { hashPassword, verifyPassword } from '../secrets/password-hash.ts';
import type { Channel, PhoneChannel } from '../validators/otp-types.ts';
import type { RegistrationDependencies } from './request.ts';

/** The production dependencies of a registration; created once, at cold start. */
export function registrationDependencies(config: RegistrationConfig, readSecret: ReadSecret): RegistrationDependencies {
  // Up to three calls are made in parallel.
  const database = databaseClient({}, 2);
  return {
    settings: config,
    directory: dynamoRegistrationDirectory(dynamoTable(database, config.crmTable)),
    registrations: dynamoRegistrations(dynamoTable(database, config.registrationsTable)),
    documents: s3Documents(config),
    channel: deployedChannels(config, readSecret),
    pepper: parsedSecret(readSecret, config.pepperSecret, parsePepper),
    limits: dynamoLimits(dynamoTable(database, config.limitsTable), config.limits),
    hashPassword,
    verifyPassword,
    makeCode,
    pause: pauseAtRandom,
    now: Date.now,
  };
}

/**
 * The channels of a deployment, each opened once, on first use: while the password is hashed, so no cold start reads
 * its SDK client.
 */
export function deployedChannels(
  config: RegistrationConfig,
  readSecret: ReadSecret,
): (name: Channel) => Promise<OtpChannel> {
  const opened = new Map<Channel, Promise<OtpChannel>>();
  return (name) => {
    const url = name === 'email' ? undefined : config.provider?.[name];
    const channel =
      opened.get(name) ??
      (name === 'email' || url === undefined ? OPENERS[name](config) : openProvider(name, url, config, readSecret));
    opened.set(name, channel);
    return channel;
  };
}

const OPENERS: Record<Channel, (config: RegistrationConfig) => Promise<OtpChannel>> = {
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
  async call({ call, protectConfigurationId, brand }) {
    const { callChannel } = await import('../aws/voice.ts');
    return callChannel({ ...required(call), protectConfigurationId }, brand);
  },
  async whatsapp({ whatsapp }) {
    const { whatsAppChannel } = await import('../aws/social.ts');
    return whatsAppChannel(required(whatsapp));
  },
};

/** Opens a channel of the broker's own provider, which is used instead of AWS. */
async function openProvider(
  channel: PhoneChannel,
  url: string,
  { providerSecret = '', brand, sms }: RegistrationConfig,
  readSecret: ReadSecret,
): Promise<OtpChannel> {
  const [{ providerChannel }, { parseSigningSecret }] = await Promise.all([
    import('../messages/provider.ts'),
    import('../secrets/webhook-signature.ts'),
  ]);
  const keys = parsedSecret(readSecret, providerSecret, parseSigningSecret);
  return providerChannel(channel, { url, keys, brand, webOtpDomain: sms.webOtpDomain });
}

/** The configuration is refused if a channel misses its settings. */
function required<T>(settings: T | undefined): T {
  if (settings === undefined) throw new TypeError('A channel has no settings.');
  return settings;
}
