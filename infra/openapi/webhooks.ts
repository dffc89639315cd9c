import type * as v from 'valibot';
import { EVENT_SOURCE, REDELIVERY } from '../../lib/config/deployment.ts';
import { CrmAnswerSchema, MESSAGE_SCHEMAS } from '../../lib/crm-webhook/messages.ts';
import { EVENT_SCHEMAS, type EventType } from '../../lib/records/event-schemas.ts';
import { componentReference, type Json, type JsonObject, jsonSchema, schemaDocument } from './json.ts';

const EVENTS = Object.keys(MESSAGE_SCHEMAS) as EventType[];

const SUMMARIES: Readonly<Record<EventType, string>> = {
  RegistrationConfirmed: 'A person has confirmed a registration',
  AccountOpened: 'A trading account was opened',
};

/** `webhooks` of the document: the messages to the CRM, if the setting `crmWebhook` names one. */
export function webhooks(): JsonObject {
  return Object.fromEntries(EVENTS.map((event) => [event, { post: webhook(event) }]));
}

function webhook(event: EventType): JsonObject {
  const answers = event === 'RegistrationConfirmed' ? ' The client that it names can open accounts at once.' : '';
  return {
    summary: SUMMARIES[event],
    operationId: `receive${event}`,
    tags: ['Webhooks'],
    security: [],
    description: [
      'Posted to the CRM, at least once and in any order, signed by [Standard Webhooks](https://www.standardwebhooks.com). Verify the signature first; `webhook-id` is the same for each delivery of one event.',
      `The CRM answers within 10 seconds. Any 2xx accepts the event, whatever its body. After any other answer, a redirect included, the event is delivered again every ${REDELIVERY.everySeconds / 60} minutes for 24 hours. After 410 the event is not delivered again until an operator says so.`,
    ].join('\n\n'),
    'x-deployment-setting': 'crmWebhook',
    parameters: HEADERS.map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: componentReference('schemas', `${event}Message`) } },
    },
    responses: {
      '200': {
        description: `The CRM accepts the event.${answers}`,
        content: { 'application/json': { schema: componentReference('schemas', 'WebhookAnswer') } },
      },
      '2XX': { description: 'The same, whatever the body: only a JSON object with `client_id` names a client.' },
      '410': { description: 'This address is gone. The event waits for an operator, who names another one.' },
      '429': { description: 'The CRM has too much to do.' },
      '4XX': { description: 'The CRM does not accept it, for example because the signature is wrong.' },
    },
  };
}

const HEADERS: readonly [name: string, description: string][] = [
  ['user-agent', 'The name of the service.'],
  ['webhook-id', 'Of the event: the id of the registration or of the operation.'],
  ['webhook-timestamp', 'When it is sent, in epoch seconds. Refuse what is older than five minutes.'],
  ['webhook-signature', 'One or two signatures `v1,…`, separated by a space; one of them is of your key.'],
];

/** The schemas of the webhooks. Every object has a name. */
export function webhookSchemas(): JsonObject {
  const messages = EVENTS.flatMap((event) => {
    const { properties, ...message } = jsonSchema(MESSAGE_SCHEMAS[event]) as { properties: Record<string, Json> };
    const named = { ...properties, data: componentReference('schemas', `${event}Data`) };
    return [
      [`${event}Message`, { ...message, description: `${SUMMARIES[event]}.`, properties: named }],
      [`${event}Data`, { ...(properties.data as JsonObject), description: 'What the service knows of it.' }],
    ] as [string, JsonObject][];
  });
  const schemas = Object.fromEntries(messages);
  const data = schemas.RegistrationConfirmedData as { properties: Record<string, Json> };
  const { items: Consent, ...consents } = data.properties.consents as { items: JsonObject };
  const { items: Document, ...documents } = data.properties.documents as { items: JsonObject };
  return {
    ...schemas,
    RegistrationConfirmedData: {
      ...data,
      properties: {
        ...data.properties,
        consents: { ...consents, items: componentReference('schemas', 'Consent') },
        documents: { ...documents, items: componentReference('schemas', 'RegistrationDocument') },
      },
    },
    Consent: { ...Consent, description: 'A text that the person agreed to.' },
    RegistrationDocument: { ...Document, description: 'A document that the person uploaded.' },
    WebhookAnswer: { ...jsonSchema(CrmAnswerSchema), description: 'What the CRM may answer.' },
  };
}

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
