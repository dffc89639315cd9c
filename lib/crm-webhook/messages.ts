import * as v from 'valibot';
import { ClientIdSchema } from '../records/crm-records.ts';
import type { LinkedDocument } from '../records/documents.ts';
import {
  ConfirmedRegistrationSchema,
  EVENT_SCHEMAS,
  type EventDetail,
  type EventType,
} from '../records/event-schemas.ts';
import type { StoredRegistration } from '../records/registrations.ts';

const EventSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.variant('detail-type', [
    v.object({ 'detail-type': v.literal('RegistrationConfirmed'), detail: EVENT_SCHEMAS.RegistrationConfirmed }),
    v.object({ 'detail-type': v.literal('AccountOpened'), detail: EVENT_SCHEMAS.AccountOpened }),
  ]),
);

/** Parses an event as it is on the bus. @throws Error for anything else */
export function parseEvent(body: string): v.InferOutput<typeof EventSchema> {
  return v.parse(EventSchema, body);
}

const message = <const T extends EventType, const S extends v.GenericSchema>(type: T, data: S) =>
  v.object({
    type: v.pipe(v.literal(type), v.description('What has happened.')),
    timestamp: v.pipe(v.string(), v.isoTimestamp(), v.description('When it happened: ISO 8601, UTC.')),
    data,
  });

/** The messages to the CRM, by the type of the event. A receiver ignores unknown members. */
export const MESSAGE_SCHEMAS = {
  RegistrationConfirmed: message('RegistrationConfirmed', ConfirmedRegistrationSchema),
  AccountOpened: message('AccountOpened', v.object(EVENT_SCHEMAS.AccountOpened.entries)),
} as const satisfies Record<EventType, v.GenericSchema>;

/** The optional body of the CRM's 2xx answer. Every other body is accepted too, and names no client. */
export const CrmAnswerSchema = v.object({
  client_id: v.optional(
    v.pipe(
      ClientIdSchema,
      v.description('The client that the CRM made of a registration. The service then knows that client.'),
    ),
  ),
});

/** The body for an account: the event itself. */
export function accountMessage(data: EventDetail<'AccountOpened'>): string {
  return JSON.stringify(
    v.parse(MESSAGE_SCHEMAS.AccountOpened, { type: 'AccountOpened', timestamp: data.opened_at, data }),
  );
}

/** The body for a registration: the event, and all that the person gave. */
export function registrationMessage(
  event: EventDetail<'RegistrationConfirmed'>,
  registration: StoredRegistration,
  documents: readonly LinkedDocument[],
): string {
  const data = { ...registration, ...event, custom_fields: JSON.parse(registration.custom_fields), documents };
  const body = { type: 'RegistrationConfirmed', timestamp: event.confirmed_at, data };
  return JSON.stringify(v.parse(MESSAGE_SCHEMAS.RegistrationConfirmed, body));
}
