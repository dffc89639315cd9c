import type * as v from 'valibot';
import { EVENT_SCHEMAS } from '../../lib/records/event-schemas.ts';
import { EVENT_SOURCE } from '../../lib/validators/deployment.ts';
import { type JsonObject, jsonSchema, schemaDocument } from './json.ts';

/** `infra/events.json`: the JSON Schema of each event as EventBridge delivers it, made from the schemas of the publisher. */
export function eventsDocument(): JsonObject {
  const kinds = Object.entries(EVENT_SCHEMAS).map(([name, detail]) => [name, event(name, detail)] as const);
  return schemaDocument(
    'Events of registrations and trading accounts',
    'What the service publishes on its EventBridge bus: at least once, in any order. `id` of the detail identifies the event for de-duplication. EventBridge adds members of its own. A detail may get new members: ignore those that you do not know.',
    Object.fromEntries(kinds),
  );
}

function event(name: string, schema: v.GenericSchema): JsonObject {
  const { title, description = '', ...detail } = jsonSchema(schema);
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
