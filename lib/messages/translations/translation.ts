import { CODE_VALID_MINUTES } from '../../validators/otp-types.ts';

/** A phrase that must have `{brand}`, or another placeholder: leaving it out is a type error. */
type Phrase<Placeholder extends string> = `${string}{${Placeholder}}${string}`;

/** All phrases in one language. */
export interface Translation {
  /** The BCP 47 tag; the name of the file. */
  language: string;
  /** The direction of the script. Absent: from left to right. */
  direction?: 'rtl';
  /** Meta's code of the language, under which the deployment's message template is approved. Absent: `language`. */
  whatsapp?: string;
  /** CSS of mails, for languages whose lines must not end inside a phrase or word. */
  wordBreak?: 'auto-phrase' | 'keep-all';
  /** How long a code is valid, `{n}` minutes: in the plural form of five to ten, and the case for durations. */
  minutes: Phrase<'n'>;
  codeMail: {
    subject: Phrase<'brand'>;
    heading: string;
    intro: Phrase<'brand'>;
    expiry: Phrase<'minutes'>;
    secrecy: string;
    notYouHeading: string;
    notYou: string;
  };
  /**
   * Wordings from the fullest to the shortest: the first that fits one part is sent. Those of languages in Latin script
   * keep to the letters of GSM 03.38 (160 characters) where the language can be written well with them; all others have
   * 70 characters. The last wording must fit next to a name of the longest length.
   */
  sms: {
    code: readonly (Phrase<'brand'> & Phrase<'code'>)[];
    /** The code next to a long WebOTP domain, which then says whose code it is. */
    codeAlone: Phrase<'code'>;
  };
  /** The mail and the popup about a new trading account; the headings are the popup's titles too. */
  account: {
    subject: Phrase<'brand'> & Phrase<'login'>;
    heading: string;
    demoHeading: string;
    intro: Phrase<'brand'>;
    demoIntro: Phrase<'brand'>;
    login: string;
    version: string;
    server: string;
    group: string;
    leverage: string;
    readonly: string;
    passwords: string;
    notYou: string;
    popUp: Phrase<'login'>;
  };
  /** The end of every mail. */
  footer: {
    /** The phrase ends with the address, so that people can copy it. */
    support: Phrase<'email'>;
    automatic: Phrase<'brand'>;
  };
  voice: VoiceId;
  /** The phrases of a call. Absent if `SendVoiceMessage` has no voice for the language: such calls are in English. */
  call?: CallTranslation;
}

/** The voices of Amazon Polly that a call may use, by their names at AWS. */
type VoiceId =
  | 'BIANCA'
  | 'CAMILA'
  | 'EWA'
  | 'FILIZ'
  | 'JOANNA'
  | 'LEA'
  | 'LUCIA'
  | 'RAVEENA'
  | 'SEOYEON'
  | 'TAKUMI'
  | 'TATYANA'
  | 'VICKI'
  | 'ZEINA'
  | 'ZHIYU';

/** The code is spoken after `code` and after `again`. */
export interface CallTranslation {
  greeting: Phrase<'brand'>;
  code: string;
  again: string;
  end: Phrase<'minutes'>;
}

/** Replaces `{placeholders}` by values in one pass: a value that looks like a placeholder stays as it is. */
export function fill(phrase: string, values: Readonly<Record<string, string>>): string {
  return phrase.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
}

/** How long a code is valid, such as `10 minutes`. */
export function validity({ minutes }: Translation): string {
  return fill(minutes, { n: String(CODE_VALID_MINUTES) });
}
