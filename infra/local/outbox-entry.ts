/** A message as it was sent through one of the stand-ins. */
export interface OutboxEntry {
  kind: 'email' | 'sms' | 'call' | 'whatsapp' | 'popup';
  /** An address, a phone number in E.164, or the user's id of a popup. */
  to: string;
  subject?: string;
  /** What a person reads; of a call, what is spoken. */
  text: string;
  html?: string;
  /** BCP 47, where the message names one. */
  language?: string;
}
