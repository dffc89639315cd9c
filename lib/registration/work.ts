import type { RegistrationConfig } from '../config.ts';
import type { Request } from '../http/endpoint.ts';
import type { OtpChannel } from '../messages/message.ts';
import type { Documents } from '../records/documents.ts';
import type { Operation, Operations } from '../records/operations.ts';
import type { RegistrationDirectory } from '../records/registration-directory.ts';
import type { Registrations } from '../records/registrations.ts';
import type { Admission, SendLimits } from '../records/send-limits.ts';
import type { Pepper } from '../secrets/pepper.ts';
import { bestEffort, type Telemetry } from '../telemetry.ts';
import type { Channel } from '../validators/otp-types.ts';
import type { RegistrationRequest } from '../validators/registration.ts';

/** What a registration needs; tests pass fakes. */
export interface RegistrationParts {
  /** Of the deployment. */
  settings: RegistrationConfig;
  directory: RegistrationDirectory;
  operations: Operations;
  registrations: Registrations;
  documents: Documents;
  channel(name: Channel): Promise<OtpChannel>;
  /** The secret keys that codes are sealed with; the limits know addresses only under one of them. */
  pepper(signal: AbortSignal): Promise<Pepper>;
  limits(pepper: Pepper): SendLimits;
  hashPassword(password: string): Promise<string>;
  /** Whether a hash is that of a password; without a hash it takes as long, and is true. */
  isPassword(hash: string | undefined, password: string): Promise<boolean>;
  makeCode(): string;
  now(): number;
}

type TakeBack = (signal: AbortSignal) => Promise<void>;

/** One request for a registration while it is worked on. */
export interface RegistrationWork {
  parts: RegistrationParts;
  pepper: Pepper;
  request: Request<RegistrationRequest>;
  operation: Operation | undefined;
  admission: Admission;
  telemetry: Telemetry;
  signal: AbortSignal;
  /** What is taken back when certainly nothing is sent, so that the caller may ask again at once. */
  takeBack: { limits?: TakeBack; registration?: TakeBack };
}

/** Ends the operation of a request; a failure changes nothing in its answer. */
export async function finishOperation(
  parts: Pick<RegistrationParts, 'operations'>,
  operation: Operation,
  telemetry: Telemetry,
): Promise<void> {
  await bestEffort(telemetry, 'finish', (settling) => parts.operations.finish(operation, settling));
}
