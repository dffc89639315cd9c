/**
 * One interface for each provider of messages; `lib/aws` implements them. Every function sends at most once, and fails with
 * `DeliveryFailure`.
 */

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
  /** @throws DeliveryFailure */
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

/** @throws DeliveryFailure */
export type Publish = (publication: Publication, signal: AbortSignal) => Promise<{ messageId: string }>;

/** A call in which an Amazon Polly voice reads a text. */
interface VoiceCall {
  /** E.164. */
  to: string;
  /** The number or pool that calls. */
  from: string;
  ssml: string;
  voiceId: VoiceId;
  /** The seconds after which the call is no longer tried. */
  timeToLiveSeconds: number;
  /** The country rules that the call obeys. */
  protectConfiguration?: string | undefined;
}

/** @throws DeliveryFailure */
export type PlaceCall = (call: VoiceCall, signal: AbortSignal) => Promise<{ messageId: string }>;

/** The voices of Amazon Polly that a call may use, by their names at AWS. */
export type VoiceId =
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

interface WhatsAppMessage {
  /** E.164. */
  to: string;
  /** `phone-number-id-…` of the sending number. */
  phoneNumberId: string;
  template: {
    name: string;
    /** Meta's language code, such as `pt_BR`. */
    language: string;
    /** In the format of Meta's Cloud API. */
    components: readonly object[];
  };
}

/** @throws DeliveryFailure */
export type SendWhatsApp = (message: WhatsAppMessage, signal: AbortSignal) => Promise<{ messageId: string }>;
