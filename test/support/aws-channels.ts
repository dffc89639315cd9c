import { localSettings } from '../../infra/local/local-settings.ts';
import { sesMailer } from '../../lib/aws/ses.ts';
import { snsPublisher } from '../../lib/aws/sns.ts';
import { whatsAppChannel } from '../../lib/aws/social.ts';
import { callChannel } from '../../lib/aws/voice.ts';
import { emailChannel } from '../../lib/messages/email.ts';
import type { OtpChannel } from '../../lib/messages/message.ts';
import { smsChannel } from '../../lib/messages/sms.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import { BRAND } from './senders.ts';
import type { clientSettings } from './servers.ts';

/** The settings of `npm start`, which its stand-ins accept. */
export const SETTINGS = localSettings();
const { senderAddress, sms, call = missing('call'), whatsapp = missing('whatsapp') } = SETTINGS;

/** Opens each channel by its service of AWS. */
export const AWS_CHANNELS: Readonly<Record<Channel, (client: ReturnType<typeof clientSettings>) => OtpChannel>> = {
  email: (client) => emailChannel({ senderAddress }, BRAND, sesMailer(client)),
  sms: (client) => smsChannel(sms, BRAND, snsPublisher(client)),
  call: (client) => callChannel(call, BRAND, client),
  whatsapp: (client) => whatsAppChannel(whatsapp, client),
};

function missing(channel: Channel): never {
  throw new TypeError(`The local service has no settings of ${channel}.`);
}
