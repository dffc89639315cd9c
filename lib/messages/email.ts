import type { Brand } from '../validators/deployment.ts';
import { asciiEmail } from '../validators/email.ts';
import { type EmailSettings, type FramedMail, framedMail, isolated, mailSender, rich } from './mail.ts';
import type { Message, OtpChannel } from './message.ts';
import type { SendMail } from './providers.ts';
import { findTranslation } from './translations/languages.ts';
import { fill, minutesText, type Translation } from './translations/translation.ts';

/** The channel `email`: mails through SES. */
export function emailChannel(settings: EmailSettings, brand: Brand, sendMail: SendMail): OtpChannel {
  const sender = mailSender(settings, brand);
  return {
    async prepare(language) {
      await Promise.all([findTranslation(language), sendMail.prepare?.()]);
    },

    async send(to, message, language, signal) {
      const mail = otpMail(message, await findTranslation(language), brand);
      return sendMail({ ...sender, ...mail, to: asciiEmail(to), kind: message.kind }, signal);
    },
  };
}

/**
 * The mail with the one-time password, or the notice to the owner of the address. Neither its subject nor its preview
 * holds the code, because locked screens show both.
 */
export function otpMail(message: Message, translation: Translation, brand: Brand): FramedMail {
  if (message.kind === 'owner_notice') return ownerMail(translation, brand);
  return codeMail(message.code, minutesText(translation, message.validMinutes), translation, brand);
}

/** Subject and preheader do not have the code: lock screens show them. */
function codeMail(code: string, minutes: string, translation: Translation, brand: Brand): FramedMail {
  const phrases = translation.codeMail;
  const expiry = rich(phrases.expiry, { minutes });
  return framedMail({
    translation,
    brand,
    subject: fill(phrases.subject, { brand: brand.name }),
    preheader: expiry.text,
    blocks: [
      { kind: 'heading', text: phrases.heading },
      { kind: 'paragraph', content: rich(phrases.intro, { brand: isolated(brand.name, translation) }) },
      { kind: 'code', code },
      { kind: 'paragraph', content: expiry },
      { kind: 'paragraph', content: rich(phrases.secrecy) },
      { kind: 'note', heading: phrases.notYouHeading, content: rich(phrases.notYou) },
    ],
  });
}

function ownerMail(translation: Translation, brand: Brand): FramedMail {
  const phrases = translation.ownerMail;
  const what = rich(phrases.what, { brand: isolated(brand.name, translation) });
  return framedMail({
    translation,
    brand,
    subject: fill(phrases.subject, { brand: brand.name }),
    preheader: what.text,
    blocks: [
      { kind: 'heading', text: phrases.heading },
      { kind: 'paragraph', content: what },
      { kind: 'paragraph', content: rich(phrases.ifYou) },
      { kind: 'paragraph', content: rich(phrases.ifNotYou) },
    ],
  });
}
