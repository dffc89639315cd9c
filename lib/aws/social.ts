import {
  SendWhatsAppMessageCommand,
  SocialMessagingClient,
  type SocialMessagingClientConfig,
} from '@aws-sdk/client-socialmessaging';
import type { DeliveryFailureKind } from '../otp/channel.ts';
import { AT_MOST_ONCE, deliver, type ServiceAnswer } from './delivery.ts';

/** A WhatsApp template message, in the words of Meta's Cloud API. */
export interface WhatsAppTemplate {
  name: string;
  /** Meta's language code, such as `pt_BR`. */
  language: string;
  components: WhatsAppComponent[];
}
type WhatsAppComponent =
  | { type: 'body'; parameters: TextParameter[] }
  | { type: 'button'; sub_type: 'url'; index: string; parameters: TextParameter[] };
interface TextParameter {
  type: 'text';
  text: string;
}

interface WhatsAppMessage {
  /** E.164. */
  to: string;
  /** `phone-number-id-…` of the sending number. */
  phoneNumberId: string;
  /** Of Meta's API, such as `v20.0`. */
  apiVersion: string;
  template: WhatsAppTemplate;
}

/** @throws DeliveryFailure */
export type SendWhatsApp = (message: WhatsAppMessage, signal: AbortSignal) => Promise<{ messageId: string }>;

/** Sends WhatsApp messages through AWS End User Messaging Social, each at most once. */
export function whatsAppSender(config: SocialMessagingClientConfig = {}): SendWhatsApp {
  const client = new SocialMessagingClient({ ...AT_MOST_ONCE, ...config });
  return ({ to, phoneNumberId, apiVersion, template }, signal) => {
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
        metaApiVersion: apiVersion,
        message: Buffer.from(JSON.stringify(message)),
      }),
      async (command, options) => (await client.send(command, options)).messageId,
      meaning,
      signal,
    );
  };
}

function meaning({ name }: ServiceAnswer): DeliveryFailureKind | undefined {
  // DependencyException (Meta failed, or did not answer in time) is a 5xx and so an unknown outcome.
  return name === 'LimitExceededException' ? 'over_budget' : undefined;
}
