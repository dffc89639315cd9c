import type { Brand } from '../validators/deployment.ts';
import { asciiEmail } from '../validators/email.ts';
import { type EmailSettings, type FramedMail, fillerOf, framedMail, HOLES, isolated, rich, sentBy } from './mail.ts';
import type { Message, OtpChannel } from './message.ts';
import type { SendMail } from './providers.ts';
import { wordsFor } from './translations/languages.ts';
import { fill, minutesIn, type Translation } from './translations/translation.ts';

/** The channel `email`: mails through SES. */
export function emailChannel(settings: EmailSettings, brand: Brand, sendMail: SendMail): OtpChannel {
  const sender = sentBy(settings, brand);
  const made = new Map<Translation, OtpMails>();
  const mailsIn = async (language: string | undefined) => {
    const words = await wordsFor(language);
    const mails = made.get(words) ?? otpMails(words, brand);
    made.set(words, mails);
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

/**
 * The mail with the one-time password, and the notice to the owner of the address. Neither its subject nor its preview
 * holds the code: they stand on locked screens. Both are made at once, whichever is sent: whose address it is shows in no time.
 */
export function otpMails(words: Translation, brand: Brand): OtpMails {
  const fillCode = fillerOf(codeMail(words, brand));
  const notice = ownerMail(words, brand);
  return (message) =>
    message.kind === 'code' ? fillCode(message.code, minutesIn(words, message.validMinutes)) : notice;
}

function codeMail(words: Translation, brand: Brand) {
  const says = words.codeMail;
  const expiry = rich(says.expiry, { minutes: HOLES.minutes });
  return framedMail({
    words,
    brand,
    subject: fill(says.subject, { brand: brand.name }),
    preheader: expiry.text,
    blocks: [
      { kind: 'heading', words: says.heading },
      { kind: 'paragraph', words: rich(says.intro, { brand: isolated(brand.name, words) }) },
      { kind: 'code', code: HOLES.code },
      { kind: 'paragraph', words: expiry },
      { kind: 'paragraph', words: rich(says.secrecy) },
      { kind: 'note', heading: says.notYouHeading, words: rich(says.notYou) },
    ],
  });
}

function ownerMail(words: Translation, brand: Brand) {
  const says = words.ownerMail;
  const what = rich(says.what, { brand: isolated(brand.name, words) });
  return framedMail({
    words,
    brand,
    subject: fill(says.subject, { brand: brand.name }),
    preheader: what.text,
    blocks: [
      { kind: 'heading', words: says.heading },
      { kind: 'paragraph', words: what },
      { kind: 'paragraph', words: rich(says.ifYou) },
      { kind: 'paragraph', words: rich(says.ifNotYou) },
    ],
  });
}
