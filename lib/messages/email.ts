import type { Brand } from '../validators/deployment.ts';
import { asciiEmail } from '../validators/email.ts';
import { type EmailSettings, framedMail, isolated, rich, sentBy } from './mail.ts';
import type { Message, OtpChannel } from './message.ts';
import type { Mail, SendMail } from './providers.ts';
import { wordsFor } from './words/languages.ts';
import { fill, minutesIn, type Words } from './words/words.ts';

/** The channel `email`: mails through SES. */
export function emailChannel(settings: EmailSettings, brand: Brand, sendMail: SendMail): OtpChannel {
  const sender = sentBy(settings, brand);
  return {
    async prepare(language) {
      await Promise.all([wordsFor(language), sendMail.prepare?.()]);
    },

    async send(to, message, language, signal) {
      const mail = otpMail(message, await wordsFor(language), brand);
      return sendMail({ ...sender, ...mail, to: asciiEmail(to), kind: message.kind }, signal);
    },
  };
}

/**
 * The mail with the one-time password, or the notice to the owner of the address. Neither its subject nor its preview
 * holds the code: they stand on locked screens.
 */
export function otpMail(message: Message, words: Words, brand: Brand): Pick<Mail, 'subject' | 'text' | 'html'> {
  return message.kind === 'code' ? codeMail(message, words, brand) : ownerMail(words, brand);
}

function codeMail({ code, validMinutes }: Message & { kind: 'code' }, words: Words, brand: Brand) {
  const says = words.codeMail;
  const expiry = rich(says.expiry, { minutes: minutesIn(words, validMinutes) });
  return framedMail({
    words,
    brand,
    subject: fill(says.subject, { brand: brand.name }),
    preheader: expiry.text,
    blocks: [
      { kind: 'heading', words: says.heading },
      { kind: 'paragraph', words: rich(says.intro, { brand: isolated(brand.name, words) }) },
      { kind: 'code', code },
      { kind: 'paragraph', words: expiry },
      { kind: 'paragraph', words: rich(says.secrecy) },
      { kind: 'note', heading: says.notYouHeading, words: rich(says.notYou) },
    ],
  });
}

function ownerMail(words: Words, brand: Brand) {
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
