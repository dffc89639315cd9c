import type { BusEvent } from './stand-ins/events.ts';

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
