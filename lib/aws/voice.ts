import {
  PinpointSMSVoiceV2Client,
  type PinpointSMSVoiceV2ClientConfig,
  SendVoiceMessageCommand,
} from '@aws-sdk/client-pinpoint-sms-voice-v2';
import type { CallSettings } from '../config/channel-settings.ts';
import type { Brand } from '../config/deployment.ts';
import { spokenMessage } from '../messages/call.ts';
import type { OtpChannel } from '../messages/message.ts';
import { findTranslation } from '../messages/translations/languages.ts';
import { CODE_VALID_MINUTES } from '../validators/otp-types.ts';
import { AT_MOST_ONCE, deliverCommand, type FailureKindsByError } from './delivery.ts';

/** The channel `call`: a voice of Amazon Polly reads the code out, through AWS End User Messaging, at most once. */
export function callChannel(
  settings: CallSettings & { protectConfigurationId?: string | undefined },
  brand: Brand,
  config: PinpointSMSVoiceV2ClientConfig = {},
): OtpChannel {
  const client = new PinpointSMSVoiceV2Client({ ...AT_MOST_ONCE, ...config });
  return {
    async send(to, code, language, signal) {
      const translation = await findTranslation(language);
      return deliverCommand(
        new SendVoiceMessageCommand({
          DestinationPhoneNumber: to,
          OriginationIdentity: settings.originationIdentity,
          MessageBody: spokenMessage(code, translation, brand),
          MessageBodyTextType: 'SSML',
          VoiceId: translation.voice,
          // Without a time to live, the service would retry for 72 hours, with a code that has expired.
          TimeToLive: CODE_VALID_MINUTES * 60,
          ProtectConfigurationId: settings.protectConfigurationId,
        }),
        async (command, options) => (await client.send(command, options)).MessageId,
        FAILURES,
        signal,
      );
    },
  };
}

/**
 * The kind of failure for each refused field that concerns the recipient or the message. All other fields are settings.
 */
const FIELD_KINDS = [
  ['DestinationPhoneNumber', 'refused_recipient'],
  ['MessageBody', 'refused_message'],
] as const;

/**
 * The failures of a call. Conflicts that are not listed are ours: with `DESTINATION_PHONE_NUMBER_NOT_VERIFIED` the
 * account is still in the sandbox.
 */
const FAILURES: FailureKindsByError = {
  ServiceQuotaExceededException: 'over_budget',
  'ConflictException.DESTINATION_PHONE_NUMBER_OPTED_OUT': 'opted_out',
  'ConflictException.DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE': 'refused_recipient',
  'ConflictException.DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION': 'blocked_country',
  'ValidationException.PRICE_OVER_THRESHOLD': 'over_budget',
  'ValidationException.COUNTRY_NOT_ENABLED': 'blocked_country',
  'ValidationException.DESTINATION_COUNTRY_BLOCKED': 'blocked_country',
  'ValidationException.INTERNATIONAL_SENDING_NOT_SUPPORTED': 'blocked_country',
  'ValidationException.INVALID_IDENTITY_FOR_DESTINATION_COUNTRY': 'blocked_country',
  ValidationException: ({ Fields = [] }) =>
    FIELD_KINDS.find(([field]) => Fields.some(({ Name }) => Name === field))?.[1] ?? 'misconfigured',
};
