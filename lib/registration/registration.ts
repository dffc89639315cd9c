import type { Answer, Request } from '../http/endpoint.ts';
import { fingerprints } from '../http/idempotency.ts';
import { invalid, Problem, type ProblemType } from '../problem.ts';
import { type Claim, LeaseLost, workable } from '../records/operations.ts';
import type { Verdict } from '../records/send-limits.ts';
import type { Pepper } from '../secrets/pepper.ts';
import { bestEffort, type Telemetry } from '../telemetry.ts';
import type { Form } from '../validators/form.ts';
import { isObject } from '../validators/primitives.ts';
import { type CheckedCustomFields, checkCustomFields, type RegistrationRequest } from '../validators/registration.ts';
import { keepAndSend } from './message.ts';
import { finishOperation, type RegistrationParts, type RegistrationWork } from './work.ts';

/**
 * Keeps a pending registration and sends its one-time password (specification, 4.1). Whether the address is a
 * client's shows neither in the answer nor in the calls that are made: its owner gets a notice instead of a code.
 * @throws Problem for every outcome but 204
 */
export async function requestRegistration(
  parts: RegistrationParts,
  request: Request<RegistrationRequest>,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<Answer> {
  const { pepper, claim, admission, records } = await begin(parts, request, signal);
  if (claim !== undefined && claim.kind !== 'fresh') {
    // Counted side by side with one that may be at work, a place that was taken here is for that one.
    const isOver = claim.kind === 'finished' || claim.kind === 'undecided';
    const dropped = isOver && bestEffort(telemetry, 'limits', (settling) => admission.dropRepeat(settling));
    return await repeat(parts, claim, request, telemetry, signal).finally(() => dropped);
  }

  const operation = claim?.operation;
  const takeBack: RegistrationWork['takeBack'] = { limits: (settling) => admission.dropRequest(settling) };
  const work: RegistrationWork = { parts, pepper, request, operation, admission, telemetry, signal, takeBack };
  try {
    if (records.status === 'rejected') throw records.reason;
    await register(work, records.value.form, records.value.referrerId);
  } catch (error) {
    await takeAllBack(work, error instanceof LeaseLost);
    if (error instanceof LeaseLost) throw new Problem('request_in_progress', { retryAfterSeconds: 1 });
    throw error;
  }
  return { body: undefined };
}

/** Claims the key, counts the source and reads the form, side by side. */
async function begin(parts: RegistrationParts, request: Request<RegistrationRequest>, signal: AbortSignal) {
  const { form_id: formId, referrer_id: referralCode } = request.body;
  const [begun, records] = await Promise.allSettled([
    claimAndCount(parts, request, signal),
    // Beside the pepper too, which a cold start has to ask for.
    parts.directory.forRegistration({ formId, referralCode }, signal),
  ]);
  if (begun.status === 'rejected') throw begun.reason;
  return { ...begun.value, records };
}

async function claimAndCount(
  parts: RegistrationParts,
  { body, sentBody, source, idempotencyKey, caller = source, endsAt }: Request<RegistrationRequest>,
  signal: AbortSignal,
) {
  const pepper = await parts.pepper(signal);
  const key = idempotencyKey === undefined ? undefined : ['registration', caller, idempotencyKey];
  const [claim, admission] = await Promise.allSettled([
    key && parts.operations.claim(key, fingerprintsOf(sentBody, pepper), endsAt - parts.now() + 1_000, signal),
    parts.limits(pepper).admit({ key, recipient: body.recipient, source }, signal),
  ]);
  if (claim.status === 'rejected') throw claim.reason;
  if (admission.status === 'rejected') throw admission.reason;
  return { pepper, claim: claim.value, admission: admission.value };
}

/** Fingerprints can be tried out much faster than a password's own hash: they hold nothing of it. */
function fingerprintsOf(sentBody: Record<string, unknown>, { keys }: Pepper): string[] {
  return fingerprints(sentBody, keys, ['password', 'repeat_password']);
}

/** Answers a request whose key an earlier one has. One that may have sent never sends again: its answer was, or would have been, 204. */
async function repeat(
  parts: RegistrationParts,
  claim: Exclude<Claim, { kind: 'fresh' }>,
  { body }: Request<RegistrationRequest>,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<Answer> {
  if (claim.kind === 'undecided') await finishOperation(parts, claim.operation, telemetry);
  if (claim.kind !== 'reused') {
    const item = claim.kind === 'in_progress' ? claim.known?.item : claim.item;
    const hash = await hashOf(parts, item?.details, signal);
    if (!(await parts.isPassword(hash, body.password))) throw new Problem('idempotency_key_reused');
  }
  workable(claim);
  return { body: undefined, replayed: true };
}

/** The password's hash of the registration that an operation has kept, while it is kept. */
async function hashOf(parts: RegistrationParts, details: unknown, signal: AbortSignal): Promise<string | undefined> {
  if (!isObject(details) || typeof details.registration_id !== 'string') return undefined;
  return (await parts.registrations.get(details.registration_id, signal))?.password_hash;
}

/** @param lost another worker goes on with the operation, and has its places */
async function takeAllBack({ takeBack, operation, parts, telemetry }: RegistrationWork, lost: boolean): Promise<void> {
  const { registration, limits } = takeBack;
  await Promise.all([
    !lost && limits && bestEffort(telemetry, 'limits', limits),
    registration && bestEffort(telemetry, 'registration', registration),
  ]);
  if (operation === undefined || lost) return;
  await bestEffort(telemetry, 'release', (settling) => parts.operations.release(operation, settling));
}

/** @throws when certainly nothing was sent */
async function register(
  work: RegistrationWork,
  form: Form | undefined,
  referrerUserId: string | undefined,
): Promise<void> {
  const { admission, request, signal } = work;
  refuseReached(work, admission.ofSource);
  await passCaptcha(work);
  const custom = await withoutFaults(work, form, referrerUserId);

  work.takeBack.limits = (settling) => admission.dropMessage(settling);
  const verdict = await admission.ofMessage(signal);
  refuseReached(work, verdict);
  if (verdict.kind === 'unchecked') {
    const { channel } = request.body.recipient;
    work.telemetry.event('LimitUncheckable', { channel });
    // A text or a call costs money: without its limits it is not sent. A mail goes on.
    if (channel !== 'email') throw new Error('The send limits could not be checked.');
  }
  await keepAndSend(work, custom, referrerUserId);
}

/** @throws Problem where a limit is reached */
function refuseReached({ takeBack, admission, request, telemetry }: RegistrationWork, verdict: Verdict): void {
  if (verdict.kind !== 'reached') return;
  takeBack.limits = (settling) => admission.dropMessage(settling);
  telemetry.event('LimitReached', { channel: request.body.recipient.channel });
  throw new Problem('too_many_requests', { retryAfterSeconds: verdict.retryAfterSeconds });
}

/** @throws Problem `captcha_failed`; the source's place is used up, or tokens could be tried out */
async function passCaptcha({ takeBack, admission, request, telemetry, signal }: RegistrationWork): Promise<void> {
  const outcome = await request.captcha?.(signal);
  if (outcome === undefined || outcome.kind === 'passed') return;
  if (outcome.kind === 'refused') {
    takeBack.limits = (settling) => admission.dropMessage(settling);
    throw new Problem('captcha_failed');
  }
  const { channel } = request.body.recipient;
  telemetry.event('CaptchaUnavailable', { channel, reason: outcome.reason });
  if (channel !== 'email') throw new Error('The captcha could not be checked.');
}

/** @throws Problem for what the request itself has wrong */
async function withoutFaults(
  work: RegistrationWork,
  form: Form | undefined,
  referrerUserId: string | undefined,
): Promise<CheckedCustomFields> {
  const { parts, request } = work;
  const { body } = request;
  if (form === undefined) return await refuseWrongId(work, 'form_not_found');
  const custom = await checkCustomFields(form, body.members);
  if (!custom.ok) {
    throw custom.tooLarge ? new Problem('payload_too_large', { errors: custom.faults }) : invalid(custom.faults);
  }
  const wrongDocuments = await parts.documents.inspect(custom.documents);
  if (wrongDocuments.length > 0) throw invalid(wrongDocuments);
  const { channels: available } = parts.settings;
  if (!available.includes(body.recipient.channel)) {
    throw new Problem('otp_type_unavailable', { members: { available } });
  }
  if (body.referrer_id !== undefined && referrerUserId === undefined) {
    return await refuseWrongId(work, 'referrer_not_found');
  }
  return custom;
}

async function refuseWrongId(work: RegistrationWork, type: ProblemType): Promise<never> {
  const verdict = await work.admission.ofWrongId(work.signal);
  delete work.takeBack.limits;
  refuseReached(work, verdict);
  throw new Problem(type);
}
