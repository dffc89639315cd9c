import type { Brand } from '../validators/deployment.ts';
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
import type { Message, OtpChannel, SendMail } from './message.ts';
import { findTranslation } from './translations/languages.ts';
import { fill, type Translation, validity } from './translations/translation.ts';

/** The channel `email`: mails through SES. */
export function emailChannel(settings: EmailSettings, brand: Brand, sendMail: SendMail): OtpChannel {
  const sender = mailSenderFields(settings, brand);
  const mailIn = async (language: string | undefined, message: Message) =>
    otpMail(message, await findTranslation(language), brand);
  return {
    async prepare(language) {
      // The first mail takes ten times as long as the next.
      await Promise.all([mailIn(language, { kind: 'owner_notice' }), sendMail.prepare?.()]);
    },

    async send(to, message, language, signal) {
      const mail = await mailIn(language, message);
      return sendMail({ ...sender, ...mail, to: asciiEmail(to), kind: message.kind }, signal);
    },
  };
}

/**
 * The mail with the one-time password, or the notice to the owner of the address. Both are made every time: how long a
 * request takes does not show whose address it is.
 */
export function otpMail(message: Message, translation: Translation, brand: Brand): FramedMail {
  const code = codeMail(message.kind === 'code' ? message.code : '', translation, brand);
  const notice = ownerMail(translation, brand);
  return message.kind === 'code' ? code : notice;
}

/** Subject and preheader do not have the code: lock screens show them. */
function codeMail(code: string, translation: Translation, brand: Brand): FramedMail {
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

function ownerMail(translation: Translation, brand: Brand): FramedMail {
  const phrases = translation.ownerMail;
  const what = richPhrase(phrases.what, { brand: isolatedValue(brand.name, translation) });
  return framedMail({
    translation,
    brand,
    subject: fill(phrases.subject, { brand: brand.name }),
    preheader: what.text,
    blocks: [
      mailBlock.heading(phrases.heading),
      mailBlock.paragraph(what),
      mailBlock.paragraph(richPhrase(phrases.ifYou)),
      mailBlock.paragraph(richPhrase(phrases.ifNotYou)),
    ],
  });
}
