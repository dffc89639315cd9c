import { OTP_TYPES } from '../../lib/validators/otp-types.ts';

/** The channels of one-time passwords, and the popups about new accounts. */
export const MESSAGE_KINDS = [...OTP_TYPES, 'popup'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** A message that was sent through a stand-in. */
export interface OutboxEntry {
  kind: MessageKind;
  /** An address, a phone number in E.164, or the user's id of a popup. */
  to: string;
  subject?: string;
  /** The readable text. A call has the spoken text. */
  text: string;
  html?: string;
  /** The language of the message, BCP 47. Absent: it has none. */
  language?: string;
}

/** A message that was sent, as `GET /_local/outbox` shows it. */
export interface SentMessage extends OutboxEntry {
  id: string;
  /** ISO 8601. */
  at: string;
}

/** What has happened so far, oldest first. */
class History<T> {
  #entries: T[] = [];

  protected add(entry: T): void {
    this.#entries.push(entry);
  }

  list(): readonly T[] {
    return this.#entries;
  }

  clear(): void {
    this.#entries = [];
  }
}

/** The messages that were sent through the stand-ins. */
export class Outbox extends History<SentMessage> {
  #count = 0;

  record(entry: OutboxEntry): void {
    this.#count += 1;
    this.add({ id: String(this.#count), at: new Date().toISOString(), ...entry });
  }
}

/** An event as the target of a rule gets it. */
export interface BusEvent {
  version: '0';
  id: string;
  'detail-type': string;
  source: string;
  account: string;
  /** ISO 8601, in whole seconds. */
  time: string;
  region: string;
  resources: string[];
  detail: Record<string, unknown>;
}

/** The event bus of the local service. */
export class Bus extends History<BusEvent> {
  /** The target of the bus's rule. */
  target: (event: BusEvent) => void = () => {};

  deliver(event: BusEvent): void {
    this.add(event);
    this.target(event);
  }
}

/**
 * The one-time password in a message. A mail has the six digits on their own line, a call says them twice. So they
 * differ from logins and digits in a brand's name. Notices have none.
 */
export function findCode({ kind, text }: Pick<OutboxEntry, 'kind' | 'text'>): string | undefined {
  switch (kind) {
    case 'email':
      return /^\s*(\d{6})\s*$/m.exec(text)?.[1];
    case 'call':
      return /(?<!\d)(\d{6})(?!\d)(?=.*(?<!\d)\1(?!\d))/s.exec(text)?.[1];
    case 'popup':
      return undefined;
    default:
      return /(?<!\d)\d{6}(?!\d)/.exec(text)?.[0];
  }
}
