import type { AccountRecord } from './accounts.ts';
import type { EventDetail, EventType } from './event-schemas.ts';

/** Tells of something that has happened, at least once, by the members of its schema alone. @throws Error; it may be told all the same */
export type Tell = <T extends EventType>(type: T, detail: EventDetail<T>, signal: AbortSignal) => Promise<void>;

export interface Events {
  /** Something is about to happen: what telling of it takes is made ready meanwhile. */
  prepare(): void;
  tell: Tell;
}

/** @param open opens the bus, and loads what that takes; called once, before the first event */
export function eventsOn(open: () => Promise<Tell>): Events {
  let bus: Promise<Tell> | undefined;
  const theBus = () => {
    bus ??= open();
    return bus;
  };
  return {
    prepare() {
      theBus().catch(() => {});
    },

    async tell(type, detail, signal) {
      const tell = await theBus();
      await tell(type, detail, signal);
    },
  };
}

/** An opened account as others hear of it. */
export function accountOpened({ operation_id, ...record }: AccountRecord): EventDetail<'AccountOpened'> {
  return { id: operation_id, ...record };
}
