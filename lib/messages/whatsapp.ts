import type { WhatsAppSettings } from '../validators/deployment.ts';
import type { Message, OtpChannel } from './message.ts';
import type { SendWhatsApp } from './providers.ts';
import { findTranslation } from './translations/languages.ts';

/** The channel `whatsapp`: template messages through AWS End User Messaging. Meta's templates hold their text. */
export function whatsAppChannel(settings: WhatsAppSettings, sendWhatsApp: SendWhatsApp): OtpChannel {
  const { phoneNumberId } = settings;
  return {
    async send(to, message, language, signal) {
      const { whatsapp } = await findTranslation(language);
      const template = whatsAppTemplate(message, whatsapp, settings);
      return sendWhatsApp({ to, phoneNumberId, template }, signal);
    },
  };
}

function whatsAppTemplate(message: Message, language: string, settings: WhatsAppSettings) {
  if (message.kind === 'owner_notice') return { name: settings.noticeTemplate, language, components: [] };
  const code = [{ type: 'text', text: message.code }];
  return {
    name: settings.codeTemplate,
    language,
    components: [
      { type: 'body', parameters: code },
      // The type is `url` even if the button copies the code.
      { type: 'button', sub_type: 'url', index: '0', parameters: code },
    ],
  };
}
