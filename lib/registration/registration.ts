import { randomUUID } from 'node:crypto';
import type { RegistrationConfig } from '../config.ts';
import { awaitAll } from '../deadline.ts';
import type { ApiAnswer, ApiRequest } from '../http/endpoint.ts';
import { countedSource } from '../limits/counters.ts';
import type { Admission, CountedRequest, LimitDecision, RegistrationLimits } from '../limits/limits.ts';
import {
  DeliveryFailure,
  type DeliveryFailureKind,
  type Message,
  type OtpChannel,
  SEND_FAILURES,
} from '../messages/message.ts';
import { Problem, type ProblemType, validationProblem } from '../problem.ts';
import type { Documents } from '../records/documents.ts';
import { fingerprints } from '../records/idempotency-keys.ts';
import type { RegistrationDirectory } from '../records/registration-directory.ts';
import {
  type HeldKey,
  type KeyClaim,
  keyNames,
  LeaseLost,
  type RegistrationKeys,
} from '../records/registration-keys.ts';
import type { Delivery, PendingRegistration, Registrations } from '../records/registrations.ts';
import type { Pepper } from '../secrets/keys.ts';
import { passwordSalt, sealCodeAndPassword } from '../secrets/one-time-code.ts';
import { bestEffort, describeError, type Telemetry } from '../telemetry.ts';
import type { Channel } from '../validators/otp-types.ts';
import { MAX_VIOLATIONS } from '../validators/primitives.ts';
import {
  type CheckedCustomFields,
  checkCustomFields,
  keptFields,
  oversizeViolation,
  type RegistrationRequest,
} from '../validators/registration.ts';

/** The dependencies of a registration; tests pass fakes. */
export interface RegistrationDependencies {
  /** The settings of the deployment. */
  settings: RegistrationConfig;
  directory: RegistrationDirectory;
  keys: RegistrationKeys;
  registrations: Registrations;
  documents: Pick<Documents, 'inspect' | 'store' | 'remove'>;
  limits: RegistrationLimits;
  channel(name: Channel): Promise<OtpChannel>;
  /** The secret keys that codes are sealed with, and that name the counters of the limits. */
  pepper(signal: AbortSignal): Promise<Pepper>;
  /** Hashes a password. @returns the PHC string of the hash */
  hashPassword(password: string, salt: Buffer): Promise<string>;
  /** Whether a password has this hash. Without a hash the check takes as long, and returns true. */
  matchesPassword(hash: string | undefined, password: string): Promise<boolean>;
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
  /** The id of the registration, if it is stored. */
  readonly registrationId: string;
  /** The counts, claims and writes of the request. They are undone if certainly nothing was sent. */
  readonly done: {
    readonly counted: CountedRequest[];
    /**
     * True once a request may have left for a provider of captchas or messages. False again if certainly nothing left.
     */
    asked: boolean;
    /** The claimed `Idempotency-Key`. */
    key?: HeldKey;
    /**
     * The number of documents. Set before they are written, like the registration: a failed write may have succeeded.
     */
    documents?: number;
    registration?: PendingRegistration;
  };
}

/** The CRM records that a registration names. */
type Records = Awaited<ReturnType<RegistrationDirectory['readRegistrationRecords']>>;

/** A request whose key is claimed, whose source is counted, and whose records are read. */
interface AdmittedWork extends Work {
  readonly pepper: Pepper;
  readonly claim: KeyClaim | undefined;
  readonly admission: Admission;
  readonly records: Records;
}

/**
 * Stores a pending registration and sends its one-time password (specification, 4.1). Neither the answer nor the calls
 * show whether the address is a client's: its owner gets a notice instead of a code.
 * @throws Problem for every outcome but 204
 */
export async function requestRegistration(
  dependencies: RegistrationDependencies,
  request: ApiRequest<RegistrationRequest>,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  const oversize = oversizeViolation(request.body.members);
  if (oversize !== undefined) throw new Problem('payload_too_large', { errors: [oversize] });
  const done = { counted: [], asked: false };
  const work: Work = { dependencies, request, telemetry, signal, registrationId: randomUUID(), done };
  try {
    const admitted = await admit(work);
    const { claim } = admitted;
    if (claim === undefined || claim.kind === 'fresh') {
      await register(admitted);
      return { body: undefined };
    }
    await checkReplay(admitted, claim);
  } catch (error) {
    await undo(work, error);
    if (error instanceof LeaseLost) throw new Problem('request_in_progress', { retryAfterSeconds: 1 });
    throw error;
  }
  // A replay sends nothing.
  await undo(work);
  return { body: undefined, replayed: true };
}

/**
 * The steps of a new registration, in this order.
 * @throws if certainly nothing was sent
 */
async function register(work: AdmittedWork): Promise<void> {
  try {
    passLimit(work, work.admission.source);
    // Asks the captcha's provider.
    await checkCaptcha(work);
    // Asks nothing outside.
    const fields = await checkFields(work);
    // Asks nothing outside: the recipient is counted while the password is hashed.
    const prepared = await prepare(work, fields);
    const { message, taken } = await keep(work, fields, prepared);
    const { recipient, language } = work.request.body;
    const { channel } = prepared;
    // Asks the message's provider.
    const sent = await deliver(work, () =>
      channel.send(recipient.to, message, language, work.signal, work.registrationId),
    );
    const sent_at = new Date(work.dependencies.now()).toISOString();
    await note(work, { kind: message.kind, ...sent, sent_at, ...taken });
  } catch (error) {
    const { channel } = work.request.body.recipient;
    const type = error instanceof Problem ? error.type : 'internal_error';
    work.telemetry.event('RegistrationRefused', { channel, type });
    throw error;
  }
}

/** Claims the key, counts the source and reads the form, in parallel. Only a cold start waits for the pepper first. */
async function admit(work: Work): Promise<AdmittedWork> {
  const { dependencies, request, telemetry, signal } = work;
  const { form_id: formId, referrer_id: referralCode } = request.body;
  const reading = dependencies.pepper(signal);
  const [pepper, claim, admission, records] = await awaitAll([
    reading,
    reading.then((one) => claimKey(work, one)),
    reading.then((one) => countSource(work, one)),
    dependencies.directory.readRegistrationRecords({ formId, referralCode }, telemetry, signal),
  ]);
  return { ...work, pepper, claim, admission, records };
}

async function countSource({ dependencies, request, signal, done }: Work, pepper: Pepper): Promise<Admission> {
  const admission = await dependencies.limits.admit(request, pepper, signal);
  done.counted.push(...admission.source.counted);
  return admission;
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
  const claim = await dependencies.keys.claim(keyNames(key, pepper), sent, leaseMs, signal);
  if (claim.kind === 'fresh') done.key = claim.held;
  return claim;
}

/** The key with its scope. A caller without a name is identified by its source, as the limits count it. */
function scopedKey({ idempotencyKey, source, caller }: ApiRequest<RegistrationRequest>): string[] | undefined {
  return idempotencyKey === undefined
    ? undefined
    : ['registration', caller ?? countedSource(source).name, idempotencyKey];
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

/** @throws Problem `captcha_failed` */
async function checkCaptcha({ request, telemetry, signal, done }: Work): Promise<void> {
  if (request.captcha === undefined) return;
  done.asked = true;
  const outcome = await request.captcha(signal);
  if (outcome.kind === 'passed') return;
  if (outcome.kind === 'refused') {
    telemetry.event('CaptchaRefused', { reason: outcome.reason });
    throw new Problem('captcha_failed');
  }
  done.asked = outcome.left;
  const { channel } = request.body.recipient;
  telemetry.event('CaptchaUnavailable', { channel, reason: outcome.reason });
  if (channel !== 'email') throw new Error('The captcha could not be checked.');
}

/** @throws Problem for the request's own errors */
async function checkFields(work: AdmittedWork): Promise<CheckedCustomFields> {
  const { dependencies, request } = work;
  const { form, referrerId } = work.records;
  const { body } = request;
  if (form === undefined) return await refuseWrongId(work, 'form_not_found');
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
  refuseReached(work.admission.roomForMessage, body.recipient.channel, work.telemetry);
  if (body.referrer_id !== undefined && referrerId === undefined) {
    return await refuseWrongId(work, 'referrer_not_found');
  }
  return custom;
}

/** Ids can be guessed, so each wrong one is counted, and the count is never undone. */
async function refuseWrongId(
  { admission, request, telemetry, signal }: AdmittedWork,
  type: ProblemType,
): Promise<never> {
  refuseReached(await admission.countWrongId(signal), request.body.recipient.channel, telemetry);
  throw new Problem(type);
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** Hashes the password, while the recipient is counted, documents are stored, and the channel is opened. */
async function prepare(work: AdmittedWork, { documents: sent }: CheckedCustomFields) {
  const { dependencies, request, pepper, admission, registrationId, done, signal } = work;
  const { recipient, password, language } = request.body;

  /** One of several simultaneous requests for a recipient passes. Only that one stores documents. */
  async function countAndStore() {
    passCounted(work, await admission.countRecipient(signal));
    done.documents = sent.length;
    return await dependencies.documents.store(registrationId, sent, signal);
  }

  /** If preparing the channel fails, `send` does the same work. */
  async function openChannel() {
    const channel = await dependencies.channel(recipient.channel);
    await channel.prepare?.(language).catch(() => {});
    return channel;
  }

  const [passwordHash, documents, channel] = await awaitAll([
    dependencies.hashPassword(password, passwordSalt(pepper.current, recipient.channel, recipient.key)),
    countAndStore(),
    openChannel(),
  ]);
  return { passwordHash, documents, channel };
}

/** A message, and whether clients have proven the addresses of the request. */
interface ChosenMessage {
  message: Message;
  taken: Pick<Delivery, 'email_taken' | 'phone_taken'>;
}

/**
 * Stores the registration, marks the key, counts what recipients share, and looks for the client, in parallel: none of
 * these depends on whose address it is. Simultaneous requests for one recipient have ended before, so they cannot use
 * up its prefix, country or domain.
 * @returns the code; or the notice to the owner of the address, who gets no code
 */
async function keep(
  work: AdmittedWork,
  { fields, consents }: CheckedCustomFields,
  { passwordHash, documents }: Prepared,
): Promise<ChosenMessage> {
  const { dependencies, request, pepper, admission, records, registrationId, done, signal } = work;
  const { recipient, emailKey, phoneE164 } = request.body;
  const requestedAt = dependencies.now();
  const code = dependencies.makeCode();
  const registration = {
    ...requestFields(request),
    registration_id: registrationId,
    password_hash: passwordHash,
    referrer_user_id: records.referrerId,
    custom_fields: JSON.stringify(fields),
    consents,
    documents,
    requested_at: new Date(requestedAt).toISOString(),
  };
  const binding = { registrationId, channel: recipient.channel, address: recipient.key };
  const seals = sealCodeAndPassword({ code, passwordHash }, binding, pepper, requestedAt);
  done.registration = registration;
  const [known] = await awaitAll([
    dependencies.directory.isClient({ emailKey, phone: phoneE164 }, signal),
    done.key && dependencies.keys.markSent(done.key, registrationId, signal),
    admission.countMessage(signal).then((decision) => passCounted(work, decision)),
    dependencies.registrations.put(registration, seals, requestedAt, signal),
  ]);
  signal.throwIfAborted();
  const isOwners = recipient.channel === 'email' ? known.email : known.phone;
  return {
    message: isOwners ? { kind: 'owner_notice' } : { kind: 'code', code },
    taken: { email_taken: known.email, phone_taken: known.phone },
  };
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

/**
 * Sends the message. What follows from a failure is in `SEND_FAILURES`: neither function knows what is sent, so no answer
 * shows whether it was a code.
 * @returns what is noted of the delivery
 * @throws Problem `otp_delivery_failed` if certainly nothing was sent
 */
async function deliver(work: Work, send: Send): Promise<Pick<Delivery, 'outcome' | 'message_id'>> {
  const { request, registrationId } = work;
  const telemetry = work.telemetry.with({ channel: request.body.recipient.channel, registration_id: registrationId });
  try {
    const { messageId } = await sendUnthrottled(work, send);
    telemetry.event('OtpSent', { message_id: messageId });
    return { outcome: 'sent', message_id: messageId };
  } catch (error) {
    const kind = failureKind(error);
    const rule = SEND_FAILURES[kind];
    telemetry.event(rule.event, { kind, ...describeError(error) });
    if (rule.answer === 502) throw new Problem('otp_delivery_failed', { cause: error });
    return { outcome: rule.noted };
  }
}

type Send = () => ReturnType<OtpChannel['send']>;

/** The kind of a failed send. An error that is no DeliveryFailure may have occurred after the message left. */
function failureKind(error: unknown): DeliveryFailureKind {
  return error instanceof DeliveryFailure ? error.kind : 'unknown_outcome';
}

/** The longest pause before a throttled message is sent again, in milliseconds; the next one is twice as long. */
const MAX_PAUSE_MS = 800;

/** Sends the message, and again after a pause while its provider throttles, which certainly sent nothing. */
async function sendUnthrottled({ dependencies, done, signal }: Work, send: Send): ReturnType<Send> {
  let asked = done.asked;
  for (let attempt = 1; ; attempt += 1) {
    done.asked = true;
    try {
      return await send();
    } catch (error) {
      asked ||= !(error instanceof DeliveryFailure) || error.left;
      done.asked = asked;
      if (attempt >= SEND_FAILURES[failureKind(error)].attempts) throw error;
      // Random, so that messages which were throttled together are not sent again together.
      await dependencies.pause(attempt * MAX_PAUSE_MS, signal);
      if (signal.aborted) throw error;
    }
  }
}

/** Notes the delivery and ends the key. */
async function note(work: Work, delivery: Delivery): Promise<void> {
  const { dependencies, registrationId, telemetry, done } = work;
  await Promise.all([
    bestEffort(telemetry, 'delivery', (signal) =>
      dependencies.registrations.noteDelivery(registrationId, delivery, signal),
    ),
    done.key && finish(work, done.key),
  ]);
}

/** Ends the work on a key. A failure does not change the answer. */
async function finish({ dependencies, telemetry }: Work, key: HeldKey): Promise<void> {
  await bestEffort(telemetry, 'finish', (signal) => dependencies.keys.finish(key, signal));
}

/**
 * Undoes a request that certainly sent nothing. A failure does not change its answer.
 * @param error the reason; absent: a replay
 */
async function undo({ dependencies, registrationId, done, telemetry }: Work, error?: unknown): Promise<void> {
  const { limits, keys, registrations } = dependencies;
  const { counted, key, documents = 0, registration } = done;
  // Once a request has called another service, it stays counted as a request, whatever the answer was.
  const released = counted.filter(({ counter }) => !(done.asked && counter.step === 'request'));
  await Promise.all([
    released.length > 0 && bestEffort(telemetry, 'limits', (signal) => limits.release(released, signal)),
    registration && bestEffort(telemetry, 'registration', (signal) => registrations.remove(registration, signal)),
    documents > 0 &&
      bestEffort(telemetry, 'documents', (signal) => dependencies.documents.remove(registrationId, documents, signal)),
  ]);
  // The key is released last: a retry with the same key must not see the counts of this request. A lost key belongs to
  // another worker.
  if (key === undefined || error instanceof LeaseLost) return;
  await bestEffort(telemetry, 'release', (signal) => keys.release(key, signal));
}

/** Records the counts of a decision for `undo`, then checks its limit. */
function passCounted(work: Work, decision: LimitDecision): void {
  work.done.counted.push(...decision.counted);
  passLimit(work, decision);
}

/** @throws Problem if a limit is reached; Error if those of a message to a phone could not be checked */
function passLimit({ request, telemetry }: Work, decision: LimitDecision): void {
  const { channel } = request.body.recipient;
  refuseReached(decision, channel, telemetry);
  if (decision.kind !== 'unchecked') return;
  telemetry.event('LimitUncheckable', { channel, ...describeError(decision.failure) });
  // Texts and calls cost money, so none is sent while the limits cannot be checked. A mail is sent.
  if (channel !== 'email') throw new Error('The limits could not be checked.');
}

/** @throws Problem if a limit is reached */
export function refuseReached(decision: LimitDecision, channel: Channel, telemetry: Telemetry): void {
  if (decision.kind !== 'reached') return;
  telemetry.event('LimitReached', { channel });
  throw new Problem('too_many_requests', { retryAfterSeconds: decision.retryAfterSeconds });
}
