import type { BusEvent } from './stand-ins/events.ts';

type Target = (event: BusEvent) => Promise<void>;

/** The event bus of the local service: its events, oldest first, and its targets. */
export class Bus {
  #events: BusEvent[] = [];
  readonly #targets: { detailType: string; target: Target }[] = [];

  /** Adds a target for every further event of this type. */
  rule(detailType: string, target: Target): void {
    this.#targets.push({ detailType, target });
  }

  deliver(event: BusEvent): void {
    this.#events.push(event);
    for (const { detailType, target } of this.#targets) {
      if (detailType !== event['detail-type']) continue;
      target(event).catch((error: unknown) => process.stderr.write(`The event ${event.id} got lost: ${error}\n`));
    }
  }

  list(): readonly BusEvent[] {
    return this.#events;
  }

  clear(): void {
    this.#events = [];
  }
}
