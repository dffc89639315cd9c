import type { Language } from '../../../lib/messages/translations/languages.ts';
import type { Channel } from '../../../lib/validators/otp-types.ts';
import type { ViolationRule } from '../../../lib/validators/primitives.ts';
import type { PageProblem } from '../../openapi/problems.ts';
import type { PROBLEM_ENDS } from './machine.js';

export type { Channel, PageProblem, ViolationRule };

export type State = 'form' | 'sending' | 'code' | 'resending' | 'confirming' | 'done';

/** An act of a person or of the browser. `incomplete`: the page found errors before it sent anything. */
export type Act =
  | 'register'
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

/** The sentences that tell a person what happened. */
type Sentence = Exclude<RequestEnd, 'accepted' | 'invalid'> | 'correct' | 'maybe_sent' | 'type_again';

/** The sentences at a field. */
export type FieldSentence =
  | 'required'
  | 'choose'
  | 'format'
  | 'characters'
  | 'length'
  | 'too_small'
  | 'too_large_number'
  | 'password_mismatch'
  | 'common'
  | 'phone'
  | 'number_type'
  | 'country_not_served'
  | 'date'
  | 'country'
  | 'must_be_true'
  | 'media_type'
  | 'too_many_values'
  | 'file_size'
  | 'six_digits'
  | 'no_referrer'
  | 'no_channel';

export type Label =
  | 'name'
  | 'email'
  | 'phone'
  | 'country_code'
  | 'number'
  | 'otp_type'
  | 'password'
  | 'repeat_password'
  | 'referrer_id'
  | 'id'
  | 'country'
  | 'state'
  | 'city'
  | 'code';

type Text =
  /** The heading of the form. */
  | 'open_account'
  | 'optional'
  | 'choose_one'
  | 'one_a_line'
  | 'add'
  | 'remove'
  | 'register'
  | 'sending'
  | 'enter_code'
  | 'password_again'
  | 'confirm'
  | 'again'
  | 'again_ready'
  | 'back'
  | 'done'
  | 'done_text'
  | 'continue'
  | 'error';

/** A language of `words/`, by the name of its file. */
type PageLanguage = Lowercase<Language>;
/** The name of a channel in every language, or `usual` in those that write it alike. */
export type ChannelName = Record<PageLanguage, string> | (Partial<Record<PageLanguage, string>> & { usual: string });

/** The words of the page in one language. */
export type Words = LanguageWords & { channels: Record<Channel, string> };

/** The words that a file in `words/` has in its language. Braces hold the place of a value. */
export interface LanguageWords {
  direction?: 'rtl';
  labels: Record<Label, string>;
  texts: Record<Text, string> & {
    version: `${string}{version}${string}`;
    /** How long a code is valid, in minutes. */
    code_valid: `${string}{n}${string}`;
    sent: `${string}{address}${string}`;
    perhaps_sent: `${string}{address}${string}`;
  };
  sentences: Record<Exclude<Sentence, 'too_many'>, string> & {
    too_many: `${string}{time}${string}`;
    code_or_password: string;
  };
  fields: Record<FieldSentence, string>;
}

/** The step that follows from an event in a state. */
export interface Step {
  to: State;
  says?: Sentence;
  /** `new`: the next request is another one, even if its body is the same. */
  key?: 'new';
  /** Whether a code was sent, certainly or perhaps. */
  code?: 'sent' | 'perhaps';
  /** The buttons that wait for the seconds of the answer, or of the limit after a message; `off` ends a wait. */
  waits?: readonly Button[];
  ends?: Button;
}
export type Button = 'register' | 'again' | 'confirm';

export interface FieldError {
  pointer: string;
  /** Absent: the sentence of the page says what is wrong. */
  rule?: FieldSentence | undefined;
  /** The bounds of the field, such as `8–128`. */
  bounds?: string | undefined;
}

/** The data of the page's state machine. It holds nothing that a person typed. */
export interface MachineContext {
  state: State;
  says: Sentence | undefined;
  errors: readonly FieldError[];
  key: string;
  /** The codes that were certainly sent. */
  sent: number;
  /** Whether a code was sent, or may have been: the step of the code can be reached. */
  hasCode: boolean;
  /** Epoch milliseconds until which a button waits. */
  waits: Record<Button, number>;
  /** The seconds of the last 429. */
  seconds: number;
}

export interface Details {
  now: number;
  newKey: () => string;
  errors?: readonly FieldError[];
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
  /** The name of the broker, for the title of the browser's tab. */
  brand?: string;
  /** A BCP 47 tag; absent: the browser's languages. */
  language?: string;
  captcha?: Captcha;
  /** The channels that are offered; absent: all. */
  channels?: readonly Channel[];
  /** Fields of the form, and the parameters of the page's link that fill them in. */
  fromLink?: Readonly<Record<string, string>>;
  /** The page to continue with. */
  afterwards?: string;
  /** Called at each step, for analytics. It gets nothing that a person typed. */
  onStep?: (step: { from: State; event: Event; to: State; says?: Sentence | undefined }) => void;
}

/**
 * Shows a captcha in an element.
 * @returns a function that asks for another token: each is valid once
 */
export type Captcha = (
  element: HTMLElement,
  onToken: (token: string | undefined) => void,
  language: string,
) => (() => void) | Promise<() => void>;

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
  /** The label in several languages. */
  'ui:titles'?: Record<string, string>;
  'ui:options'?: { accept?: string; inputType?: string; countries?: boolean; version?: string };
  items?: UiSchema;
  [member: string]: unknown;
}

export interface Form {
  properties: Record<string, FieldSchema>;
  required: string[];
  uiSchema: Record<string, UiSchema> & {
    'ui:order': string[];
    'ui:options': { maxDocuments: number; maxDocumentBytes: number; maxDocumentsBytes: number };
  };
}
