import { Failure } from '../failure.ts';

/** Delivers one-time passwords; sends each at most once and throws `DeliveryFailure` otherwise. */
export interface OtpChannel {
  /** Prepares the next `send`: loads the translation, connects. Sends nothing. @param language as in `send` */
  prepare?(language: string | undefined): Promise<void>;
  /**
   * @param to an email address as typed, or a phone number in E.164
   * @param language BCP 47, as requested; the channel falls back to English
   * @param id identifies the message, for a provider that recognizes duplicates
   * @returns the provider's message id, which does not prove delivery
   */
  send(
    to: string,
    code: string,
    language: string | undefined,
    signal: AbortSignal,
    id?: string,
  ): Promise<{ messageId: string }>;
}

/** Why a message was not sent, or may not have been. */
export type DeliveryFailureKind =
  /** The request left, and no answer says what became of it: the message may be sent. It is never sent again. */
  | 'unknown_outcome'
  | 'refused_recipient'
  | 'opted_out'
  | 'blocked_country'
  /** This message was refused: its content, or a template that is missing. */
  | 'refused_message'
  /** Credentials, rights or settings. */
  | 'misconfigured'
  | 'over_budget'
  /** No connection, no time left, or an outage of the service. */
  | 'retryable'
  /** Too many messages at once. */
  | 'throttled';

/** The event of each failure. All of them are counted, with an alarm; `kind` tells them apart. */
export const SEND_FAILURE_EVENTS = {
  unknown_outcome: 'OtpOutcomeUnknown',
  refused_recipient: 'RecipientRefused',
  opted_out: 'RecipientRefused',
  blocked_country: 'RecipientRefused',
  refused_message: 'OtpDeliveryFailed',
  misconfigured: 'OtpDeliveryFailed',
  over_budget: 'OtpDeliveryFailed',
  retryable: 'OtpDeliveryFailed',
  throttled: 'OtpDeliveryFailed',
} as const satisfies Record<DeliveryFailureKind, string>;

export class DeliveryFailure extends Failure {
  override readonly name = 'DeliveryFailure';
  readonly kind: DeliveryFailureKind;

  constructor(kind: DeliveryFailureKind, reason: string, cause?: unknown) {
    super(reason, cause);
    this.kind = kind;
  }
}

/** A mail to one recipient. All addresses are in ASCII: SES takes international domains as punycode only. */
export interface Mail {
  from: { name: string; address: string };
  replyTo: string;
  to: string;
  subject: string;
  text: string;
  html: string;
  configurationSet?: string | undefined;
  /** The kind of mail for the sending statistics: ASCII letters, digits, `_` and `-`. */
  kind: string;
}

export interface SendMail {
  /** Sends at most once. @throws DeliveryFailure */
  (mail: Mail, signal: AbortSignal): Promise<{ messageId: string }>;
  /** Connects before the first mail. */
  prepare?(): Promise<void>;
}

/** One publication: a text to a phone number (E.164), or a message to the subscribers of a topic. */
type Publication = ({ phoneNumber: string } | { topicArn: string }) & {
  message: string;
  /** Attributes by name; those without a value are left out. */
  attributes: Record<string, { type: 'String' | 'Number'; value: string | undefined }>;
};

/** Publishes at most once. @throws DeliveryFailure */
export type Publish = (publication: Publication, signal: AbortSignal) => Promise<{ messageId: string }>;
