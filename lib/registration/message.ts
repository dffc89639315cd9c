import { randomUUID } from 'node:crypto';
import { DeliveryFailure, type Message, type OtpChannel } from '../messages/message.ts';
import { Problem } from '../problem.ts';
import type { Delivery, PendingRegistration } from '../records/registrations.ts';
import { CODE_VALID_MINUTES, sealCode } from '../secrets/one-time-code.ts';
import { bestEffort, describeError } from '../telemetry.ts';
import type { CheckedCustomFields, RegistrationRequest } from '../validators/registration.ts';
import { finishOperation, type RegistrationWork } from './work.ts';

/** Keeps the registration and sends its message, or the notice to the owner of the address; @throws when certainly nothing was sent */
export async function keepAndSend(
  work: RegistrationWork,
  custom: CheckedCustomFields,
  referrerUserId: string | undefined,
): Promise<void> {
  const { parts, request, operation, signal } = work;
  const { recipient } = request.body;
  const registrationId = randomUUID();
  const [passwordHash, documents, channel] = await all([
    parts.hashPassword(request.body.password),
    parts.documents.store(registrationId, custom.documents, signal),
    openChannel(work),
  ]);

  const requestedAt = parts.now();
  const code = parts.makeCode();
  const binding = { registrationId, channel: recipient.channel, address: recipient.key };
  const registration: PendingRegistration = {
    ...keptFields(request.body),
    registration_id: registrationId,
    password_hash: passwordHash,
    referrer_user_id: referrerUserId,
    custom_fields: JSON.stringify(custom.fields),
    consents: custom.consents,
    documents,
    code: sealCode(code, binding, work.pepper, requestedAt),
    requested_at: new Date(requestedAt).toISOString(),
  };
  // Side by side: the record does not depend on whether the address is a client's, the message does.
  const [known] = await all([
    parts.directory.isClient({ emailKey: request.body.emailKey, phone: request.body.phoneE164 }, signal),
    keep(registration, requestedAt, work),
    operation && parts.operations.markSent(operation, { registration_id: registrationId }, signal),
  ]);
  signal.throwIfAborted();

  const message = messageFor(recipient.channel === 'email' ? known.email : known.phone, code);
  const sent = await send(channel, message, work, registrationId);
  await noteDelivery({ kind: message.kind, ...sent, email_taken: known.email }, registrationId, work);
}

/** Opened and made ready while the password is hashed; what is not ready then, the send sees to. */
async function openChannel({ parts, request }: RegistrationWork): Promise<OtpChannel> {
  const channel = await parts.channel(request.body.recipient.channel);
  await channel.prepare?.(request.body.language).catch(() => {});
  return channel;
}

/** The owner of the address gets no code. */
function messageFor(isOwners: boolean, code: string): Message {
  return isOwners ? { kind: 'owner_notice' } : { kind: 'code', code, validMinutes: CODE_VALID_MINUTES };
}

async function noteDelivery(
  delivery: Delivery,
  registrationId: string,
  { parts, operation, telemetry }: RegistrationWork,
): Promise<void> {
  await Promise.all([
    bestEffort(telemetry, 'delivery', (settling) =>
      parts.registrations.noteDelivery(registrationId, delivery, settling),
    ),
    operation && finishOperation(parts, operation, telemetry),
  ]);
}

/** What is kept of the request as it is. */
function keptFields(body: RegistrationRequest) {
  return {
    type: body.type,
    otp_type: body.recipient.channel,
    address: body.recipient.key,
    email: body.email,
    email_key: body.emailKey,
    name: body.name,
    phone: body.phoneE164,
    form_id: body.form_id,
    referrer_id: body.referrer_id,
    language: body.language,
  };
}

async function keep(registration: PendingRegistration, requestedAt: number, work: RegistrationWork): Promise<void> {
  const { registrations } = work.parts;
  work.takeBack.registration = (settling) => registrations.remove(registration, settling);
  await registrations.put(registration, requestedAt, work.signal);
}

/** @throws Problem `otp_delivery_failed` when certainly nothing went out; an unknown outcome counts as sent */
async function send(
  channel: OtpChannel,
  message: Message,
  { request, telemetry, signal }: RegistrationWork,
  registrationId: string,
): Promise<Pick<Delivery, 'outcome' | 'message_id'>> {
  const { recipient, language } = request.body;
  const scoped = telemetry.with({ channel: recipient.channel, registration_id: registrationId });
  try {
    const { messageId } = await channel.send(recipient.to, message, language, signal);
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

/** Like `Promise.all`, but fails only when all have ended: nothing goes on behind an answer. */
async function all<const T extends readonly unknown[]>(work: T): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return Promise.all(work);
}
