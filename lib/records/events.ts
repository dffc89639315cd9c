import * as v from 'valibot';
import type { PutEvent } from '../aws/eventbridge.ts';
import { Failure } from '../failure.ts';
import { once } from '../once.ts';
import type { AccountRecord } from './accounts.ts';
import { EVENT_SCHEMAS, type EventDetail, type EventType } from './event-schemas.ts';
import type { StoredRegistration } from './registrations.ts';

/** Publishes an event at least once, with the members of its schema alone. @throws Error; the event may still arrive */
type Publish = <T extends EventType>(type: T, detail: EventDetail<T>, signal: AbortSignal) => Promise<void>;

export type Events = ReturnType<typeof lazyEvents>;

/** The events of a bus that is opened late. @param open loads and opens the bus; called once, before the first event */
export function lazyEvents(open: () => Promise<PutEvent>) {
  const getBus = once(open);
  const publish: Publish = async (type, detail, signal) => {
    const put = await getBus();
    await put(type, JSON.stringify(v.parse(EVENT_SCHEMAS[type], detail)), signal);
  };
  return {
    /** Loads and connects what publishing needs, before there is an event. */
    prepare(): void {
      getBus().catch(() => {});
    },
    publish,
  };
}

/** The event of a registration, as its record has it. @throws Failure if it is not confirmed */
export function registrationConfirmed({
  confirmation,
  ...registration
}: StoredRegistration): EventDetail<'RegistrationConfirmed'> {
  if (confirmation === undefined) throw new Failure('NotConfirmed');
  return {
    id: registration.registration_id,
    otp_type: registration.otp_type,
    verified: registration.otp_type === 'email' ? 'email' : 'phone',
    form_id: registration.form_id,
    referrer_user_id: registration.referrer_user_id,
    requested_at: registration.requested_at,
    confirmed_at: confirmation.confirmed_at,
  };
}

/** The event of an opened account. If an operator has changed his word, it corrects the event before it. */
export function accountOpened({
  operation_id,
  word: _,
  origin,
  ...record
}: AccountRecord): EventDetail<'AccountOpened'> {
  const event = origin?.event ?? 1;
  const id = (number: number) => (number > 1 ? `${operation_id}-${number}` : operation_id);
  return { id: id(event), ...record, ...(event > 1 && { corrects: id(event - 1) }) };
}
