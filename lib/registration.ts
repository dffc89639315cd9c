import { randomUUID } from 'node:crypto';
import type { Answer, Request } from './http/endpoint.ts';
import { fingerprint } from './http/idempotency.ts';
import { invalid, Problem } from './http/problem.ts';
import { DeliveryFailure, type Message, type OtpChannel } from './messages/message.ts';
import type { Directory } from './records/directory.ts';
import type { Documents } from './records/documents.ts';
import { LeaseLost, type Operation, type Operations, workable } from './records/operations.ts';
import type { Delivery, PendingRegistration, Registrations } from './records/registrations.ts';
import type { SendLimits } from './records/send-limits.ts';
import { CODE_VALID_MINUTES, sealCode } from './secrets/one-time-code.ts';
import type { Pepper } from './secrets/pepper.ts';
import { describeError, quietly, type Telemetry } from './telemetry.ts';
import type { CheckedDocument } from './validators/custom-fields.ts';
import type { Form } from './validators/form.ts';
import type { Channel } from './validators/otp-types.ts';
import { checkCustomFields, type RegistrationRequest } from './validators/registration.ts';

/** What a registration needs; tests pass fakes. */
export interface RegistrationParts {
  directory: Directory;
  operations: Operations;
  registrations: Registrations;
  documents: Documents;
  channels: { readonly available: readonly Channel[]; channel(name: Channel): Promise<OtpChannel> };
  /** The secret keys that codes are sealed with; the limits know addresses only under one of them. */
  pepper(signal: AbortSignal): Promise<Pepper>;
  limits(pepper: Pepper): SendLimits;
  hashPassword(password: string): Promise<string>;
  makeCode(): string;
  now(): number;
}

interface Attempt {
  parts: RegistrationParts;
  pepper: Pepper;
  request: Request<RegistrationRequest>;
  operation: Operation | undefined;
  telemetry: Telemetry;
  signal: AbortSignal;
  /** What is to be taken back if certainly nothing is sent, so that the caller may try again at once. */
  undo: { step: string; work: (signal: AbortSignal) => Promise<void> }[];
}

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
  const { body } = request;
  const peppered = parts.pepper(signal);
  const [claimed, records] = await Promise.allSettled([
    peppered.then(({ keys }) =>
      request.idempotencyKey === undefined
        ? undefined
        : parts.operations.claim(
            ['registration', request.caller ?? request.source, request.idempotencyKey],
            keys.map((key) => fingerprint(request.sentBody, key)),
            request.endsAt - parts.now() + 1_000,
            signal,
          ),
    ),
    // Beside the pepper too, which a cold start has to ask for.
    parts.directory.forRegistration({ formId: body.form_id, referralCode: body.referrer_id }, signal),
  ]);
  if (claimed.status === 'rejected') throw claimed.reason;
  const pepper = await peppered;
  const claim = claimed.value === undefined ? undefined : workable(claimed.value);
  const operation = claim?.operation;
  // An earlier try that may have sent is never sent again: its answer was, or would have been, this one.
  if (claim?.kind === 'undecided') await finish(parts, claim.operation, telemetry);
  if (claim?.kind === 'finished' || claim?.kind === 'undecided') return { body: undefined, replayed: true };

  const attempt: Attempt = { parts, pepper, request, operation, telemetry, signal, undo: [] };
  try {
    if (records.status === 'rejected') throw records.reason;
    await register(attempt, records.value.form, records.value.referrerId);
  } catch (error) {
    const lost = error instanceof LeaseLost;
    if (operation !== undefined && !lost) {
      attempt.undo.push({ step: 'release', work: (settling) => parts.operations.release(operation, settling) });
    }
    await Promise.all(attempt.undo.map(({ step, work }) => quietly(telemetry, step, work)));
    if (lost) throw new Problem('request_in_progress', { retryAfterSeconds: 1 });
    throw error;
  }
  return { body: undefined };
}

/** @throws when certainly nothing was sent */
async function register(attempt: Attempt, form: Form | undefined, referrerUserId: string | undefined): Promise<void> {
  const { parts, pepper, request, telemetry, signal } = attempt;
  const { body } = request;
  if (form === undefined) throw new Problem('form_not_found');
  const custom = await checkCustomFields(form, body.customFields);
  if (!custom.ok)
    throw custom.tooLarge ? new Problem('payload_too_large', { errors: custom.faults }) : invalid(custom.faults);
  const wrongDocuments = await parts.documents.inspect(custom.documents);
  if (wrongDocuments.length > 0) throw invalid(wrongDocuments);
  const { channel } = body.recipient;
  const { available } = parts.channels;
  if (!available.includes(channel)) throw new Problem('otp_type_unavailable', { members: { available } });
  if (body.referrer_id !== undefined && referrerUserId === undefined) throw new Problem('referrer_not_found');

  const limits = parts.limits(pepper);
  const decision = await limits.count({ channel, recipient: body.recipient.key, source: request.source }, signal);
  if (decision.kind === 'reached') {
    telemetry.event('LimitReached', { channel });
    throw new Problem('too_many_requests', { retryAfterSeconds: decision.retryAfterSeconds });
  }
  attempt.undo.push({ step: 'limits', work: (settling) => limits.release(decision.ticket, settling) });
  if (decision.kind === 'unchecked') {
    telemetry.event('LimitUncheckable', { channel });
    // A text or a call costs money: without its limits it is not sent. A mail goes on.
    if (channel !== 'email') throw new Error('The send limits could not be checked.');
  }
  await prepareAndSend(attempt, custom, referrerUserId);
}

/** Everything from the password's hash to the sent message; @throws when certainly nothing was sent */
async function prepareAndSend(
  attempt: Attempt,
  custom: { fields: Record<string, unknown>; documents: CheckedDocument[] },
  referrerUserId: string | undefined,
): Promise<void> {
  const { parts, pepper, request, operation, telemetry, signal } = attempt;
  const { body } = request;
  const { recipient } = body;
  const registrationId = randomUUID();
  const [password_hash, documents, channel] = await all([
    parts.hashPassword(body.password),
    parts.documents.store(registrationId, custom.documents, signal),
    parts.channels.channel(recipient.channel),
  ]);

  const requestedAt = parts.now();
  const code = parts.makeCode();
  const binding = { registrationId, channel: recipient.channel, address: recipient.key };
  const registration: PendingRegistration = {
    registration_id: registrationId,
    type: body.type,
    otp_type: recipient.channel,
    address: recipient.key,
    email: body.email,
    email_key: body.emailKey,
    name: body.name,
    phone: body.phoneE164,
    password_hash,
    form_id: body.form_id,
    referrer_id: body.referrer_id,
    referrer_user_id: referrerUserId,
    custom_fields: JSON.stringify(custom.fields),
    documents,
    language: body.language,
    code: sealCode(code, binding, pepper, requestedAt),
    requested_at: new Date(requestedAt).toISOString(),
  };
  // Side by side: the record does not depend on whether the address is a client's, the message does.
  const [known] = await all([
    parts.directory.isClient({ emailKey: body.emailKey, phone: body.phoneE164 }, signal),
    keep(registration, requestedAt, attempt),
    operation && parts.operations.markSent(operation, { registration_id: registrationId }, signal),
  ]);
  signal.throwIfAborted();

  const isOwners = recipient.channel === 'email' ? known.email : known.phone;
  const message: Message = isOwners
    ? { kind: 'owner_notice' }
    : { kind: 'code', code, validMinutes: CODE_VALID_MINUTES };
  const sent = await send(channel, recipient.to, message, attempt, registrationId);

  const delivery: Delivery = { kind: message.kind, ...sent, email_taken: known.email };
  await Promise.all([
    quietly(telemetry, 'delivery', (settling) => parts.registrations.noteDelivery(registration, delivery, settling)),
    operation && finish(parts, operation, telemetry),
  ]);
}

async function keep(registration: PendingRegistration, requestedAt: number, attempt: Attempt): Promise<void> {
  const work = await attempt.parts.registrations.put(registration, requestedAt, attempt.signal);
  attempt.undo.push({ step: 'registration', work });
}

/** @throws Problem `otp_delivery_failed` when certainly nothing went out; an unknown outcome counts as sent */
async function send(
  channel: OtpChannel,
  to: string,
  message: Message,
  { request, telemetry, signal }: Attempt,
  registrationId: string,
): Promise<Pick<Delivery, 'outcome' | 'message_id'>> {
  const scoped = telemetry.with({ channel: request.body.recipient.channel, registration_id: registrationId });
  try {
    const { messageId } = await channel.send(to, message, request.body.language, signal);
    scoped.event('OtpSent', { message_id: messageId });
    return { outcome: 'sent', message_id: messageId };
  } catch (error) {
    if (error instanceof DeliveryFailure && error.kind !== 'unknown_outcome') {
      scoped.event('OtpDeliveryFailed', { kind: error.kind, reason: error.reason });
      throw new Problem('otp_delivery_failed', { cause: error });
    }
    scoped.event('OtpOutcomeUnknown', describeError(error));
    return { outcome: 'unknown' };
  }
}

async function finish(parts: RegistrationParts, operation: Operation, telemetry: Telemetry): Promise<void> {
  await quietly(telemetry, 'finish', (settling) => parts.operations.finish(operation, settling));
}

/** Like `Promise.all`, but fails only when all have ended: nothing goes on behind an answer. */
async function all<const T extends readonly unknown[]>(work: T): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return Promise.all(work);
}
