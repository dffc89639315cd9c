/** A message that was sent through a stand-in. */
export interface OutboxEntry {
  kind: 'email' | 'sms' | 'call' | 'whatsapp' | 'popup';
  /** An address, a phone number in E.164, or the user's id of a popup. */
  to: string;
  subject?: string;
  /** The readable text; of a call, the spoken one. */
  text: string;
  html?: string;
  /** BCP 47, if the message has one. */
  language?: string;
}
