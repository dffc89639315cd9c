import type * as v from 'valibot';
import { EVENT_SCHEMAS, EVENT_SOURCE } from '../../lib/records/event-schemas.ts';
import type { JsonObject } from './json.ts';
import { toSchema } from './to-schema.ts';

/** The JSON Schema of an event as a rule of EventBridge hands it over, made from the schemas that the events are told by. */
export function eventsDocument(): JsonObject {
  const events = Object.entries(EVENT_SCHEMAS);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Events of registrations and trading accounts',
    description:
      'What the service tells on its EventBridge bus: at least once, in any order; `id` of the detail names what it is about. EventBridge adds members of its own. New members may be added to a detail: ignore those that you do not know.',
    oneOf: events.map(([name]) => ({ $ref: `#/$defs/${name}` })),
    $defs: Object.fromEntries(events.map(([name, detail]) => [name, event(name, detail)])),
  };
}

function event(name: string, schema: v.GenericSchema): JsonObject {
  const { title, description = '', ...detail } = toSchema(schema);
  return {
    type: 'object',
    title: title ?? name,
    description,
    properties: {
      source: { type: 'string', const: EVENT_SOURCE, description: 'This service.' },
      'detail-type': { type: 'string', const: name, description: 'What has happened.' },
      detail,
    },
    required: ['source', 'detail-type', 'detail'],
  };
}
