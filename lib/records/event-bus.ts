import * as v from 'valibot';
import { eventBus, type PutEvent } from '../aws/eventbridge.ts';
import { EVENT_SOURCE } from '../validators/deployment.ts';
import { EVENT_SCHEMAS } from './event-schemas.ts';
import type { Publish } from './events.ts';

/** Publishes on the bus of this name, and connects to it at once. */
export function openBus(name: string): Publish {
  return busPublisher(eventBus(name));
}

/** Publishes events by putting them on a bus. */
export function busPublisher(put: PutEvent): Publish {
  return async (detailType, detail, signal) => {
    const checked = v.parse(EVENT_SCHEMAS[detailType], detail);
    await put({ source: EVENT_SOURCE, detailType, detail: JSON.stringify(checked) }, signal);
  };
}
