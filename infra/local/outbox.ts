import type { OutboxEntry } from './outbox-entry.ts';

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
