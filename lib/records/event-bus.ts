import * as v from 'valibot';
import { eventBus, type PutEvent } from '../aws/eventbridge.ts';
import { EVENT_SCHEMAS, EVENT_SOURCE } from './event-schemas.ts';
import type { Tell } from './events.ts';

/** Tells of events on the bus of this name, which is connected to at once. */
export function openBus(name: string): Tell {
  return tellOn(eventBus(name));
}

/** Tells of events by putting them on a bus. */
export function tellOn(put: PutEvent): Tell {
  return async (detailType, detail, signal) => {
    const told = v.parse(EVENT_SCHEMAS[detailType], detail);
    await put({ source: EVENT_SOURCE, detailType, detail: JSON.stringify(told) }, signal);
  };
}
