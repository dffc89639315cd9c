import type { Brand } from '../validators/deployment.ts';
import { asciiEmail } from '../validators/email.ts';
import { type EmailSettings, type FramedMail, framedMail, isolated, mailSender, rich } from './mail.ts';
import type { Message, OtpChannel } from './message.ts';
import type { SendMail } from './providers.ts';
import { findTranslation } from './translations/languages.ts';
import { fill, type Translation, validity } from './translations/translation.ts';

/** The channel `email`: mails through SES. */
export function emailChannel(settings: EmailSettings, brand: Brand, sendMail: SendMail): OtpChannel {
  const sender = mailSender(settings, brand);
  const made = new Map<Translation, OtpMails>();
  const mailsIn = async (language: string | undefined) => {
    const translation = await findTranslation(language);
    const mails = made.get(translation) ?? otpMails(translation, brand);
    made.set(translation, mails);
    return mails;
  };
  return {
    async prepare(language) {
      await Promise.all([mailsIn(language), sendMail.prepare?.()]);
    },

    async send(to, message, language, signal) {
      const mail = (await mailsIn(language))(message);
      return sendMail({ ...sender, ...mail, to: asciiEmail(to), kind: message.kind }, signal);
    },
  };
}

type OtpMails = (message: Message) => FramedMail;

/** In place of the code: no setting and no phrase has this character. */
const CODE_PLACE = '\x01';

/**
 * The mail with the one-time password, and the notice to the owner of the address. Both are made once for a language,
 * and at the same time: how long a request takes does not show whose address it is.
 */
export function otpMails(translation: Translation, brand: Brand): OtpMails {
  const { subject, text, html } = codeMail(translation, brand);
  const [[textBefore, textAfter], [htmlBefore, htmlAfter]] = [text.split(CODE_PLACE), html.split(CODE_PLACE)];
  const notice = ownerMail(translation, brand);
  return (message) =>
    message.kind === 'owner_notice'
      ? notice
      : {
          subject,
          text: `${textBefore}${message.code}${textAfter}`,
          html: `${htmlBefore}${message.code}${htmlAfter}`,
        };
}

/** Subject and preheader do not have the code: lock screens show them. */
function codeMail(translation: Translation, brand: Brand): FramedMail {
  const minutes = validity(translation);
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
      { kind: 'code', code: CODE_PLACE },
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
