import type { Brand } from './brand.ts';
import type { OtpChannel } from './message.ts';
import type { Publish } from './providers.ts';
import { smsText } from './sms-text.ts';

export interface SmsSettings {
  /** 1 to 11 letters and digits, shown as the sender where the country allows it. */
  senderId?: string | undefined;
  /** US dollars that one text may cost at most, such as `0.25`. */
  maxPrice?: string | undefined;
  originationNumber?: string | undefined;
  /** India's registrations of the sender and of the text. */
  entityId?: string | undefined;
  templateId?: string | undefined;
  /** The site whose browsers may fill the code in by themselves (WebOTP). */
  webOtpDomain?: string | undefined;
}

/** The channel `sms`: transactional texts through SNS. */
export function smsChannel(settings: SmsSettings, brand: Brand, publish: Publish): OtpChannel {
  const attributes = {
    'AWS.SNS.SMS.SMSType': { type: 'String', value: 'Transactional' },
    'AWS.SNS.SMS.SenderID': { type: 'String', value: settings.senderId },
    'AWS.SNS.SMS.MaxPrice': { type: 'Number', value: settings.maxPrice },
    'AWS.MM.SMS.OriginationNumber': { type: 'String', value: settings.originationNumber },
    'AWS.MM.SMS.EntityId': { type: 'String', value: settings.entityId },
    'AWS.MM.SMS.TemplateId': { type: 'String', value: settings.templateId },
  } as const;
  return {
    send(to, message, language, signal) {
      const text = smsText(message, language, brand, settings.webOtpDomain);
      return publish({ phoneNumber: to, message: text, attributes }, signal);
    },
  };
}
