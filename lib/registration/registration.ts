import { awaitAll } from '../deadline.ts';
import type { Answer, Request } from '../http/endpoint.ts';
import { fingerprints } from '../http/idempotency.ts';
import type { Admission } from '../limits/limits.ts';
import { invalid, Problem, type ProblemType } from '../problem.ts';
import type { RegistrationDirectory } from '../records/registration-directory.ts';
import { type KeyClaim, LeaseLost } from '../records/registration-keys.ts';
import type { Pepper } from '../secrets/pepper.ts';
import type { Telemetry } from '../telemetry.ts';
import { MAX_VIOLATIONS } from '../validators/primitives.ts';
import { type CheckedCustomFields, checkCustomFields, type RegistrationRequest } from '../validators/registration.ts';
import { keepAndSend } from './message.ts';
import {
  type AdmittedWork,
  finish,
  passCounted,
  passLimit,
  type RegistrationDependencies,
  refuseReached,
  undo,
  type Work,
} from './work.ts';

/**
 * Keeps a pending registration and sends its one-time password (specification, 4.1). Neither the answer nor the calls
 * show whether the address is a client's: its owner gets a notice instead of a code.
 * @throws Problem for every outcome but 204
 */
export async function requestRegistration(
  dependencies: RegistrationDependencies,
  request: Request<RegistrationRequest>,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<Answer> {
  const work: Work = { dependencies, request, telemetry, signal, done: { counted: [] } };
  try {
    const { claim, records, ...admitted } = await begin(work);
    if (claim === undefined || claim.kind === 'fresh') {
      await register({ ...work, ...admitted }, records);
      return { body: undefined };
    }
    await checkReplay({ ...work, ...admitted }, claim);
  } catch (error) {
    await undo(work, error instanceof LeaseLost);
    if (error instanceof LeaseLost) throw new Problem('request_in_progress', { retryAfterSeconds: 1 });
    throw error;
  }
  // A replay sends nothing.
  await undo(work);
  return { body: undefined, replayed: true };
}

/** The CRM records that a registration names. */
type Records = Awaited<ReturnType<RegistrationDirectory['readRegistrationRecords']>>;

/** Claims the key, counts the source and reads the form, in parallel. */
async function begin(work: Work) {
  const { dependencies, request, signal } = work;
  const { form_id: formId, referrer_id: referralCode } = request.body;
  const [begun, records] = await awaitAll([
    claimAndCount(work),
    // In parallel with the pepper too, which a cold start reads first.
    dependencies.directory.readRegistrationRecords({ formId, referralCode }, work.telemetry, signal),
  ]);
  return { ...begun, records };
}

async function claimAndCount(work: Work) {
  const pepper = await work.dependencies.pepper(work.signal);
  const [claim, admission] = await awaitAll([claimKey(work, pepper), countSource(work, pepper)]);
  return { pepper, claim, admission };
}

async function claimKey({ dependencies, request, signal, done }: Work, pepper: Pepper): Promise<KeyClaim | undefined> {
  const key = scopedKey(request);
  if (key === undefined) return undefined;
  // A fingerprint is much faster to guess than a password hash, so it excludes the password.
  const sent = fingerprints(
    request.sentBody,
    pepper.keys.map(({ hmacKey }) => hmacKey),
    ['password', 'repeat_password'],
  );
  const leaseMs = request.endsAt - dependencies.now() + 1_000;
  const claim = await dependencies.keys.claim(key, sent, leaseMs, signal);
  if (claim.kind === 'fresh') done.key = claim.held;
  return claim;
}

/** The key with its scope. */
function scopedKey({ idempotencyKey, source, caller = source }: Request<RegistrationRequest>): string[] | undefined {
  return idempotencyKey === undefined ? undefined : ['registration', caller, idempotencyKey];
}

async function countSource({ dependencies, request, signal, done }: Work, pepper: Pepper): Promise<Admission> {
  const asked = { source: request.source, recipient: request.body.recipient };
  const admission = await dependencies.limits.admit(asked, pepper, signal);
  done.counted.push(...admission.source.counted);
  return admission;
}

/**
 * Passes if the request gets the same answer as the first one with its key. A request that may have sent a message
 * never sends again: its answer was or would have been 204.
 * @throws Problem for every other answer
 */
async function checkReplay(work: AdmittedWork, claim: Exclude<KeyClaim, { kind: 'fresh' }>): Promise<void> {
  const { dependencies, request, pepper, telemetry, signal } = work;
  const { password, recipient } = request.body;
  if (claim.kind === 'reused') throw new Problem('idempotency_key_reused');
  const { registrationId } = claim;
  const [limit, registration] = await awaitAll([
    dependencies.limits.countReplay(scopedKey(request) ?? [], pepper, signal),
    registrationId === undefined ? undefined : dependencies.registrations.get(registrationId, signal),
    claim.kind === 'undecided' && finish(work, claim.held),
  ]);
  // Each replay costs a hash.
  refuseReached(limit, recipient.channel, telemetry);
  const matches = await dependencies.matchesPassword(registration?.password_hash, password);
  if (!matches) throw new Problem('idempotency_key_reused');
  if (claim.kind === 'in_progress') {
    throw new Problem('request_in_progress', { retryAfterSeconds: claim.retryAfterSeconds });
  }
}

/** Registers the person. @throws if certainly nothing was sent */
async function register(work: AdmittedWork, records: Records): Promise<void> {
  try {
    passLimit(work, work.admission.source);
    await checkCaptcha(work);
    const custom = await checkFields(work, records);
    passCounted(work, await work.admission.countRecipient(work.signal));
    await keepAndSend(work, custom, records.referrerId);
  } catch (error) {
    const { channel } = work.request.body.recipient;
    const type = error instanceof Problem ? error.type : 'internal_error';
    work.telemetry.event('RegistrationRefused', { channel, type });
    throw error;
  }
}

/** @throws Problem `captcha_failed` */
async function checkCaptcha({ request, telemetry, signal }: Work): Promise<void> {
  const outcome = await request.captcha?.(signal);
  if (outcome === undefined || outcome.kind === 'passed') return;
  if (outcome.kind === 'refused') throw new Problem('captcha_failed');
  const { channel } = request.body.recipient;
  telemetry.event('CaptchaUnavailable', { channel, reason: outcome.reason });
  if (channel !== 'email') throw new Error('The captcha could not be checked.');
}

/** @throws Problem for the request's own errors */
async function checkFields(work: AdmittedWork, { form, referrerId }: Records): Promise<CheckedCustomFields> {
  const { dependencies, request } = work;
  const { body } = request;
  if (form === undefined) return await refuseWrongId(work, 'form_not_found');
  const custom = await checkCustomFields(form, body.members);
  const wrongDocuments = await dependencies.documents.inspect(custom.documents);
  if (!custom.ok) {
    const errors = [...custom.violations, ...wrongDocuments].slice(0, MAX_VIOLATIONS);
    throw custom.tooLarge ? new Problem('payload_too_large', { errors }) : invalid(errors);
  }
  if (wrongDocuments.length > 0) throw invalid(wrongDocuments);
  const { channels: available } = dependencies.settings;
  if (!available.includes(body.recipient.channel)) {
    throw new Problem('otp_type_unavailable', { members: { available } });
  }
  if (body.referrer_id !== undefined && referrerId === undefined) {
    return await refuseWrongId(work, 'referrer_not_found');
  }
  return custom;
}

/** Ids can be guessed, so each wrong one is counted, and never released. */
async function refuseWrongId(
  { admission, request, telemetry, signal }: AdmittedWork,
  type: ProblemType,
): Promise<never> {
  refuseReached(await admission.countWrongId(signal), request.body.recipient.channel, telemetry);
  throw new Problem(type);
}
