import type { BusEvent } from './stand-ins/events.ts';

type Target = (event: BusEvent) => void;

/** The event bus of the local service: what was published, oldest first, and who hears it. */
export class Bus {
  #events: BusEvent[] = [];
  readonly #targets: Target[] = [];

  /** Has a target hear every event from now on. */
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
