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

/** A message that was sent, as `GET /_local/outbox` shows it. */
export interface SentMessage extends OutboxEntry {
  id: string;
  /** ISO 8601. */
  at: string;
}

/** The messages that were sent through the stand-ins, oldest first. */
export class Outbox {
  #messages: SentMessage[] = [];
  #count = 0;

  record(entry: OutboxEntry): void {
    this.#count += 1;
    this.#messages.push({ id: String(this.#count), at: new Date().toISOString(), ...entry });
  }

  list(): readonly SentMessage[] {
    return this.#messages;
  }

  clear(): void {
    this.#messages = [];
  }
}

/** An event as a rule's target gets it. */
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

type Target = (event: BusEvent) => void;

/** The event bus of the local service: its events, oldest first, and its targets. */
export class Bus {
  #events: BusEvent[] = [];
  readonly #targets: Target[] = [];

  /** Adds a target for every further event. */
  rule(target: Target): void {
    this.#targets.push(target);
  }

  deliver(event: BusEvent): void {
    this.#events.push(event);
    for (const target of this.#targets) target(event);
  }

  list(): readonly BusEvent[] {
    return this.#events;
  }

  clear(): void {
    this.#events = [];
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
    case 'sms':
    case 'whatsapp':
      return /(?<!\d)\d{6}(?!\d)/.exec(text)?.[0];
    case 'popup':
      return undefined;
  }
}
