import { randomUUID } from 'node:crypto';
import type { RegistrationConfig } from '../config.ts';
import { awaitAll } from '../deadline.ts';
import type { ApiAnswer, ApiRequest } from '../http/endpoint.ts';
import { countedSource } from '../limits/counters.ts';
import type { Arrival, LimitDecision, RegistrationLimits } from '../limits/limits.ts';
import { DeliveryFailure, type OtpChannel, SEND_FAILURE_EVENTS } from '../messages/message.ts';
import { Problem, validationProblem } from '../problem.ts';
import type { Documents } from '../records/documents.ts';
import { fingerprints } from '../records/idempotency-keys.ts';
import type { RegistrationDirectory } from '../records/registration-directory.ts';
import type { EarlierRegistration, Lease, Registrations } from '../records/registrations.ts';
import { keyedUuid, type Pepper } from '../secrets/keys.ts';
import { sealCode } from '../secrets/one-time-code.ts';
import { bestEffort, describeError, type Telemetry } from '../telemetry.ts';
import type { Channel } from '../validators/otp-types.ts';
import { MAX_VIOLATIONS } from '../validators/primitives.ts';
import {
  type CheckedCustomFields,
  checkCustomFields,
  keptFields,
  type RegistrationRequest,
} from '../validators/registration.ts';

/** The dependencies of a registration; tests pass fakes. */
export interface RegistrationDependencies {
  /** The settings of the deployment. */
  settings: RegistrationConfig;
  directory: Pick<RegistrationDirectory, 'readRegistrationRecords'>;
  registrations: Pick<Registrations, 'findEarlier' | 'claim' | 'store' | 'finish' | 'free'>;
  documents: Pick<Documents, 'inspect' | 'store'>;
  limits: RegistrationLimits;
  channel(name: Channel): Promise<OtpChannel>;
  /** The secret keys that codes are sealed with, and that name the counters of the limits. */
  pepper(signal: AbortSignal): Promise<Pepper>;
  /** Hashes a password. @returns the PHC string of the hash */
  hashPassword(password: string): Promise<string>;
  /** Whether this is the password of a PHC string. */
  verifyPassword(phc: string, password: string): Promise<boolean>;
  makeCode(): string;
  /** Waits for a random part of this time, in milliseconds; less if the signal aborts. Never throws. */
  pause(maxMs: number, signal: AbortSignal): Promise<void>;
  now(): number;
}

/** One request, while it is worked on. */
interface Work {
  readonly dependencies: RegistrationDependencies;
  readonly request: ApiRequest<RegistrationRequest>;
  readonly telemetry: Telemetry;
  readonly signal: AbortSignal;
}

/** What is known of a request once its source is counted and its records are read. */
interface Asked {
  readonly pepper: Pepper;
  readonly limits: Arrival;
  readonly records: Awaited<ReturnType<RegistrationDirectory['readRegistrationRecords']>>;
  /** The registration of an earlier request with the same key. */
  readonly earlier: EarlierRegistration | undefined;
  /** The fingerprints of the body, one for each key of the pepper, the current one first. Empty without an `Idempotency-Key`. */
  readonly fingerprints: readonly string[];
  readonly lease: Lease;
}

/**
 * Stores a pending registration and sends its one-time password (specification, 4.1). Nobody is looked up by an address,
 * so neither the answer nor the calls show whether it is a client's.
 * @throws Problem for every outcome but 204
 */
export async function requestRegistration(
  dependencies: RegistrationDependencies,
  request: ApiRequest<RegistrationRequest>,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  const work: Work = { dependencies, request, telemetry, signal };
  try {
    // Who asks, and for which form?
    const asked = await ask(work);
    passLimit(work, asked.limits.source);
    if (await isReplay(work, asked)) return registrationAnswer(asked.earlier?.registrationId, true);

    // Is it a person, and is the form filled in?
    await checkCaptcha(work);
    const fields = await checkForm(work, asked);

    const { lease } = asked;
    try {
      const message = await keep(work, asked, fields);
      await sendMessage(work, message, lease.registrationId);
    } catch (error) {
      // Certainly nothing was sent: a retry with the same key is a new request.
      if (lease.fingerprint !== undefined) {
        await bestEffort(telemetry, 'release', (until) => dependencies.registrations.free(lease, until));
      }
      throw error;
    }
    if (lease.fingerprint !== undefined) {
      await bestEffort(telemetry, 'finish', (until) => dependencies.registrations.finish(lease, until));
    }
    return registrationAnswer(lease.registrationId);
  } catch (error) {
    const { channel } = request.body.recipient;
    telemetry.event('RegistrationRefused', { channel, type: error instanceof Problem ? error.type : 'internal_error' });
    throw error;
  }
}

function registrationAnswer(registrationId = '', replayed = false): ApiAnswer {
  return { body: undefined, headers: { 'registration-id': registrationId }, replayed };
}

/**
 * Counts the source, and reads the form, the referral code and the key, in parallel. Only a cold start, and a refresh of
 * the secret, waits for the pepper first.
 */
async function ask({ dependencies, request, telemetry, signal }: Work): Promise<Asked> {
  const { form_id: formId, referrer_id: referralCode, recipient } = request.body;
  const reading = dependencies.pepper(signal);
  const [pepper, limits, { earlier, ...key }, records] = await awaitAll([
    reading,
    reading.then((keys) => dependencies.limits.countArrival({ source: request.source, recipient }, keys, signal)),
    reading.then(async (keys) => {
      const { ids, sent } = identify(request, keys);
      return { ids, sent, earlier: await dependencies.registrations.findEarlier(ids, signal) };
    }),
    dependencies.directory.readRegistrationRecords({ formId, referralCode }, telemetry, signal),
  ]);
  const lease: Lease = {
    registrationId: key.ids[0] ?? randomUUID(),
    lease: randomUUID(),
    fingerprint: key.sent[0],
    // A second more than the function has.
    until: request.endsAt + 1_000,
  };
  return { pepper, limits, records, earlier, fingerprints: key.sent, lease };
}

/**
 * The ids that follow from the key of a request and its scope, and the fingerprints of its body, both for each key of the
 * pepper. A caller without a name is identified by its source, as the limits count it.
 */
function identify({ idempotencyKey, source, caller, sentBody }: ApiRequest<RegistrationRequest>, { keys }: Pepper) {
  if (idempotencyKey === undefined) return { ids: [], sent: [] };
  const scope = JSON.stringify(['registration', caller ?? countedSource(source), idempotencyKey]);
  const hmacKeys = keys.map(({ hmacKey }) => hmacKey);
  return {
    ids: keys.map(({ hashKey }) => keyedUuid(hashKey, `registration\n${scope}`)),
    // A fingerprint is much faster to guess than a password hash, so it excludes the password.
    sent: fingerprints(sentBody, hmacKeys, ['password', 'repeat_password']),
  };
}

/**
 * Whether an earlier request with the same key and body was answered with 204, or may have sent its message and died.
 * @throws Problem for another body, or while that request is running
 */
async function isReplay({ dependencies, request }: Work, { earlier, fingerprints: sent }: Asked): Promise<boolean> {
  if (earlier === undefined) return false;
  const { fingerprint, passwordHash, runningUntil = 0 } = earlier;
  const isRunning = runningUntil > dependencies.now();
  // Its request died before anything was sent.
  if (passwordHash === undefined && !isRunning) return false;
  if (!sent.includes(fingerprint)) throw new Problem('idempotency_key_reused');
  const isSame = passwordHash === undefined || dependencies.verifyPassword(passwordHash, request.body.password);
  if (!(await isSame)) throw new Problem('idempotency_key_reused');
  if (isRunning) throw inProgress();
  return true;
}

function inProgress(): Problem {
  return new Problem('request_in_progress', { retryAfterSeconds: 1 });
}

/** @throws Problem `captcha_failed` */
async function checkCaptcha({ request, telemetry, signal }: Work): Promise<void> {
  if (request.captcha === undefined) return;
  const outcome = await request.captcha(signal);
  if (outcome.kind === 'passed') return;
  if (outcome.kind === 'refused') {
    telemetry.event('CaptchaRefused', { reason: outcome.reason });
    throw new Problem('captcha_failed');
  }
  const { channel } = request.body.recipient;
  telemetry.event('CaptchaUnavailable', { channel, reason: outcome.reason });
  if (channel !== 'email') throw new Error('The captcha could not be checked.');
}

/** @throws Problem for the request's own errors */
async function checkForm(work: Work, { records, limits }: Asked): Promise<CheckedCustomFields> {
  const { dependencies, request } = work;
  const { body } = request;
  const { form, referrerId } = records;
  if (form === undefined) throw new Problem('form_not_found');
  const custom = await checkCustomFields(form, body.members);
  const wrongDocuments = await dependencies.documents.inspect(custom.documents);
  if (!custom.ok) {
    const errors = [...custom.violations, ...wrongDocuments].slice(0, MAX_VIOLATIONS);
    throw custom.tooLarge ? new Problem('payload_too_large', { errors }) : validationProblem(errors);
  }
  if (wrongDocuments.length > 0) throw validationProblem(wrongDocuments);
  const { channels: available } = dependencies.settings;
  if (!available.includes(body.recipient.channel)) {
    throw new Problem('otp_type_unavailable', { members: { available } });
  }
  // Before the referral code: a recipient who must wait does not show whether a code exists.
  refuseReached(work, limits.room);
  if (body.referrer_id !== undefined && referrerId === undefined) throw new Problem('referrer_not_found');
  return custom;
}

/** A message that is about to leave. */
interface Outgoing {
  channel: OtpChannel;
  code: string;
}

/**
 * Hashes the password, while the recipient is counted, documents are stored, and the channel is opened. Then stores the
 * registration, and counts what recipients share.
 * @throws Problem, and certainly nothing is sent
 */
async function keep(work: Work, asked: Asked, { fields, consents, documents: sent }: CheckedCustomFields) {
  const { dependencies, request, signal } = work;
  const { pepper, limits, records, lease } = asked;
  const { registrationId } = lease;

  /** One of several simultaneous requests for a key or a recipient passes. Only that one stores documents. */
  async function countAndStore() {
    const isClaimed = lease.fingerprint === undefined || (await dependencies.registrations.claim(lease, signal));
    if (!isClaimed) throw inProgress();
    passLimit(work, await limits.countRecipient(signal));
    return await dependencies.documents.store(registrationId, sent, signal);
  }

  const [passwordHash, documents, channel] = await awaitAll([
    dependencies.hashPassword(request.body.password),
    countAndStore(),
    openChannel(work),
  ]);
  const code = dependencies.makeCode();
  const registration = {
    ...requestFields(request),
    ...sealCode(registrationId, code, pepper),
    registration_id: registrationId,
    password_hash: passwordHash,
    referrer_user_id: records.referrerId,
    custom_fields: JSON.stringify(fields),
    consents,
    documents,
    requested_at: new Date(dependencies.now()).toISOString(),
  };
  const [isStored] = await awaitAll([
    dependencies.registrations.store(lease, registration, signal),
    limits.countMessage(signal).then((decision) => passLimit(work, decision)),
  ]);
  if (!isStored) throw inProgress();
  signal.throwIfAborted();
  return { channel, code } satisfies Outgoing;
}

/** If preparing the channel fails, `send` does the same work. */
async function openChannel({ dependencies, request }: Work): Promise<OtpChannel> {
  const { recipient, language } = request.body;
  const channel = await dependencies.channel(recipient.channel);
  await channel.prepare?.(language).catch(() => {});
  return channel;
}

const MAX_USER_AGENT_CHARACTERS = 256;

/** The members of the record that come from the request alone. */
function requestFields({ body, source, userAgent }: ApiRequest<RegistrationRequest>) {
  return {
    ...keptFields(body),
    address: body.recipient.key,
    email_key: body.emailKey,
    phone: body.phoneE164,
    phone_valid: body.phoneValid,
    source,
    user_agent: userAgent?.slice(0, MAX_USER_AGENT_CHARACTERS),
  };
}

/** How often a message is tried while its provider throttles, which certainly sent nothing. */
const MAX_ATTEMPTS = 3;
/** The longest pause before a throttled message is sent again, in milliseconds; the next one is twice as long. */
const MAX_PAUSE_MS = 800;

/**
 * Sends the message. If it may have left, the request is answered as if it had, and nothing is sent again.
 * @throws Problem `otp_delivery_failed` if certainly nothing was sent
 */
async function sendMessage(work: Work, { channel, code }: Outgoing, registrationId: string): Promise<void> {
  const { dependencies, request, signal } = work;
  const { recipient, language } = request.body;
  const telemetry = work.telemetry.with({ channel: recipient.channel, registration_id: registrationId });
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { messageId } = await channel.send(recipient.to, code, language, signal, registrationId);
      telemetry.event('OtpSent', { message_id: messageId });
      return;
    } catch (error) {
      // An error that is no DeliveryFailure may have occurred after the message left.
      const kind = error instanceof DeliveryFailure ? error.kind : 'unknown_outcome';
      if (kind === 'throttled' && attempt < MAX_ATTEMPTS) {
        // Random, so that messages which were throttled together are not sent again together.
        await dependencies.pause(attempt * MAX_PAUSE_MS, signal);
        if (!signal.aborted) continue;
      }
      telemetry.event(SEND_FAILURE_EVENTS[kind], { kind, ...describeError(error) });
      if (kind === 'unknown_outcome') return;
      throw new Problem('otp_delivery_failed', { cause: error });
    }
  }
}

/** @throws Problem if a limit is reached; Error if those of a message to a phone could not be checked */
function passLimit(work: Work, decision: LimitDecision): void {
  const { channel } = work.request.body.recipient;
  refuseReached(work, decision);
  if (decision.kind !== 'unchecked') return;
  work.telemetry.event('LimitUncheckable', { channel, ...describeError(decision.failure) });
  // Texts and calls cost money, so none is sent while the limits cannot be checked. A mail is sent.
  if (channel !== 'email') throw new Error('The limits could not be checked.');
}

/** @throws Problem if a limit is reached */
function refuseReached({ request, telemetry }: Work, decision: LimitDecision): void {
  if (decision.kind !== 'reached') return;
  telemetry.event('LimitReached', { channel: request.body.recipient.channel });
  throw new Problem('too_many_requests', { retryAfterSeconds: decision.retryAfterSeconds });
}
