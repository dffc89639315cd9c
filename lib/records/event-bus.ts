import * as v from 'valibot';
import { eventBus, type PutEvent } from '../aws/eventbridge.ts';
import { EVENT_SCHEMAS } from './event-schemas.ts';
import type { Publish } from './events.ts';

/** Publishes events on the bus of this name, and connects to it at once. */
export function openBus(name: string, put: PutEvent = eventBus(name)): Publish {
  return async (type, detail, signal) => {
    await put(type, JSON.stringify(v.parse(EVENT_SCHEMAS[type], detail)), signal);
  };
}
