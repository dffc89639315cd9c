import {
  SendWhatsAppMessageCommand,
  SocialMessagingClient,
  type SocialMessagingClientConfig,
} from '@aws-sdk/client-socialmessaging';
import type { WhatsAppSettings } from '../config/channel-settings.ts';
import type { OtpChannel } from '../messages/message.ts';
import { findTranslation } from '../messages/translations/languages.ts';
import { AT_MOST_ONCE, deliverCommand, type FailureKindsByError } from './delivery.ts';

/** The newest version of Meta's API that AWS has in every region. */
const META_API_VERSION = 'v20.0';

/**
 * The channel `whatsapp`: template messages through AWS End User Messaging Social, each at most once. Meta's templates
 * hold their text.
 */
export function whatsAppChannel(settings: WhatsAppSettings, config: SocialMessagingClientConfig = {}): OtpChannel {
  const client = new SocialMessagingClient({ ...AT_MOST_ONCE, ...config });
  return {
    async send(to, code, language, signal) {
      const { language: subtag, whatsapp: metaLanguage = subtag } = await findTranslation(language, settings.languages);
      const sent = {
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        to,
        type: 'template',
        template: { language: { code: metaLanguage }, ...template(code, settings) },
      };
      return deliverCommand(
        new SendWhatsAppMessageCommand({
          originationPhoneNumberId: settings.phoneNumberId,
          metaApiVersion: META_API_VERSION,
          message: Buffer.from(JSON.stringify(sent)),
        }),
        async (command, options) => (await client.send(command, options)).messageId,
        FAILURES,
        signal,
      );
    },
  };
}

/** The name and the values of the template, in the format of Meta's Cloud API. */
function template(code: string, { codeTemplate }: WhatsAppSettings) {
  const parameters = [{ type: 'text', text: code }];
  return {
    name: codeTemplate,
    components: [
      { type: 'body', parameters },
      // The type is `url` even if the button copies the code.
      { type: 'button', sub_type: 'url', index: '0', parameters },
    ],
  };
}

/** Meta's codes for a recipient who cannot get a message: not on WhatsApp, not in the list of a test number, oneself. */
const REFUSED_RECIPIENT = /\b1310(?:21|26|30)\b/;

const FAILURES: FailureKindsByError = {
  // Meta failed, or did not answer in time: it may have sent the message.
  DependencyException: 'unknown_outcome',
  LimitExceededException: 'over_budget',
  // Otherwise Meta refused the template, its language or its parameters.
  InvalidParametersException: ({ message }) =>
    REFUSED_RECIPIENT.test(message) ? 'refused_recipient' : 'refused_message',
  ValidationException: 'refused_message',
};
