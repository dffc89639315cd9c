import type { Brand } from './brand.ts';
import { smsParts } from './gsm7.ts';
import { pickLanguage } from './language.ts';
import type { Message } from './message.ts';
import { fill, minutesIn, OTP_WORDS } from './words.ts';

/** The longest name that a text message has room for in every script, in UTF-16 units; a longer one is cut. */
export const SMS_BRAND_LENGTH = 24;

/**
 * The text message, in one part whatever the language. What does not fit is left out in this order: explanations, the
 * brand's name (the domain names it then), the line for browsers.
 * @param webOtpDomain the site that may fill in the code by itself (https://wicg.github.io/sms-one-time-codes/)
 */
export function smsText(message: Message, language: string | undefined, brand: Brand, webOtpDomain?: string): string {
  const picked = pickLanguage(language);
  const words = OTP_WORDS[picked].sms;
  const name = shortName(brand.name);
  if (message.kind === 'owner_notice') return firstThatFits(words.ownerNotice.map((it) => fill(it, { brand: name })));

  const { code } = message;
  const values = { brand: name, code, minutes: minutesIn(picked, message.validMinutes) };
  const wordings = [...words.code, words.codeAlone].map((wording) => fill(wording, values));
  const bound = webOtpDomain === undefined ? [] : wordings.map((it) => `${it}\n@${webOtpDomain} #${code}`);
  return firstThatFits([...bound, ...wordings]);
}

function firstThatFits(texts: string[]): string {
  return texts.find((text) => smsParts(text) === 1) ?? texts.at(-1) ?? '';
}

/** The name on one line, cut between words where it is too long, or else between characters as people see them. */
function shortName(name: string): string {
  const line = name.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  if (line.length <= SMS_BRAND_LENGTH) return line;
  const words = line.slice(0, SMS_BRAND_LENGTH + 1).lastIndexOf(' ');
  if (words > 0) return line.slice(0, words);
  let cut = '';
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    if (cut.length + segment.length > SMS_BRAND_LENGTH) break;
    cut += segment;
  }
  return cut;
}
