import * as v from 'valibot';
import { ConditionFailed, type Item, type Table, tryWrite, updateAttributes } from '../aws/dynamodb.ts';
import { AwsFailure } from '../aws/failure.ts';
import { CONFIRMED_INDEX, DEFAULT_CONFIRMED_DAYS } from '../config/deployment.ts';
import { MAX_CODE_GUESSES, type SealedCode } from '../secrets/one-time-code.ts';
import { CODE_VALID_MINUTES, OTP_TYPES } from '../validators/otp-types.ts';
import type { StoredDocument } from './documents.ts';
import { DUE_ATTRIBUTES, dueAttributes, readDue } from './due.ts';
import type { ConfirmedRegistrationSchema } from './event-schemas.ts';

/** Members of the message to the CRM that the record has in another form, or not yet. */
type OnlyInMessage = 'id' | 'verified' | 'confirmed_at' | 'custom_fields' | 'documents';

/** A pending registration, with the password and data of one request. It disappears 24 hours after the request. */
export interface PendingRegistration extends Omit<v.InferOutput<typeof ConfirmedRegistrationSchema>, OnlyInMessage> {
  registration_id: string;
  /** The recipient of the code: the email address in its look-up form, or the phone number in E.164. */
  address: string;
  /** The email address in its look-up form; absent with `email`. */
  email_key?: string | undefined;
  /** The values as JSON: the database's numbers and maps cannot represent all JSON. */
  custom_fields: string;
  documents: StoredDocument[];
}

/** Written with the right code. */
interface Confirmation {
  /** ISO 8601, UTC. */
  confirmed_at: string;
  /** False: the event is not known to be published. */
  published: boolean;
}

/** A stored registration. Those that version 1 confirmed have no code. */
export interface StoredRegistration extends PendingRegistration, Partial<SealedCode> {
  /** How many guesses were counted. */
  guesses?: number;
  /** When the code expires, in epoch milliseconds. */
  code_expires_at_ms?: number;
  confirmation?: Confirmation | undefined;
}

/** The one request that works on a registration. */
export interface Lease {
  registrationId: string;
  /** Random. */
  lease: string;
  /** The fingerprint of the body, if the request has an `Idempotency-Key`. */
  fingerprint?: string | undefined;
  /** When the request has certainly ended, in epoch milliseconds. */
  until: number;
}

/** The registration that an earlier request with the same `Idempotency-Key` made, or is making. */
export interface EarlierRegistration {
  registrationId: string;
  fingerprint: string;
  /** Until when that request may still run, in epoch milliseconds; undefined: it has ended. */
  runningUntil: number | undefined;
  /** The PHC string of its password. Undefined: nothing was sent yet. */
  passwordHash: string | undefined;
}

type AddressedRegistration = Pick<PendingRegistration, 'registration_id' | 'address'>;

export type Registrations = ReturnType<typeof dynamoRegistrations>;

/** How long the request that confirms may take to publish the event, in milliseconds. */
const PUBLISHING_MS = 30_000;
/** The reason of an item that cannot be read. */
export const REGISTRATION_MALFORMED = 'RegistrationMalformed';
/** The number of registrations that one run reads of each shard. */
const MAX_UNPUBLISHED = 100;

const DAY_SECONDS = 24 * 60 * 60;

/**
 * Registrations by their ids. A registration is also the record of its `Idempotency-Key`, from which its id follows:
 *
 *     claimed ──▶ stored ──▶ finished          claimed: nothing has left
 *        └──────────┴──▶ (gone)                stored: the message may have left, and never leaves again
 *                                              (gone): certainly nothing was sent, and the key is free
 *
 * @param confirmedDays how long a confirmed registration is kept, for the function that confirms
 */
export function dynamoRegistrations(
  table: Table,
  now: () => number = Date.now,
  confirmedDays = DEFAULT_CONFIRMED_DAYS,
) {
  return { ...pendingRegistrations(table, now), ...confirmedRegistrations(table, now, confirmedDays) };
}

/** @param at epoch milliseconds @returns epoch seconds */
const expiry = (at: number, days: number) => Math.floor(at / 1_000) + days * DAY_SECONDS;
const isKept = (item: Item, at: number) => Number(item.expires_at) * 1_000 > at;

/** What the request of a registration reads and writes. */
function pendingRegistrations(table: Table, now: () => number) {
  return {
    /** Reads what an earlier request with the same key has written. @param ids of its registration, one for each pepper key */
    async findEarlier(ids: readonly string[], signal: AbortSignal): Promise<EarlierRegistration | undefined> {
      const items = ids.length === 0 ? [] : await table.getMany(ids.map(registrationKey), signal);
      const item = items.find((stored) => isKept(stored, now()));
      return item && parseEarlier(item);
    },

    /** Claims the id of a key for one request. @returns false if another request holds it, or may have sent its message */
    async claim({ registrationId, lease, fingerprint, until }: Lease, signal: AbortSignal): Promise<boolean> {
      const item = {
        registration_id: registrationId,
        lease,
        fingerprint,
        running_until: until,
        expires_at: expiry(now(), 1),
      };
      const ifFree = {
        // The item with this lease is the first write, which the SDK repeated after a lost answer.
        condition:
          'attribute_not_exists(pk) OR expires_at <= :seconds OR ' +
          '(attribute_not_exists(requested_at) AND (running_until <= :now OR lease = :lease))',
        values: { ':seconds': Math.floor(now() / 1_000), ':now': now(), ':lease': lease },
      };
      return isDone(table.put({ ...registrationKey(registrationId), ...item }, signal, ifFree));
    },

    /** Stores a registration: from now on its message may leave. @returns false if another request holds its id */
    async store(
      { lease, fingerprint, until }: Lease,
      registration: PendingRegistration & SealedCode,
      signal: AbortSignal,
    ): Promise<boolean> {
      const key = registrationKey(registration.registration_id);
      const requestedAt = Date.parse(registration.requested_at);
      const item = {
        ...key,
        ...registration,
        lease,
        guesses: 0,
        code_expires_at_ms: requestedAt + CODE_VALID_MINUTES * 60_000,
        expires_at: expiry(requestedAt, 1),
        ...(fingerprint !== undefined && { fingerprint, running_until: until }),
      };
      const ifOurs =
        fingerprint === undefined
          ? { condition: 'attribute_not_exists(pk)' }
          : { condition: 'lease = :lease AND attribute_not_exists(requested_at)', values: { ':lease': lease } };
      if (await isDone(table.put(item, signal, ifOurs))) return true;
      // The item may be this write, which the SDK repeated after a lost answer.
      return (await table.get(key, signal))?.lease === lease;
    },

    /** Notes that the request has ended. Its key is answered with 204 from now on. */
    async finish({ registrationId, lease }: Lease, signal: AbortSignal): Promise<void> {
      const update = { update: 'REMOVE running_until', condition: 'lease = :lease', values: { ':lease': lease } };
      await tryWrite(table.update(registrationKey(registrationId), update, signal));
    },

    /** Frees the key of a request that certainly sent nothing. */
    async free({ registrationId, lease }: Lease, signal: AbortSignal): Promise<void> {
      const condition = { condition: 'lease = :lease', values: { ':lease': lease } };
      await tryWrite(table.delete(registrationKey(registrationId), signal, condition));
    },
  };
}

/** What a confirmation reads and writes, and what reads confirmed registrations. */
function confirmedRegistrations(table: Table, now: () => number, confirmedDays: number) {
  return {
    /**
     * Reads a registration. @returns undefined if there is none, or it has expired
     * @throws AwsFailure, also for a registration that cannot be read: its event must not be dropped
     */
    async get(registrationId: string, signal: AbortSignal): Promise<StoredRegistration | undefined> {
      const item = await table.get(registrationKey(registrationId), signal);
      if (item === undefined || !isKept(item, now()) || item.requested_at === undefined) return undefined;
      const registration = parseRegistration(item);
      if (registration === undefined) throw AwsFailure.ofItem(REGISTRATION_MALFORMED, item.pk);
      return registration;
    },

    /**
     * Counts a guess before it is judged. A right guess is remembered: it may be repeated as long as the code is valid. A
     * transaction waits for that of a confirmation; any other write would fail, as if no guess were left.
     * @returns false if no guess is left, or the code has expired
     */
    async countGuess(registrationId: string, isRight: boolean, signal: AbortSignal): Promise<boolean> {
      const expression = {
        update: `SET guesses = guesses + :one${isRight ? ', was_right = :true' : ''}`,
        condition: `code_expires_at_ms > :now AND (guesses < :max${isRight ? ' OR was_right = :true' : ''})`,
        values: { ':one': 1, ':now': now(), ':max': MAX_CODE_GUESSES, ...(isRight && { ':true': true }) },
      };
      const update = registrationKey(registrationId);
      return isDone(table.transact([{ table: table.name, update, expression }], signal));
    },

    /** Whether another registration of this address was confirmed within a day. Its client may not be written yet. */
    async isProven({ registration_id: id, address }: AddressedRegistration, signal: AbortSignal): Promise<boolean> {
      const item = await table.get(addressKey(address), signal);
      return item !== undefined && isKept(item, now()) && item.proven_by !== id;
    },

    /**
     * Confirms a registration, and proves its address in the same transaction. It is kept for some days from then on.
     * @returns `known`: the address was proven by another registration; `repeated`: this one was confirmed before
     */
    async confirm(
      { registration_id: id, address }: AddressedRegistration,
      confirmation: Confirmation,
      signal: AbortSignal,
    ): Promise<'confirmed' | 'repeated' | 'known'> {
      const published = dueAttributes(id, now() + PUBLISHING_MS);
      const written = { confirmation, [CONFIRMED_INDEX]: id, expires_at: expiry(now(), confirmedDays), ...published };
      const ifPending = 'attribute_exists(pk) AND attribute_not_exists(confirmation)';
      const update = { ...updateAttributes(written), condition: ifPending };
      const { values, ...set } = updateAttributes({ address, proven_by: id, expires_at: expiry(now(), 1) });
      const ifUnproven = 'attribute_not_exists(pk) OR expires_at <= :seconds';
      const proof = { ...set, condition: ifUnproven, values: { ...values, ':seconds': Math.floor(now() / 1_000) } };
      try {
        await table.transact(
          [
            { table: table.name, update: registrationKey(id), expression: update },
            { table: table.name, update: addressKey(address), expression: proof },
          ],
          signal,
        );
        return 'confirmed';
      } catch (error) {
        if (!(error instanceof ConditionFailed)) throw error;
        return error.index === 0 ? 'repeated' : 'known';
      }
    },

    async notePublished(registrationId: string, signal: AbortSignal) {
      const expression = {
        update: `SET confirmation.published = :true REMOVE ${DUE_ATTRIBUTES.join(', ')}`,
        condition: 'attribute_exists(confirmation)',
        values: { ':true': true },
      };
      await table.update(registrationKey(registrationId), expression, signal);
    },

    /**
     * The confirmed registrations whose events were not published in time, oldest first, and the keys of items in that
     * list that cannot be read.
     */
    async unpublished(signal: AbortSignal): Promise<{ registrations: StoredRegistration[]; unreadable: string[] }> {
      const items = await readDue(table, now(), MAX_UNPUBLISHED, signal);
      const read = items.map((item) => ({ pk: String(item.pk), registration: parseRegistration(item) }));
      const registrations = read.flatMap(({ registration }) => registration ?? []);
      return {
        registrations: registrations.filter(({ confirmation }) => confirmation?.published === false),
        unreadable: read.filter(({ registration }) => registration?.confirmation === undefined).map(({ pk }) => pk),
      };
    },
  };
}

/** Whether the condition of a write held. */
async function isDone(write: Promise<unknown>): Promise<boolean> {
  return (await tryWrite(write.then(() => true))) ?? false;
}

function registrationKey(registrationId: string): { pk: string } {
  return { pk: `registration#${registrationId}` };
}

/** The key of a proven address. Its item has the member `address`, by which `ops forget` finds it. */
function addressKey(address: string): { pk: string } {
  return { pk: `address#${address}` };
}

const EarlierSchema = v.object({
  registration_id: v.string(),
  fingerprint: v.string(),
  running_until: v.optional(v.number()),
  password_hash: v.optional(v.string()),
});

function parseEarlier(item: Item): EarlierRegistration {
  const { success, output } = v.safeParse(EarlierSchema, item);
  if (!success) throw AwsFailure.ofItem(REGISTRATION_MALFORMED, item.pk);
  const { registration_id: registrationId, fingerprint, running_until: runningUntil, password_hash } = output;
  return { registrationId, fingerprint, runningUntil, passwordHash: password_hash };
}

const StoredSchema = v.object({
  registration_id: v.string(),
  otp_type: v.picklist(OTP_TYPES),
  address: v.string(),
  password_hash: v.string(),
  documents: v.array(v.object({ key: v.string() })),
});

/** Written by `store`. The members that confirming reads are checked. */
function parseRegistration(item: Item | undefined): StoredRegistration | undefined {
  const checked = v.safeParse(StoredSchema, item);
  return checked.success ? (item as unknown as StoredRegistration) : undefined;
}
