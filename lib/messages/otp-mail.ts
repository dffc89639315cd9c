import type { Brand } from './brand.ts';
import { pickLanguage } from './language.ts';
import { framedMail, isolated, type Mail, rich } from './mail-frame.ts';
import type { Message } from './message.ts';
import { fill, minutesIn, OTP_WORDS } from './words.ts';

/**
 * The mail with the one-time password, or the notice to the owner of the address. Neither its subject nor its preview
 * holds the code: they stand on locked screens.
 */
export function otpMail(message: Message, language: string | undefined, brand: Brand): Mail {
  const picked = pickLanguage(language);
  const words = OTP_WORDS[picked];
  const name = isolated(brand.name, picked);
  if (message.kind === 'owner_notice') {
    const { ownerMail: says } = words;
    const what = rich(says.what, { brand: name });
    return framedMail({
      language: picked,
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
  const { mail: says } = words;
  const expiry = rich(says.expiry, { minutes: minutesIn(picked, message.validMinutes) });
  return framedMail({
    language: picked,
    brand,
    subject: fill(says.subject, { brand: brand.name }),
    preheader: expiry.text,
    blocks: [
      { kind: 'heading', words: says.heading },
      { kind: 'paragraph', words: rich(says.intro, { brand: name }) },
      { kind: 'code', code: message.code },
      { kind: 'paragraph', words: expiry },
      { kind: 'paragraph', words: rich(says.secrecy) },
      { kind: 'note', heading: says.notYouHeading, words: rich(says.notYou) },
    ],
  });
}
