import { type SendMail, sesMailer } from '../aws/ses.ts';
import type { Brand } from '../messages/brand.ts';
import { otpMail } from '../messages/otp-mail.ts';
import { asciiEmail } from '../validators/email.ts';
import type { OtpChannel } from './channel.ts';
import { type EmailSettings, sentBy } from './sender.ts';

/** The channel `email`: mails through SES. */
export function emailChannel(settings: EmailSettings, brand: Brand, sendMail: SendMail = sesMailer()): OtpChannel {
  const sender = sentBy(settings, brand);
  return {
    send(to, message, language, signal) {
      const { subject, text, html } = otpMail(message, language, brand);
      return sendMail({ ...sender, to: asciiEmail(to), subject, text, html, kind: message.kind }, signal);
    },
  };
}
