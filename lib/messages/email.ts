import { asciiEmail } from '../validators/email.ts';
import type { Brand } from './brand.ts';
import type { OtpChannel } from './message.ts';
import { otpMail } from './otp-mail.ts';
import type { SendMail } from './providers.ts';
import { type EmailSettings, sentBy } from './sender.ts';

/** The channel `email`: mails through SES. */
export function emailChannel(settings: EmailSettings, brand: Brand, sendMail: SendMail): OtpChannel {
  const sender = sentBy(settings, brand);
  return {
    send(to, message, language, signal) {
      const { subject, text, html } = otpMail(message, language, brand);
      return sendMail({ ...sender, to: asciiEmail(to), subject, text, html, kind: message.kind }, signal);
    },
  };
}
