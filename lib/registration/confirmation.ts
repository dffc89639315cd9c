import type { Answer, Request } from '../http/endpoint.ts';
import type { RegistrationLimits } from '../limits/limits.ts';
import { Problem } from '../problem.ts';
import type { Documents } from '../records/documents.ts';
import type { Events } from '../records/events.ts';
import type { RegistrationDirectory } from '../records/registration-directory.ts';
import { MAX_SIDE_BY_SIDE, type Registrations, type StoredRegistration, TELLING_MS } from '../records/registrations.ts';
import { isSealedCode } from '../secrets/one-time-code.ts';
import type { Pepper } from '../secrets/pepper.ts';
import { bestEffort, describeError, type Telemetry } from '../telemetry.ts';
import type { ConfirmationRequest } from '../validators/confirmation.ts';
import { refuseReached } from './work.ts';

/** What a confirmation needs; tests pass fakes. */
export interface ConfirmationParts {
  directory: Pick<RegistrationDirectory, 'isClient'>;
  registrations: Registrations;
  documents: Pick<Documents, 'keep'>;
  events: Events;
  pepper(signal: AbortSignal): Promise<Pepper>;
  limits: Pick<RegistrationLimits, 'countConfirmation'>;
  /** Whether a hash is that of a password; without a hash it takes as long, and is true. */
  isPassword(hash: string | undefined, password: string): Promise<boolean>;
  now(): number;
}

/** How long the answer to a confirmation is given again, in milliseconds. */
const REPEATED_MS = 24 * 60 * 60_000;

/**
 * Confirms the registration whose password and code these are. Every refusal has the same answer, the same calls and
 * as many hashes: it tells neither whether there is a registration nor whose address it is. Who does not know the
 * password uses up no guess.
 * @throws Problem for every outcome but 204
 */
export async function confirmRegistration(
  parts: ConfirmationParts,
  { body, source }: Request<ConfirmationRequest>,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<Answer> {
  const pepper = await parts.pepper(signal);
  const limit = await parts.limits.countConfirmation(source, pepper, signal);
  refuseReached(limit, body.channel, telemetry);
  if (limit.kind === 'unchecked') telemetry.event('LimitUncheckable', { channel: body.channel });

  const registration = await guess(parts, body, pepper, signal);
  if (registration === undefined) throw new Problem('code_not_accepted');
  const confirmed = registration.confirmation === undefined ? await confirm(parts, registration, signal) : registration;
  const own = confirmed !== registration;
  if (own || isUntold(registration, parts.now())) {
    await bestEffort(telemetry, 'event', (settling) => tellConfirmed(parts, confirmed, settling));
  }
  return { body: undefined };
}

/** Whether whoever confirmed it has failed to tell it, or died before. */
function isUntold({ confirmation }: StoredRegistration, now: number): boolean {
  return confirmation?.told === false && Date.parse(confirmation.confirmed_at) < now - TELLING_MS;
}

/** Guesses at those of the registrations that have this password. @returns the one whose code it is */
async function guess(
  parts: ConfirmationParts,
  { channel, address, code, password }: ConfirmationRequest,
  pepper: Pepper,
  signal: AbortSignal,
): Promise<StoredRegistration | undefined> {
  const standing = await parts.registrations.newest(channel, address, signal);
  const places = Array.from({ length: MAX_SIDE_BY_SIDE }, (_, place) => standing[place]);
  const known = await Promise.all(places.map((one) => parts.isPassword(one?.password_hash, password)));
  const counted = await Promise.all(
    places.map((one, place) => parts.registrations.countGuess(one?.registration_id, known[place] === true, signal)),
  );
  const now = parts.now();
  return counted.find((one, place) => {
    if (one === undefined || known[place] !== true || one.delivery?.kind === 'owner_notice') return false;
    const binding = { registrationId: one.registration_id, channel, address };
    if (!isSealedCode(code, binding, one.code, pepper)) return false;
    const { confirmation } = one;
    return confirmation === undefined
      ? one.code.expires_at_ms > now
      : Date.parse(confirmation.confirmed_at) > now - REPEATED_MS;
  });
}

/**
 * Of right guesses that race one writes this; the others are answered alike. The documents are kept before: wherever this
 * breaks off, a confirmed registration has all of its documents.
 */
async function confirm(
  parts: ConfirmationParts,
  registration: StoredRegistration,
  signal: AbortSignal,
): Promise<StoredRegistration> {
  const [looked, kept] = await Promise.allSettled([
    parts.directory.isClient({ emailKey: registration.email_key }, signal),
    parts.documents.keep(registration.documents, signal),
  ]);
  if (looked.status === 'rejected') throw looked.reason;
  if (kept.status === 'rejected') throw kept.reason;
  const confirmation = {
    confirmed_at: new Date(parts.now()).toISOString(),
    email_taken: looked.value.email || registration.delivery?.email_taken === true,
    told: false,
  };
  const won = await parts.registrations.confirm(registration.registration_id, confirmation, signal);
  return won ? { ...registration, confirmation } : registration;
}

/** Tells of the registrations that were confirmed and not told by whoever confirmed them; what fails is told later. */
export async function tellUntold(
  parts: Pick<ConfirmationParts, 'events' | 'registrations'>,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<void> {
  const failed = (error: unknown) => telemetry.event('EventFailed', describeError(error));
  try {
    // One after the other, each on its own: none that fails holds up those behind it.
    for (const one of await parts.registrations.untold(signal)) await tellConfirmed(parts, one, signal).catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** Tells of a confirmed registration, and notes that it was told; what fails here can be told again. */
async function tellConfirmed(
  parts: Pick<ConfirmationParts, 'events' | 'registrations'>,
  { confirmation, ...registration }: StoredRegistration,
  signal: AbortSignal,
): Promise<void> {
  if (confirmation === undefined) return;
  const detail = {
    id: registration.registration_id,
    otp_type: registration.otp_type,
    verified: registration.otp_type === 'email' ? ('email' as const) : ('phone' as const),
    email_taken: confirmation.email_taken,
    form_id: registration.form_id,
    referrer_user_id: registration.referrer_user_id,
    requested_at: registration.requested_at,
    confirmed_at: confirmation.confirmed_at,
  };
  await parts.events.publish('RegistrationConfirmed', detail, signal);
  await parts.registrations.noteTold(registration.registration_id, signal);
}
