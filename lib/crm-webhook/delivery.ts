import { within } from '../deadline.ts';
import type { CrmClients } from '../records/crm-clients.ts';
import type { Client } from '../records/crm-records.ts';
import type { Documents } from '../records/documents.ts';
import { registrationConfirmed } from '../records/events.ts';
import type { Registrations, StoredRegistration } from '../records/registrations.ts';
import { describeError, type Telemetry } from '../telemetry.ts';
import { COUNTRY_CODES } from '../validators/countries.ts';
import { readPhone } from '../validators/phone.ts';
import { accountMessage, parseEvent, registrationMessage } from './messages.ts';
import { EventNotAccepted, type PostMessage } from './post.ts';

/** The dependencies of a notification; tests pass fakes. */
export interface WebhookDependencies {
  registrations: Pick<Registrations, 'get'>;
  documents: Pick<Documents, 'link'>;
  clients: CrmClients;
  post: PostMessage;
  /** Puts an event into the queue of undelivered events. An operator delivers it again from there. */
  setAside(body: string, signal: AbortSignal): Promise<void>;
}

/** The timeout of setting an event aside, in milliseconds. It is separate: the time of the delivery may be over. */
const SET_ASIDE_MS = 2_000;

/**
 * Notifies the CRM of an event. If the CRM does not accept it, the queue delivers the event again. If the CRM says that
 * its address is gone, the event is set aside at once.
 * @param body the event as the bus has it, JSON
 * @returns whether the event may leave its queue
 */
export async function notifyCrm(
  dependencies: WebhookDependencies,
  body: string,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<boolean> {
  let scoped = telemetry;
  try {
    const event = parseEvent(body);
    const { 'detail-type': type, detail } = event;
    scoped = telemetry.with({ type, [type === 'AccountOpened' ? 'operation_id' : 'registration_id']: detail.id });
    if (event['detail-type'] === 'AccountOpened') {
      await dependencies.post({ id: detail.id, body: accountMessage(event.detail) }, signal);
      scoped.event('CrmNotified');
    } else {
      await notifyOfRegistration(dependencies, event.detail.id, scoped, signal);
    }
    return true;
  } catch (error) {
    scoped.event('CrmNotNotified', describeError(error));
    if (!(error instanceof EventNotAccepted && error.isGone)) return false;
    // An event that could not be set aside stays in its queue.
    return await dependencies.setAside(body, within(SET_ASIDE_MS)).then(
      () => true,
      () => false,
    );
  }
}

/**
 * Notifies the CRM, and writes the record of the client that the CRM created, so that the first account can be opened
 * at once.
 */
async function notifyOfRegistration(
  { registrations, documents, clients, post }: WebhookDependencies,
  registrationId: string,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<void> {
  const registration = await registrations.get(registrationId, signal);
  // The registration has expired, or was erased at the person's request: there is nothing left to post.
  if (registration === undefined) return telemetry.event('CrmNotNotified', { reason: 'registration_gone' });
  // The record decides what was proven. Other principals of the AWS account may have the right to put events on the bus.
  const event = registrationConfirmed(registration);
  const linked = await documents.link(registration.documents);
  const message = { id: event.id, body: registrationMessage(event, registration, linked) };
  const { client_id, unusable } = await post(message, signal);
  if (unusable !== undefined) telemetry.event('ClientNotWritten', { reason: unusable });
  if (client_id !== undefined) {
    const added = await clients.add(await buildClient(client_id, registration), event.verified, signal);
    if (added === 'refused') telemetry.event('ClientNotWritten', { reason: 'another_client', user_id: client_id });
  }
  telemetry.event('CrmNotified');
}

/**
 * The record of the client that the CRM created from a registration. The country is the phone number's, if that number
 * belongs to one country.
 */
async function buildClient(id: string, { email, name, language, phone }: StoredRegistration): Promise<Client> {
  const client: Client = {
    id,
    name,
    ...(email === undefined ? {} : { email }),
    ...(language === undefined ? {} : { language }),
  };
  if (phone === undefined) return client;
  const { parsePhoneNumberFromString } = await import('../validators/phone-numbers.ts');
  const parsed = parsePhoneNumberFromString(phone);
  if (parsed === undefined) return client;
  const { countryCallingCode: country_code, nationalNumber, country } = parsed;
  // A national number that begins with its own dial code may be read as another person's number. With a plus it has one
  // reading.
  const isRead = (await readPhone(country_code, nationalNumber))?.e164 === phone;
  return {
    ...client,
    phone: { country_code, number: isRead ? nationalNumber : phone },
    ...(country !== undefined && COUNTRY_CODES.has(country) ? { country } : {}),
  };
}
