import * as v from 'valibot';
import type { LinkedDocument } from '../records/documents.ts';
import { EVENT_SCHEMAS, type EventDetail, type EventType } from '../records/event-schemas.ts';
import type { StoredRegistration } from '../records/registrations.ts';
import { IdSchema } from '../validators/primitives.ts';

const EventSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.variant('detail-type', [
    v.object({ 'detail-type': v.literal('RegistrationConfirmed'), detail: EVENT_SCHEMAS.RegistrationConfirmed }),
    v.object({ 'detail-type': v.literal('AccountOpened'), detail: EVENT_SCHEMAS.AccountOpened }),
  ]),
);

/** Reads an event as the bus has it. @throws Error for anything else */
export function parseEvent(body: string): v.InferOutput<typeof EventSchema> {
  return v.parse(EventSchema, body);
}

const text = (what: string) => v.pipe(v.string(), v.description(what));

const Document = v.object({
  field_key: text('The key of the form field.'),
  index: v.pipe(v.number(), v.integer(), v.description('The place in the array of that field.')),
  id: text('As the form gave it.'),
  name: text('Of the file, as the person gave it.'),
  media_type: text('As the content shows it.'),
  bytes: v.pipe(v.number(), v.integer(), v.description('The size.')),
  sha256: text('Of the content, base64.'),
  url: v.optional(
    text('Where to download it within an hour. Absent if a scan for malware did not find the document clean.'),
  ),
  verdict: v.optional(
    text(
      'Of the scan for malware, where documents are scanned: `NO_THREATS_FOUND` or another word of Amazon GuardDuty.',
    ),
  ),
});

const Consent = v.object({ key: text('The key of the form field.'), version: text('Of the text that was agreed to.') });

const RegistrationConfirmed = v.object({
  ...EVENT_SCHEMAS.RegistrationConfirmed.entries,
  type: v.pipe(v.literal('trader'), v.description('Of the person.')),
  email: text('As typed.'),
  name: text('Of the person.'),
  phone: v.optional(text('E.164.')),
  language: v.optional(text('BCP 47.')),
  referrer_id: v.optional(text('The referral code that was given.')),
  custom_fields: v.pipe(
    v.record(v.string(), v.unknown()),
    v.description('The values of the form, by key; documents apart.'),
  ),
  consents: v.optional(v.pipe(v.array(Consent), v.description('What the person agreed to, with the versions.'))),
  documents: v.pipe(v.array(Document), v.description('What was uploaded.')),
  password_hash: text('PHC string, argon2id, of the password in Unicode NFC.'),
  source: text('The address that the registration came from.'),
  user_agent: v.optional(text('Of the browser.')),
});

const message = <const T extends EventType, const S extends v.GenericSchema>(type: T, data: S) =>
  v.object({
    type: v.pipe(v.literal(type), v.description('What has happened.')),
    timestamp: v.pipe(v.string(), v.isoTimestamp(), v.description('When it happened: ISO 8601, UTC.')),
    data,
  });

/** The messages to the CRM, by the type of the event. A receiver ignores unknown members. */
export const MESSAGE_SCHEMAS = {
  RegistrationConfirmed: message('RegistrationConfirmed', RegistrationConfirmed),
  AccountOpened: message('AccountOpened', v.object(EVENT_SCHEMAS.AccountOpened.entries)),
} as const satisfies Record<EventType, v.GenericSchema>;

/** The optional body of the CRM's 2xx answer. */
export const AnswerSchema = v.object({
  client_id: v.optional(
    v.pipe(
      IdSchema,
      v.description('The client that the CRM made of a registration. The service then knows that client.'),
    ),
  ),
});
export type WebhookAnswer = v.InferOutput<typeof AnswerSchema>;

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
