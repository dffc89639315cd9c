import { once } from '../once.ts';
import type { AccountRecord } from './accounts.ts';
import type { EventDetail, EventType } from './event-schemas.ts';

/** Publishes an event at least once, with the members of its schema alone. @throws Error; the event may still arrive */
export type Publish = <T extends EventType>(type: T, detail: EventDetail<T>, signal: AbortSignal) => Promise<void>;

export type Events = ReturnType<typeof lazyEvents>;

/** @param open opens the bus, and loads what that takes; called once, before the first event */
export function lazyEvents(open: () => Promise<Publish>) {
  const getBus = once(open);
  const publish: Publish = async (...event) => (await getBus())(...event);
  return {
    /** Loads and connects what publishing needs, before there is an event. */
    prepare(): void {
      getBus().catch(() => {});
    },
    publish,
  };
}

/** The event of an opened account. */
export function accountOpened({ operation_id, ...record }: AccountRecord): EventDetail<'AccountOpened'> {
  return { id: operation_id, ...record };
}
