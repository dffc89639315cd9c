import { awaitAll } from '../deadline.ts';
import type { ApiAnswer, ApiRequest } from '../http/endpoint.ts';
import type { RegistrationLimits } from '../limits/limits.ts';
import { Problem } from '../problem.ts';
import type { Documents } from '../records/documents.ts';
import { type Events, registrationConfirmed } from '../records/events.ts';
import type { RegistrationDirectory } from '../records/registration-directory.ts';
import {
  PUBLISHING_MS,
  REGISTRATION_MALFORMED,
  type Registrations,
  type StoredRegistration,
} from '../records/registrations.ts';
import type { Pepper } from '../secrets/keys.ts';
import { isSameSeal, passwordDigest, passwordSalt, sealGuess } from '../secrets/one-time-code.ts';
import { bestEffort, describeError, type Telemetry } from '../telemetry.ts';
import type { ConfirmationRequest } from '../validators/confirmation.ts';
import { refuseReached } from './registration.ts';

/** The dependencies of a confirmation; tests pass fakes. */
export interface ConfirmationDependencies {
  directory: Pick<RegistrationDirectory, 'isClient'>;
  registrations: Registrations;
  documents: Pick<Documents, 'keep'>;
  events: Events;
  limits: Pick<RegistrationLimits, 'countConfirmation'>;
  pepper(signal: AbortSignal): Promise<Pepper>;
  /** Hashes a password. @returns the PHC string of the hash */
  hashPassword(password: string, salt: Buffer): Promise<string>;
  now(): number;
}

/** How long a confirmation may be repeated, in milliseconds. */
const REPEATED_MS = 24 * 60 * 60_000;

/**
 * Confirms the registration that this password and code belong to. Every refusal has the same answer, after the same
 * calls and as many hashes: it reveals neither whether there is a registration nor whose address it is.
 * @throws Problem for every outcome but 204
 */
export async function confirmRegistration(
  dependencies: ConfirmationDependencies,
  { body, source }: ApiRequest<ConfirmationRequest>,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  const pepper = await dependencies.pepper(signal);
  const place = { otp_type: body.channel, address: body.address };
  const [limit, listed] = await awaitAll([
    dependencies.limits.countConfirmation(source, pepper, signal),
    dependencies.registrations.list(place, signal),
  ]);
  refuseReached(limit, body.channel, telemetry);
  if (limit.kind === 'unchecked') {
    telemetry.event('LimitUncheckable', { channel: body.channel, ...describeError(limit.failure) });
  }

  const registration = await findRegistration(dependencies, body, listed, pepper, signal);
  if (registration === undefined) throw new Problem('code_not_accepted');
  const isFirst = registration.confirmation === undefined;
  const confirmed = isFirst ? await confirm(dependencies, registration, signal) : registration;
  // Only one of simultaneous requests has confirmed the registration. That one counts and publishes it.
  if (confirmed !== registration) telemetry.event('RegistrationConfirmed', conversion(confirmed));
  if (confirmed !== registration || isOverdue(registration, dependencies.now())) {
    await bestEffort(telemetry, 'event', (settling) => publish(dependencies, confirmed, settling));
  }
  return { body: undefined };
}

function conversion({ otp_type, requested_at, delivery, confirmation }: StoredRegistration) {
  const sentAt = Date.parse(delivery?.sent_at ?? requested_at);
  // The clocks of the two functions may differ.
  const seconds = Math.max(0, (Date.parse(confirmation?.confirmed_at ?? '') - sentAt) / 1_000);
  return { channel: otp_type, seconds_to_confirm: seconds };
}

/** Whether the request that confirmed it failed to publish the event. */
function isOverdue({ confirmation }: StoredRegistration, now: number): boolean {
  return confirmation?.published === false && Date.parse(confirmation.confirmed_at) < now - PUBLISHING_MS;
}

/**
 * Finds the registration of this password and code. The password is compared first, so a stranger's guess counts
 * against no registration. The guess is counted before it is compared, so only five different codes can be guessed,
 * also in parallel. The same guess again is free: a right one whose confirmation failed can be repeated.
 */
async function findRegistration(
  { registrations, hashPassword, now }: ConfirmationDependencies,
  { channel, address, code, password }: ConfirmationRequest,
  listed: Awaited<ReturnType<Registrations['list']>>,
  pepper: Pepper,
  signal: AbortSignal,
): Promise<StoredRegistration | undefined> {
  // The address has one salt for each key of the pepper: one, or two while it is rotated.
  const hashes = await awaitAll(pepper.keys.map((key) => hashPassword(password, passwordSalt(key, channel, address))));
  const digests = hashes.map(passwordDigest);
  const guesses = listed.flatMap((one) => {
    const binding = { registrationId: one.registration_id, channel, address };
    const guess = sealGuess(code, binding, one, pepper);
    const digest = digests[pepper.keys.findIndex(({ version }) => version === one.pepper_version)] ?? '';
    return guess !== undefined && isSameSeal(one.password, digest) ? [{ ...binding, guess, seals: one }] : [];
  });
  const counted = await registrations.countGuesses({ otp_type: channel, address }, guesses, listed, signal);
  const right = guesses.find((one) => counted.has(one.registrationId) && isSameSeal(one.guess, one.seals.code));
  // The registration is read even without a match, so that every refusal makes the same calls.
  const registration = await registrations.get(right?.registrationId ?? 'none', signal);
  if (registration === undefined || right === undefined || registration.delivery?.kind === 'owner_notice')
    return undefined;
  const { confirmation } = registration;
  const validUntil =
    confirmation === undefined ? right.seals.expires_at_ms : Date.parse(confirmation.confirmed_at) + REPEATED_MS;
  return validUntil > now() ? registration : undefined;
}

/**
 * Of simultaneous right guesses one writes the confirmation; the others get the same answer. The documents are kept
 * first: after any failure, a confirmed registration has all its documents.
 * @returns the registration with this request's confirmation, or unchanged
 */
async function confirm(
  { directory, documents, registrations, now }: ConfirmationDependencies,
  registration: StoredRegistration,
  signal: AbortSignal,
): Promise<StoredRegistration> {
  const [known] = await awaitAll([
    directory.isClient({ emailKey: registration.email_key, phone: registration.phone }, signal),
    documents.keep(registration.documents, signal),
  ]);
  const confirmation = {
    confirmed_at: new Date(now()).toISOString(),
    email_taken: known.email || registration.delivery?.email_taken === true,
    phone_taken: known.phone || registration.delivery?.phone_taken === true,
    published: false,
  };
  const won = await registrations.confirm(registration, confirmation, signal);
  return won ? { ...registration, confirmation } : registration;
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
    for (const one of registrations) {
      await publish(dependencies, one, signal).catch((error: unknown) => {
        telemetry.event('EventFailed', { registration_id: one.registration_id, ...describeError(error) });
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
