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

/** Why a message was not sent, or may not have been. */
export type DeliveryFailureKind =
  /** The request left, and no answer says what became of it: the message may be sent. It is never sent again. */
  | 'unknown_outcome'
  | 'refused_recipient'
  | 'opted_out'
  | 'blocked_country'
  /** This message was refused: its content, or a template that is missing. Another kind of message may pass. */
  | 'refused_message'
  /** Credentials, rights or settings. */
  | 'misconfigured'
  | 'over_budget'
  /** No connection, no time left, or an outage of the service. */
  | 'retryable'
  /** Too many messages at once. */
  | 'throttled';

/** What follows from a failure, for every message alike. */
type SendFailureRule = {
  /** Counted, with an alarm. */
  readonly event: 'OtpOutcomeUnknown' | 'MessageRefused' | 'RecipientRefused' | 'OtpDeliveryFailed';
  /** The maximum number of attempts while a message fails in this way. */
  readonly attempts: number;
} & (
  | {
      /** The request is answered as if the message had been sent: the registration and all counts stay. */
      readonly answer: 204;
      /** How the delivery is noted for operators. */
      readonly noted: 'unknown' | 'refused';
    }
  /** The request is undone. */
  | { readonly answer: 502 }
);

const RECIPIENT_REFUSED: SendFailureRule = { answer: 502, event: 'RecipientRefused', attempts: 1 };
const NOT_SENT: SendFailureRule = { answer: 502, event: 'OtpDeliveryFailed', attempts: 1 };

/**
 * The outcome of a send that failed. A code and an owner's notice have the same row, so no answer reveals which of them
 * was sent. A failure that may concern one of them alone, such as a template that is missing, must be answered as sent.
 */
export const SEND_FAILURES: Readonly<Record<DeliveryFailureKind, SendFailureRule>> = {
  unknown_outcome: { answer: 204, noted: 'unknown', event: 'OtpOutcomeUnknown', attempts: 1 },
  refused_message: { answer: 204, noted: 'refused', event: 'MessageRefused', attempts: 1 },
  refused_recipient: RECIPIENT_REFUSED,
  opted_out: RECIPIENT_REFUSED,
  blocked_country: RECIPIENT_REFUSED,
  misconfigured: NOT_SENT,
  over_budget: NOT_SENT,
  retryable: NOT_SENT,
  throttled: { ...NOT_SENT, attempts: 3 },
};

export class DeliveryFailure extends Failure {
  override readonly name = 'DeliveryFailure';
  readonly kind: DeliveryFailureKind;
  /** False: certainly no byte of a request reached the service, which was not asked. */
  readonly left: boolean;

  constructor(kind: DeliveryFailureKind, reason: string, { left, cause }: { left: boolean; cause?: unknown }) {
    super(reason, cause);
    this.kind = kind;
    this.left = left;
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
