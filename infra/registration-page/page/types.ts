import type { Language } from '../../../lib/messages/translations/languages.ts';
import type { PageText } from '../../../lib/validators/form.ts';
import type { Channel } from '../../../lib/validators/otp-types.ts';
import type { ViolationRule } from '../../../lib/validators/primitives.ts';
import type { PageProblem } from '../../openapi/problems.ts';
import type { PROBLEM_ENDS } from './machine.js';
import type { words as english } from './words/en.js';

export type { Channel, PageProblem, PageText, ViolationRule };

/** `client`: the code was right, and its address belongs to a client. */
export type State = 'form' | 'sending' | 'code' | 'resending' | 'confirming' | 'client' | 'done';

/** An act of a person or of the browser. `incomplete`: the page found errors before it sent anything. */
export type Act =
  | 'register'
  /** To the next part of a long form. */
  | 'next'
  | 'confirm'
  | 'again'
  /** The person asks for another code after a reload, which has forgotten the passwords and the documents. */
  | 'again_forgotten'
  | 'incomplete'
  | 'back'
  | 'enter_code'
  | 'typed'
  | 'reload';

/** How a request of the page ended: an event of the state machine. */
export type RequestEnd =
  | 'accepted'
  | 'invalid'
  | 'form_gone'
  | 'code_refused'
  | 'already_registered'
  | 'captcha_failed'
  | 'in_progress'
  | 'key_reused'
  | 'too_large'
  | 'too_many'
  | 'failed'
  | 'undelivered'
  | 'silent'
  | 'unreadable';
export type Event = Act | RequestEnd;

type ProblemEnds = typeof PROBLEM_ENDS;
/** The types of problems that are `invalid` and do not list the fields. */
export type PlacedProblem = Exclude<
  { [T in PageProblem]: ProblemEnds[T] extends 'invalid' ? T : never }[PageProblem],
  'validation_failed'
>;

type English = typeof english;
/** The sentences that tell a person what happened. */
type Sentence = keyof English['sentences'];
/** The sentences at a field. */
export type FieldSentence = keyof English['fields'];
export type Label = keyof English['labels'];

/** A language of `words/`, by the name of its file. */
type PageLanguage = Lowercase<Language>;
/** The name of a channel in every language, or `usual` in those that write it alike. */
export type ChannelName = Record<PageLanguage, string> | (Partial<Record<PageLanguage, string>> & { usual: string });

/** The words of the page in one language. */
export type Words = LanguageWords & { channels: Record<Channel, string> };

/** The words that a file in `words/` has in its language: those of `en.js`. Braces hold the place of a value. */
export type LanguageWords = English & { direction?: 'rtl' };

/** The step that follows from an event in a state. */
export interface Step {
  to: State;
  says?: Sentence;
  /** `new`: the next request is another one, even if its body is the same. */
  key?: 'new';
  /** The part of a long form that is shown. Absent: the same, or that of the first error. */
  part?: 'first' | 'next' | 'before';
  /** The buttons that wait for the seconds of the answer, or of the limit after a message; `off` ends a wait. */
  waits?: readonly Button[];
  ends?: Button;
}
export type Button = 'register' | 'again' | 'confirm';

export interface FieldError {
  pointer: string;
  /** Absent: the sentence of the page says what is wrong. */
  rule?: FieldSentence | undefined;
  /** The bounds of the field, such as `≥ 8`. */
  bounds?: string | undefined;
}

/** The data of the page's state machine. It holds nothing that a person typed. */
export interface MachineContext {
  state: State;
  /** The part of a long form that is shown, from 0. */
  part: number;
  says: Sentence | undefined;
  errors: readonly FieldError[];
  key: string;
  /** The registrations whose codes were sent, the newest first. A code is tried with each. */
  ids: readonly string[];
  /** Epoch milliseconds until which a button waits. */
  waits: Record<Button, number>;
  /** The seconds of the last 429. */
  seconds: number;
}

export interface Details {
  now: number;
  newKey: () => string;
  errors?: readonly FieldError[];
  /** The part of the form with the first error. */
  part?: number | undefined;
  /** The `registration-id` of an accepted request. */
  id?: string | undefined;
  /** The wait that `Retry-After` asks for. */
  seconds?: number | undefined;
  /** The field that was typed into. */
  pointer?: string;
}

export interface Config {
  /** The base URL of the API, without a slash at its end. */
  api: string;
  /** The form, as `form.js` has it. */
  form: Form;
  /** The name of the broker, for the title of the browser's tab and the logo. */
  brand?: string;
  /** The address of a picture above the form. */
  logo?: string;
  /** Absent: the color scheme of the surrounding page. `both`: that of the person's system. */
  theme?: 'light' | 'dark' | 'both';
  /** The level of the heading; absent: 1. */
  headingLevel?: 1 | 2 | 3 | 4 | 5 | 6;
  /** A BCP 47 tag, of the page and of the message; absent: the browser's languages. */
  language?: string;
  captcha?: Captcha;
  /** The channels that are offered; absent: all. */
  channels?: readonly Channel[];
  /** The countries that lists show first, as ISO 3166-1 alpha-2 codes. */
  countries?: readonly string[];
  /** Fields of the form, and the parameters of the page's link that fill them in. */
  fromLink?: Readonly<Record<string, string>>;
  /** Where a client logs in. */
  login?: string;
  /** The page to continue with after the registration. */
  afterwards?: string;
  /** What happens after the registration; absent: a sentence of the page. */
  next?: PageText;
  /** Called at each step, for analytics. It gets nothing that a person typed. */
  onStep?: (step: { from: State; event: Event; to: State; says?: Sentence | undefined }) => void;
}

/** A captcha's widget. */
export interface Captcha {
  /**
   * Shows the widget in an element.
   * @returns a function that asks for another token: each is valid once
   */
  (
    element: HTMLElement,
    onToken: (token: string | undefined) => void,
    language: string,
  ): (() => void) | Promise<() => void>;
  /** The origins that it loads from, by the directives of a Content Security Policy. */
  sources?: Partial<Record<'script' | 'frame' | 'style' | 'connect', readonly string[]>>;
}

export interface FieldSchema {
  title?: string;
  type?: string | string[];
  enum?: string[];
  const?: unknown;
  default?: unknown;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: FieldSchema;
  properties?: Record<string, FieldSchema>;
  required?: string[];
}

export interface UiSchema {
  'ui:widget'?: string;
  'ui:autocomplete'?: string;
  'ui:inputmode'?: string;
  /** Texts with links, as the form's record has them. */
  'ui:texts'?: { label?: PageText; help?: PageText; options?: Record<string, PageText> };
  'ui:options'?: { accept?: string; inputType?: string; countries?: boolean; version?: string };
  items?: UiSchema;
  [member: string]: unknown;
}

export interface Form {
  properties: Record<string, FieldSchema>;
  required: string[];
  uiSchema: Record<string, UiSchema> & {
    'ui:order': string[];
    'ui:options': {
      maxDocuments: number;
      maxDocumentBytes: number;
      maxDocumentsBytes: number;
      /** A mobile number of each country, such as `+44 7400 123456`. */
      phones: Record<string, string>;
    };
  };
}
