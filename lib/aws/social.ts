import {
  SendWhatsAppMessageCommand,
  SocialMessagingClient,
  type SocialMessagingClientConfig,
} from '@aws-sdk/client-socialmessaging';
import type { DeliveryFailureKind } from '../messages/message.ts';
import type { SendWhatsApp } from '../messages/providers.ts';
import { AT_MOST_ONCE, deliver, type ServiceAnswer } from './delivery.ts';

/** The newest version of Meta's API that AWS has in every region. */
const META_API_VERSION = 'v20.0';

/** Sends WhatsApp messages through AWS End User Messaging Social, each at most once. */
export function whatsAppSender(config: SocialMessagingClientConfig = {}): SendWhatsApp {
  const client = new SocialMessagingClient({ ...AT_MOST_ONCE, ...config });
  return ({ to, phoneNumberId, template }, signal) => {
    const message = {
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to,
      type: 'template',
      template: { name: template.name, language: { code: template.language }, components: template.components },
    };
    return deliver(
      new SendWhatsAppMessageCommand({
        originationPhoneNumberId: phoneNumberId,
        metaApiVersion: META_API_VERSION,
        message: Buffer.from(JSON.stringify(message)),
      }),
      async (command, options) => (await client.send(command, options)).messageId,
      classify,
      signal,
    );
  };
}

function classify({ name }: ServiceAnswer): DeliveryFailureKind | undefined {
  // DependencyException (Meta failed, or did not answer in time) is a 5xx and so an unknown outcome.
  return name === 'LimitExceededException' ? 'over_budget' : undefined;
}
