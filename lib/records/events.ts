import { once } from '../once.ts';
import type { AccountRecord } from './accounts.ts';
import type { EventDetail, EventType } from './event-schemas.ts';

/** Publishes an event at least once, with the members of its schema alone. @throws Error; the event may still arrive */
export type Publish = <T extends EventType>(type: T, detail: EventDetail<T>, signal: AbortSignal) => Promise<void>;

export interface Events {
  /** Loads and connects what publishing needs, before there is an event. */
  prepare(): void;
  publish: Publish;
}

/** @param open opens the bus, and loads what that takes; called once, before the first event */
export function lazyEvents(open: () => Promise<Publish>): Events {
  const getBus = once(open);
  return {
    prepare() {
      getBus().catch(() => {});
    },

    async publish(type, detail, signal) {
      const publish = await getBus();
      await publish(type, detail, signal);
    },
  };
}

/** The event of an opened account. */
export function accountOpened({ operation_id, ...record }: AccountRecord): EventDetail<'AccountOpened'> {
  return { id: operation_id, ...record };
}
