import { randomUUID } from 'node:crypto';
import { awaitAll } from '../deadline.ts';
import type { Request } from '../http/endpoint.ts';
import { DeliveryFailure, type Message, type OtpChannel } from '../messages/message.ts';
import { Problem } from '../problem.ts';
import type { Delivery } from '../records/registrations.ts';
import { passwordSalt, sealSecrets } from '../secrets/one-time-code.ts';
import { bestEffort, describeError } from '../telemetry.ts';
import type { CheckedCustomFields, RegistrationRequest } from '../validators/registration.ts';
import { type AdmittedWork, finish, passCounted, type Work } from './work.ts';

/**
 * Stores the registration and sends its message: the code, or the notice to the owner of the address.
 * @throws if certainly nothing was sent
 */
export async function keepAndSend(
  work: AdmittedWork,
  custom: CheckedCustomFields,
  referrerUserId: string | undefined,
): Promise<void> {
  const { dependencies, request, pepper, done, signal } = work;
  const { recipient, emailKey, phoneE164, password } = request.body;
  const registrationId = randomUUID();
  const [passwordHash, documents, channel] = await awaitAll([
    dependencies.hashPassword(password, passwordSalt(pepper.current, recipient.channel, recipient.key)),
    dependencies.documents.store(registrationId, custom.documents, signal),
    openChannel(work),
  ]);

  const requestedAt = dependencies.now();
  const code = dependencies.makeCode();
  const binding = { registrationId, channel: recipient.channel, address: recipient.key };
  const registration = {
    ...requestFields(request),
    registration_id: registrationId,
    password_hash: passwordHash,
    referrer_user_id: referrerUserId,
    custom_fields: JSON.stringify(custom.fields),
    consents: custom.consents,
    documents,
    requested_at: new Date(requestedAt).toISOString(),
  };
  const seals = sealSecrets({ code, passwordHash }, binding, pepper, requestedAt);
  done.registration = registration;
  // In parallel: the record does not depend on whether the address is a client's, the message does.
  const [, , known] = await awaitAll([
    done.key && dependencies.keys.markSent(done.key, registrationId, signal),
    countShared(work),
    dependencies.directory.isClient({ emailKey, phone: phoneE164 }, signal),
    dependencies.registrations.put(registration, seals, requestedAt, signal),
  ]);
  signal.throwIfAborted();

  // The owner of the address gets no code.
  const isOwners = recipient.channel === 'email' ? known.email : known.phone;
  const message: Message = isOwners ? { kind: 'owner_notice' } : { kind: 'code', code };
  const sent = await send(channel, message, work, registrationId);
  const sentAt = new Date(dependencies.now()).toISOString();
  const taken = { email_taken: known.email, phone_taken: known.phone };
  const delivery = { kind: message.kind, ...sent, sent_at: sentAt, ...taken };
  await noteDelivery(delivery, registrationId, work);
}

/** Opened and prepared while the password is hashed. `send` does the rest. */
async function openChannel({ dependencies, request }: Work): Promise<OtpChannel> {
  const channel = await dependencies.channel(request.body.recipient.channel);
  await channel.prepare?.(request.body.language).catch(() => {});
  return channel;
}

/**
 * Counts what recipients share. The recipient is counted before: of simultaneous requests for one recipient only the
 * one that may send comes here, so the others cannot use up its prefix, country or domain.
 * @throws as `passCounted`
 */
async function countShared(work: AdmittedWork): Promise<void> {
  passCounted(work, await work.admission.countShared(work.signal));
}

async function noteDelivery(delivery: Delivery, registrationId: string, work: Work): Promise<void> {
  const { dependencies, done, telemetry } = work;
  const noted = bestEffort(telemetry, 'delivery', (signal) =>
    dependencies.registrations.noteDelivery(registrationId, delivery, signal),
  );
  const finished = done.key && finish(work, done.key);
  await noted;
  await finished;
}

const MAX_USER_AGENT_CHARACTERS = 256;

/** The members of the record that come from the request unchanged. */
function requestFields({ body, source, userAgent }: Request<RegistrationRequest>) {
  return {
    type: body.type,
    otp_type: body.recipient.channel,
    address: body.recipient.key,
    email: body.email,
    email_key: body.emailKey,
    name: body.name,
    phone: body.phoneE164,
    phone_valid: body.phoneValid,
    form_id: body.form_id,
    referrer_id: body.referrer_id,
    language: body.language,
    source,
    user_agent: userAgent?.slice(0, MAX_USER_AGENT_CHARACTERS),
  };
}

/** @throws Problem `otp_delivery_failed` if certainly nothing was sent; an unknown outcome counts as sent */
async function send(
  channel: OtpChannel,
  message: Message,
  { request, telemetry, signal }: Work,
  registrationId: string,
): Promise<Pick<Delivery, 'outcome' | 'message_id'>> {
  const { recipient, language } = request.body;
  const scoped = telemetry.with({ channel: recipient.channel, registration_id: registrationId });
  try {
    const { messageId } = await channel.send(recipient.to, message, language, signal, registrationId);
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
