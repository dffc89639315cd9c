import { awaitAll } from '../deadline.ts';
import type { ApiAnswer, ApiRequest } from '../http/endpoint.ts';
import { Problem } from '../problem.ts';
import type { Documents } from '../records/documents.ts';
import { type Events, registrationConfirmed } from '../records/events.ts';
import type { RegistrationDirectory } from '../records/registration-directory.ts';
import { REGISTRATION_MALFORMED, type Registrations, type StoredRegistration } from '../records/registrations.ts';
import type { Pepper } from '../secrets/keys.ts';
import { isCodeOf } from '../secrets/one-time-code.ts';
import { bestEffort, describeError, type Telemetry } from '../telemetry.ts';
import type { ConfirmationRequest } from '../validators/confirmation.ts';

/** The dependencies of a confirmation; tests pass fakes. */
export interface ConfirmationDependencies {
  directory: Pick<RegistrationDirectory, 'isClient'>;
  registrations: Registrations;
  documents: Pick<Documents, 'keep'>;
  events: Pick<Events, 'publish'>;
  pepper(signal: AbortSignal): Promise<Pepper>;
  now(): number;
}

/** How long a confirmation may be repeated, in milliseconds. */
const REPEATED_MS = 24 * 60 * 60_000;

/**
 * Confirms a registration by its code. A guess is counted before it is judged. Every `code_not_accepted` comes after the
 * same calls, so it does not show whether there is such a registration. Only who knows the code hears whether its address
 * is a client's.
 * @throws Problem for every outcome but 204
 */
export async function confirmRegistration(
  dependencies: ConfirmationDependencies,
  { body }: ApiRequest<ConfirmationRequest>,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  const { directory, documents, registrations, now } = dependencies;
  const { registration_id: id, code } = body;
  const pepper = await dependencies.pepper(signal);
  const registration = await registrations.get(id, signal);
  const isRight = registration !== undefined && isCodeOf(id, code, registration, pepper);
  if (isRight && isRepeatable(registration, now())) return { body: undefined };

  const isCounted = await registrations.countGuess(id, isRight, signal);
  if (!isCounted || !isRight || registration.confirmation !== undefined) throw new Problem('code_not_accepted');
  const known = await awaitAll([
    directory.isClient(registration, signal),
    registrations.isProven(registration, signal),
  ]);
  if (known.includes(true)) throw new Problem('already_registered');

  // The documents are kept first: after any failure, a confirmed registration has all of them.
  await documents.keep(registration.documents, signal);
  const confirmation = { confirmed_at: new Date(now()).toISOString(), published: false };
  const outcome = await registrations.confirm(registration, confirmation, signal);
  if (outcome === 'known') throw new Problem('already_registered');
  if (outcome === 'confirmed') {
    const confirmed = { ...registration, confirmation };
    telemetry.event('RegistrationConfirmed', { channel: registration.otp_type });
    await bestEffort(telemetry, 'event', (settling) => publish(dependencies, confirmed, settling));
  }
  return { body: undefined };
}

/** Whether the right code of this registration is answered as it was before. */
function isRepeatable({ confirmation }: StoredRegistration, now: number): boolean {
  return confirmation !== undefined && Date.parse(confirmation.confirmed_at) + REPEATED_MS > now;
}

/**
 * Publishes the overdue events of confirmed registrations. If one fails, its registration is logged and the next run
 * tries again.
 */
export async function publishPending(
  dependencies: Pick<ConfirmationDependencies, 'events' | 'registrations'>,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { registrations, unreadable } = await dependencies.registrations.unpublished(signal);
    for (const item of unreadable) telemetry.event('EventFailed', { item, reason: REGISTRATION_MALFORMED });
    // One registration after another: a failed one does not stop the next.
    for (const registration of registrations) {
      await publish(dependencies, registration, signal).catch((error: unknown) => {
        telemetry.event('EventFailed', { registration_id: registration.registration_id, ...describeError(error) });
      });
    }
  } catch (error) {
    telemetry.event('EventFailed', describeError(error));
  }
}

/** Publishes the event, and records that it is published. May be repeated. */
async function publish(
  { events, registrations }: Pick<ConfirmationDependencies, 'events' | 'registrations'>,
  registration: StoredRegistration,
  signal: AbortSignal,
): Promise<void> {
  await events.publish('RegistrationConfirmed', registrationConfirmed(registration), signal);
  await registrations.notePublished(registration.registration_id, signal);
}
