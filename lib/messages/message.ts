import { Failure } from '../failure.ts';

/** The one-time password, or the notice to a client whose address was used in a registration. */
export type Message = { kind: 'code'; code: string } | { kind: 'owner_notice' };

/** Delivers a message; sends at most once and throws `DeliveryFailure` otherwise. */
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
    message: Message,
    language: string | undefined,
    signal: AbortSignal,
    id?: string,
  ): Promise<{ messageId: string }>;
}

/**
 * Why a message was not sent. With every kind except `unknown_outcome`, certainly nothing was sent. After an unknown
 * outcome (the request left, no answer came) the message is never sent again automatically.
 */
export type DeliveryFailureKind =
  | 'retryable'
  /** Too many messages at once: it may be sent again after a moment. */
  | 'throttled'
  /** This message was refused, such as a template that is missing. Another one for the same recipient may pass. */
  | 'refused_message'
  | 'refused_recipient'
  | 'opted_out'
  | 'blocked_country'
  | 'over_budget'
  | 'misconfigured'
  | 'unknown_outcome';

export class DeliveryFailure extends Failure {
  override readonly name = 'DeliveryFailure';
  readonly kind: DeliveryFailureKind;

  constructor(kind: DeliveryFailureKind, reason: string, cause?: unknown) {
    super(reason, cause);
    this.kind = kind;
  }
}

/** A mail to one recipient. All addresses in ASCII: SES takes international domains as punycode only. */
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
