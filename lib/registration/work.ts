import type { RegistrationConfig } from '../config.ts';
import type { Request } from '../http/endpoint.ts';
import type { Counted } from '../limits/counter.ts';
import type { Admission, LimitDecision, RegistrationLimits } from '../limits/limits.ts';
import type { OtpChannel } from '../messages/message.ts';
import { Problem } from '../problem.ts';
import type { Documents } from '../records/documents.ts';
import type { RegistrationDirectory } from '../records/registration-directory.ts';
import type { HeldKey, RegistrationKeys } from '../records/registration-keys.ts';
import type { PendingRegistration, Registrations } from '../records/registrations.ts';
import type { Pepper } from '../secrets/pepper.ts';
import { bestEffort, type Telemetry } from '../telemetry.ts';
import type { Channel } from '../validators/otp-types.ts';
import type { RegistrationRequest } from '../validators/registration.ts';

/** The dependencies of a registration; tests pass fakes. */
export interface RegistrationDependencies {
  /** Of the deployment. */
  settings: RegistrationConfig;
  directory: RegistrationDirectory;
  keys: RegistrationKeys;
  registrations: Registrations;
  documents: Pick<Documents, 'inspect' | 'store'>;
  limits: RegistrationLimits;
  channel(name: Channel): Promise<OtpChannel>;
  /** The secret keys that codes are sealed with, and that name the counters of the limits. */
  pepper(signal: AbortSignal): Promise<Pepper>;
  /** @returns its PHC string */
  hashPassword(password: string, salt: Buffer): Promise<string>;
  /** Whether a hash is that of a password; without a hash it takes as long, and is true. */
  matchesPassword(hash: string | undefined, password: string): Promise<boolean>;
  makeCode(): string;
  now(): number;
}

/** One request for a registration, while it is worked on. */
export interface Work {
  readonly dependencies: RegistrationDependencies;
  readonly request: Request<RegistrationRequest>;
  readonly telemetry: Telemetry;
  readonly signal: AbortSignal;
  readonly done: Done;
}

/** A request whose key is claimed and whose source is counted. */
export interface AdmittedWork extends Work {
  readonly pepper: Pepper;
  readonly admission: Admission;
}

/** The counts, claims and writes of a request. They are undone if certainly nothing was sent. */
interface Done {
  readonly counted: Counted[];
  /** Its `Idempotency-Key`. */
  key?: HeldKey;
  /** Recorded before the write: a failed write may have succeeded. */
  registration?: PendingRegistration;
}

/**
 * Undoes a request. A failure does not change its answer.
 * @param lostLease true: another worker holds the key, so it is not released
 */
export async function undo({ dependencies, done, telemetry }: Work, lostLease = false): Promise<void> {
  const { limits, keys, registrations } = dependencies;
  const { counted, key, registration } = done;
  await Promise.all([
    counted.length > 0 && bestEffort(telemetry, 'limits', (signal) => limits.release(counted, signal)),
    registration && bestEffort(telemetry, 'registration', (signal) => registrations.remove(registration, signal)),
  ]);
  // Last: a retry with the same key must not see the counts of this request.
  if (key === undefined || lostLease) return;
  await bestEffort(telemetry, 'release', (signal) => keys.release(key, signal));
}

/** Ends the work on a key. A failure does not change the answer. */
export async function finish({ dependencies, telemetry }: Work, key: HeldKey): Promise<void> {
  await bestEffort(telemetry, 'finish', (signal) => dependencies.keys.finish(key, signal));
}

/** As `passLimit`, for a decision whose counts are not recorded for `undo` yet. */
export function passCounted(work: Work, decision: LimitDecision): void {
  work.done.counted.push(...decision.counted);
  passLimit(work, decision);
}

/** @throws Problem if a limit is reached; Error if those of a message to a phone could not be checked */
export function passLimit({ request, telemetry }: Work, decision: LimitDecision): void {
  const { channel } = request.body.recipient;
  refuseReached(decision, channel, telemetry);
  if (decision.kind !== 'unchecked') return;
  telemetry.event('LimitUncheckable', { channel });
  // Texts and calls cost money: none is sent without its limits. A mail is.
  if (channel !== 'email') throw new Error('The limits could not be checked.');
}

/** @throws Problem if a limit is reached */
export function refuseReached(decision: LimitDecision, channel: Channel, telemetry: Telemetry): void {
  if (decision.kind !== 'reached') return;
  telemetry.event('LimitReached', { channel });
  throw new Problem('too_many_requests', { retryAfterSeconds: decision.retryAfterSeconds });
}
