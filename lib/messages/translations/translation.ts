import type { VoiceId } from '../providers.ts';

/** A phrase that must say `{brand}`, or whichever placeholder is named: leaving it out is a type error. */
type Saying<Placeholder extends string> = `${string}{${Placeholder}}${string}`;

/** A span of minutes, `{n}`, by the plural categories of the language; in the case that durations stand in there. */
type MinuteWords = { other: Saying<'n'> } & Partial<Record<Intl.LDMLPluralRule, string>>;

/** Everything that is said in one language. */
export interface Translation {
  /** The BCP 47 language subtag; the name of the file. */
  language: string;
  /** Absent where the language is written from left to right. */
  direction?: 'rtl';
  /** Meta's code of the language, under which the deployment's message templates are approved. */
  whatsapp: string;
  /** The CSS of mails, where lines must not end in the middle of a phrase or word. */
  wordBreak?: 'auto-phrase' | 'keep-all';
  minutes: MinuteWords;
  codeMail: {
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
  /** The mail and the popup about a new trading account; the headings are the popup's titles too. */
  account: {
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
  };
  /** The end of every mail. */
  footer: {
    /** Ends with the address, so that it can be copied. */
    support: Saying<'email'>;
    automatic: Saying<'brand'>;
  };
  voice: VoiceId;
  /** What the voice says in a call. Absent where `SendVoiceMessage` has no voice of the language: such calls are in English. */
  call?: CallTranslation;
}

/** The code follows `code`, and once more `again`. */
export interface CallTranslation {
  greeting: Saying<'brand'>;
  code: string;
  again: string;
  end: Saying<'minutes'>;
  ownerNotice: Saying<'brand'>;
}

/** Puts values in the place of `{placeholders}`, in one pass: a value that itself looks like a placeholder stays as it is. */
export function fill(phrase: string, values: Readonly<Record<string, string>>): string {
  return phrase.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
}

/** Kept, because the rules of plurals take long to make. */
const spans = new Map<string, string>();

/** A span of minutes in words, such as `10 minutes`. */
export function minutesIn({ language, minutes }: Pick<Translation, 'language' | 'minutes'>, count: number): string {
  const key = `${language} ${count}`;
  const known = spans.get(key);
  if (known !== undefined) return known;
  const form = new Intl.PluralRules(language).select(count);
  const span = fill(minutes[form] ?? minutes.other, { n: String(count) });
  spans.set(key, span);
  return span;
}
