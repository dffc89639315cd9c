import type { Language } from './language.ts';
import * as ar from './words/ar.ts';
import * as de from './words/de.ts';
import * as en from './words/en.ts';
import * as es from './words/es.ts';
import * as fr from './words/fr.ts';
import * as hi from './words/hi.ts';
import * as id from './words/id.ts';
import * as it from './words/it.ts';
import * as ja from './words/ja.ts';
import * as ko from './words/ko.ts';
import * as ms from './words/ms.ts';
import * as pl from './words/pl.ts';
import * as pt from './words/pt.ts';
import * as ru from './words/ru.ts';
import * as th from './words/th.ts';
import * as tr from './words/tr.ts';
import * as vi from './words/vi.ts';
import * as zh from './words/zh.ts';

/** A phrase that must say `{brand}`, or whichever placeholder is named: leaving it out is a type error. */
type Saying<Placeholder extends string> = `${string}{${Placeholder}}${string}`;

/** A span of minutes, `{n}`, by the plural categories of the language; in the case that durations stand in there. */
type MinuteWords = { other: Saying<'n'> } & Partial<Record<Intl.LDMLPluralRule, string>>;

/** What every mail says. */
export interface FrameWords {
  /** Ends with the address, so that it can be copied. */
  support: Saying<'email'>;
  automatic: Saying<'brand'>;
}

/** What the one-time password, and the notice to an owner, are told with. */
export interface OtpWords {
  minutes: MinuteWords;
  mail: {
    subject: Saying<'brand'>;
    heading: string;
    intro: Saying<'brand'>;
    expiry: Saying<'minutes'>;
    secrecy: string;
    notYouHeading: string;
    notYou: string;
  };
  ownerMail: {
    subject: Saying<'brand'>;
    heading: string;
    what: Saying<'brand'>;
    ifYou: string;
    ifNotYou: string;
  };
  /**
   * Wordings from the fullest to the shortest: the first that fits one part is sent. Those of languages in Latin script
   * keep to the letters of GSM 03.38 (160 characters) where the language can be written well with them; all others have
   * 70 characters. The last wording must fit beside a name of the longest length.
   */
  sms: {
    code: readonly (Saying<'brand'> & Saying<'code'>)[];
    /** For a long WebOTP domain, which then says whose code it is. */
    codeAlone: Saying<'code'>;
    ownerNotice: readonly Saying<'brand'>[];
  };
}

/** What is spoken in a call. The code follows `code`, and once more `again`. */
export interface VoiceWords {
  greeting: Saying<'brand'>;
  code: string;
  again: string;
  end: Saying<'minutes'>;
  ownerNotice: Saying<'brand'>;
}

/** What a client is told of a new trading account, in a mail and in a popup; the headings are the popup's titles too. */
export interface AccountWords {
  subject: Saying<'brand'> & Saying<'login'>;
  heading: string;
  demoHeading: string;
  intro: Saying<'brand'>;
  demoIntro: Saying<'brand'>;
  login: string;
  version: string;
  server: string;
  group: string;
  leverage: string;
  readonly: string;
  passwords: string;
  notYou: string;
  popUp: Saying<'login'>;
}

export const FRAME_WORDS: Record<Language, FrameWords> = {
  en: en.frame,
  es: es.frame,
  pt: pt.frame,
  fr: fr.frame,
  de: de.frame,
  it: it.frame,
  pl: pl.frame,
  ru: ru.frame,
  tr: tr.frame,
  ar: ar.frame,
  hi: hi.frame,
  zh: zh.frame,
  ja: ja.frame,
  ko: ko.frame,
  vi: vi.frame,
  th: th.frame,
  id: id.frame,
  ms: ms.frame,
};

export const OTP_WORDS: Record<Language, OtpWords> = {
  en: en.otp,
  es: es.otp,
  pt: pt.otp,
  fr: fr.otp,
  de: de.otp,
  it: it.otp,
  pl: pl.otp,
  ru: ru.otp,
  tr: tr.otp,
  ar: ar.otp,
  hi: hi.otp,
  zh: zh.otp,
  ja: ja.otp,
  ko: ko.otp,
  vi: vi.otp,
  th: th.otp,
  id: id.otp,
  ms: ms.otp,
};

export const ACCOUNT_WORDS: Record<Language, AccountWords> = {
  en: en.account,
  es: es.account,
  pt: pt.account,
  fr: fr.account,
  de: de.account,
  it: it.account,
  pl: pl.account,
  ru: ru.account,
  tr: tr.account,
  ar: ar.account,
  hi: hi.account,
  zh: zh.account,
  ja: ja.account,
  ko: ko.account,
  vi: vi.account,
  th: th.account,
  id: id.account,
  ms: ms.account,
};

/** Puts values in the place of `{placeholders}`, in one pass: a value that itself looks like a placeholder stays as it is. */
export function fill(phrase: string, values: Readonly<Record<string, string | undefined>>): string {
  return phrase.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
}

/** Kept, because they take long to make. */
const pluralRules = new Map<Language, Intl.PluralRules>();

/** A span of minutes in words, such as `10 minutes`. */
export function minutesIn(language: Language, minutes: number): string {
  const rules = pluralRules.get(language) ?? new Intl.PluralRules(language);
  pluralRules.set(language, rules);
  const words = OTP_WORDS[language].minutes;
  const phrase = words[rules.select(minutes)] ?? words.other;
  return fill(phrase, { n: String(minutes) });
}
