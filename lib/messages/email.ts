import type { Brand } from '../config/deployment.ts';
import { asciiEmail } from '../validators/email.ts';
import {
  type EmailSettings,
  type FramedMail,
  framedMail,
  isolatedValue,
  mailBlock,
  mailSenderFields,
  richPhrase,
} from './mail.ts';
import type { OtpChannel, SendMail } from './message.ts';
import { findTranslation } from './translations/languages.ts';
import { fill, type Translation, validity } from './translations/translation.ts';

/** The channel `email`: mails through SES. */
export function emailChannel(settings: EmailSettings, brand: Brand, sendMail: SendMail): OtpChannel {
  const sender = mailSenderFields(settings, brand);
  const mailIn = async (language: string | undefined, code: string) =>
    codeMail(code, await findTranslation(language), brand);
  return {
    async prepare(language) {
      // The first mail takes ten times as long as the next.
      await Promise.all([mailIn(language, ''), sendMail.prepare?.()]);
    },

    async send(to, code, language, signal) {
      const mail = await mailIn(language, code);
      return sendMail({ ...sender, ...mail, to: asciiEmail(to), kind: 'code' }, signal);
    },
  };
}

/** The mail with the one-time password. Subject and preheader do not have the code: lock screens show them. */
export function codeMail(code: string, translation: Translation, brand: Brand): FramedMail {
  const minutes = validity(translation);
  const phrases = translation.codeMail;
  const expiry = richPhrase(phrases.expiry, { minutes });
  return framedMail({
    translation,
    brand,
    subject: fill(phrases.subject, { brand: brand.name }),
    preheader: expiry.text,
    blocks: [
      mailBlock.heading(phrases.heading),
      mailBlock.paragraph(richPhrase(phrases.intro, { brand: isolatedValue(brand.name, translation) })),
      mailBlock.code(code),
      mailBlock.paragraph(expiry),
      mailBlock.paragraph(richPhrase(phrases.secrecy)),
      mailBlock.note(richPhrase(phrases.notYou), phrases.notYouHeading),
    ],
  });
}
