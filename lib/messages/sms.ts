import type { SmsSettings } from '../config/channel-settings.ts';
import type { Brand } from '../config/deployment.ts';
import { cutText } from '../validators/primitives.ts';
import type { OtpChannel, Publish } from './message.ts';
import { findTranslation } from './translations/languages.ts';
import { fill, type Translation, validity } from './translations/translation.ts';

/** The channel `sms`: transactional texts through SNS. */
export function smsChannel(settings: SmsSettings, brand: Brand, publish: Publish): OtpChannel {
  const attributes = {
    'AWS.SNS.SMS.SMSType': { type: 'String', value: 'Transactional' },
    'AWS.SNS.SMS.SenderID': { type: 'String', value: settings.senderId },
    'AWS.SNS.SMS.MaxPrice': { type: 'Number', value: settings.maxPrice },
    'AWS.MM.SMS.OriginationNumber': { type: 'String', value: settings.originationNumber },
  } as const;
  return {
    async send(to, code, language, signal) {
      const text = smsText(code, await findTranslation(language), brand, settings.webOtpDomain);
      return publish({ phoneNumber: to, message: text, attributes }, signal);
    },
  };
}

/** The longest brand name that fits a text message in every script, in UTF-16 units. A longer one is cut. */
export const SMS_BRAND_LENGTH = 24;

/**
 * The text message, in one part in every language. If it is too long, these are left out in turn: explanations, the
 * brand's name (the domain remains), the line for browsers.
 * @param webOtpDomain the site on which browsers fill in the code (https://wicg.github.io/sms-one-time-codes/)
 */
export function smsText(code: string, translation: Translation, brand: Brand, webOtpDomain?: string): string {
  const { sms } = translation;
  const name = shortName(brand.name);
  const values = { brand: name, code, minutes: validity(translation) };
  const wordings = [...sms.code, sms.codeAlone].map((wording) => fill(wording, values));
  const bound = webOtpDomain === undefined ? [] : wordings.map((it) => `${it}\n@${webOtpDomain} #${code}`);
  return firstThatFits([...bound, ...wordings]);
}

/** The first text that fits one part, or else the last, which is the shortest. */
function firstThatFits(texts: string[]): string {
  return texts.reduce((fuller, shorter) => (fitsOnePart(fuller) ? fuller : shorter));
}

/** The name on one line. A name that is too long is cut between words, or else between visible characters. */
function shortName(name: string): string {
  const line = name.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  if (line.length <= SMS_BRAND_LENGTH) return line;
  const lastSpace = line.slice(0, SMS_BRAND_LENGTH + 1).lastIndexOf(' ');
  return lastSpace > 0 ? line.slice(0, lastSpace) : cutText(line, SMS_BRAND_LENGTH);
}

/** The basic character set of GSM 03.38 (3GPP TS 23.038, 6.2.1), without the escape. */
const BASIC = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
/** The extension table of GSM 03.38 (6.2.1.1): each counts as two characters, with the escape. */
const EXTENSION = new Set('\f^{}\\[~]|€');

/** The number of 7-bit characters of a text; undefined if it has a character that is not in GSM 03.38. */
export function gsm7Length(text: string): number | undefined {
  let length = 0;
  for (const character of text) {
    if (BASIC.has(character)) length += 1;
    else if (EXTENSION.has(character)) length += 2;
    else return undefined;
  }
  return length;
}

/** Whether a text is sent and billed as one part: at most 160 7-bit characters, or 70 UTF-16 units. */
export function fitsOnePart(text: string): boolean {
  const septets = gsm7Length(text);
  return septets === undefined ? text.length <= 70 : septets <= 160;
}
