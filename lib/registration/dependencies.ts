import { databaseClient, table } from '../aws/dynamodb.ts';
import { parsedSecret, type ReadSecret } from '../aws/secrets.ts';
import type { RegistrationConfig } from '../config.ts';
import { installed, installedChannels, type Openers } from '../messages/channels.ts';
import { documentsIn } from '../records/documents.ts';
import { operationsIn } from '../records/operations.ts';
import { registrationDirectoryIn } from '../records/registration-directory.ts';
import { registrationsIn } from '../records/registrations.ts';
import { sendLimits } from '../records/send-limits.ts';
import { makeCode } from '../secrets/one-time-code.ts';
import { hashPassword, isPasswordOf } from '../secrets/password-hash.ts';
import { parsePepper } from '../secrets/pepper.ts';
import type { RegistrationParts } from './work.ts';

/** How each channel is opened: loaded on first use, while the password is hashed. Its SDK client stays out of what is read at start. */
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
  async call({ call, brand }) {
    const [{ callChannel }, { voiceCaller }] = await Promise.all([
      import('../messages/call.ts'),
      import('../aws/voice.ts'),
    ]);
    return callChannel(installed(call), brand, voiceCaller());
  },
  async whatsapp({ whatsapp }) {
    const [{ whatsAppChannel }, { whatsAppSender }] = await Promise.all([
      import('../messages/whatsapp.ts'),
      import('../aws/social.ts'),
    ]);
    return whatsAppChannel(installed(whatsapp), whatsAppSender());
  },
};

/** What a registration is given in production; made once, at cold start. */
export function registrationDependencies(config: RegistrationConfig, readSecret: ReadSecret): RegistrationParts {
  // Up to three calls go side by side.
  const database = databaseClient({}, 2);
  return {
    settings: config,
    directory: registrationDirectoryIn(table(database, config.crmTable)),
    operations: operationsIn(table(database, config.operationsTable)),
    registrations: registrationsIn(table(database, config.registrationsTable)),
    documents: documentsIn(config.documentsBucket, { tagged: config.confirmation === true }),
    channel: installedChannels(config, CHANNEL_OPENERS),
    pepper: parsedSecret(readSecret, config.pepperSecret, parsePepper),
    limits: sendLimits(table(database, config.limitsTable), config.limits),
    hashPassword,
    isPassword: isPasswordOf,
    makeCode,
    now: Date.now,
  };
}
