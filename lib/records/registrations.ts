import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { type Item, type Table, tryWrite } from '../aws/dynamodb.ts';
import { awaitAll } from '../deadline.ts';
import type { Seals } from '../secrets/one-time-code.ts';
import { CONFIRMED_DAYS } from '../validators/deployment.ts';
import { OTP_TYPES } from '../validators/otp-types.ts';
import { assignments } from './assignments.ts';
import type { StoredDocument } from './documents.ts';
import { DUE_ATTRIBUTES, due, readDue } from './due.ts';
import type { ConfirmedRegistrationSchema } from './event-schemas.ts';
import { dynamoRegistrationIndex } from './registration-index.ts';

/** Members of the message to the CRM that the record has in another form, or not yet. */
type OnlyInMessage = 'id' | 'verified' | 'email_taken' | 'phone_taken' | 'confirmed_at' | 'custom_fields' | 'documents';

/** A pending registration, with a password and data of its own. It disappears 24 hours after the request. */
export interface PendingRegistration extends Omit<v.InferOutput<typeof ConfirmedRegistrationSchema>, OnlyInMessage> {
  registration_id: string;
  /** The recipient of the code: the email address in its look-up form, or the phone number in E.164. */
  address: string;
  /** The email address in its look-up form; absent with `email`. */
  email_key?: string | undefined;
  /** As JSON: the database's numbers and maps cannot represent all JSON. */
  custom_fields: string;
  documents: StoredDocument[];
}

/** The outcome of the message, recorded after it was sent. */
export interface Delivery {
  /** `owner_notice`: the address is a client's, and no code was sent. */
  kind: 'code' | 'owner_notice';
  /** `refused`: certainly nothing was sent, which only a notice may hide. */
  outcome: 'sent' | 'unknown' | 'refused';
  message_id?: string | undefined;
  /** ISO 8601, UTC. */
  sent_at: string;
  /** Whether a client had proven the address then. */
  email_taken: boolean;
  phone_taken: boolean;
}

/** Written with the right code. */
interface Confirmation {
  /** ISO 8601, UTC. */
  confirmed_at: string;
  /** Whether a client had proven the address then, or when the registration was requested. */
  email_taken: boolean;
  phone_taken: boolean;
  /** False: the event is not known to be published. */
  published: boolean;
}

/** A stored registration. */
export interface StoredRegistration extends PendingRegistration {
  delivery?: Delivery | undefined;
  confirmation?: Confirmation | undefined;
}

export type Registrations = ReturnType<typeof dynamoRegistrations>;

/** How long the request that confirms may take to publish the event, in milliseconds. */
export const PUBLISHING_MS = 30_000;
/** The number of registrations that one run reads of each shard. */
const MAX_UNPUBLISHED = 100;

const DAY_SECONDS = 24 * 60 * 60;

/**
 * Registrations by their ids, and with their seals by channel and address.
 * @param confirmedDays how long a confirmed registration is kept, for the function that confirms
 */
export function dynamoRegistrations(table: Table, now: () => number = Date.now, confirmedDays = CONFIRMED_DAYS) {
  const index = dynamoRegistrationIndex(table, now);

  async function writeConfirmation(id: string, confirmation: Confirmation, signal: AbortSignal): Promise<boolean> {
    const me = randomUUID();
    const expires_at = Math.floor(now() / 1_000) + confirmedDays * DAY_SECONDS;
    const written = { confirmation, confirmed_by: me, expires_at, ...due(id, now() + PUBLISHING_MS) };
    const expression = {
      ...assignments(written),
      // It may be our own write, which the SDK repeated after a lost answer.
      condition: 'attribute_exists(pk) AND (attribute_not_exists(confirmation) OR #confirmed_by = :confirmed_by)',
    };
    try {
      return (await tryWrite(table.update(registrationKey(id), expression, signal))) !== undefined;
    } catch (error) {
      // The write may have succeeded, and only its answer was lost.
      const item = await table.get(registrationKey(id), signal).catch(() => undefined);
      if (item?.confirmed_by === me) return true;
      throw error;
    }
  }

  return {
    list: index.list,
    countGuesses: index.countGuesses,

    /** Keeps a registration next to the others of its address. */
    async put(registration: PendingRegistration, seals: Seals, requestedAt: number, signal: AbortSignal) {
      const expires_at = Math.floor(requestedAt / 1_000) + DAY_SECONDS;
      const item = { ...registrationKey(registration.registration_id), ...registration, expires_at };
      await awaitAll([
        // It exists if the SDK repeated our own write after a lost answer.
        tryWrite(table.put(item, signal, { condition: 'attribute_not_exists(pk)' })),
        index.add(registration, seals, requestedAt, signal),
      ]);
    },

    /** Removes a registration whose message was certainly not sent. The others do not change. */
    async remove(registration: PendingRegistration, signal: AbortSignal) {
      const key = registrationKey(registration.registration_id);
      await awaitAll([table.delete(key, signal), index.remove(registration, signal)]);
    },

    /** In an item of its own: a note would rewrite the fields of the registration, up to 200 kB. */
    async noteDelivery(registrationId: string, delivery: Delivery, signal: AbortSignal) {
      const expires_at = Math.ceil(now() / 1_000) + DAY_SECONDS;
      await table.put({ ...deliveryKey(registrationId), delivery, expires_at }, signal);
    },

    /** Reads a registration and the note of its delivery, in one call. */
    async get(registrationId: string, signal: AbortSignal): Promise<StoredRegistration | undefined> {
      const keys = [registrationKey(registrationId), deliveryKey(registrationId)];
      const items = await table.getMany(keys, signal);
      const [item, note] = keys.map((key) => items.find(({ pk }) => pk === key.pk));
      const isKept = typeof item?.expires_at === 'number' && item.expires_at * 1_000 > now();
      const registration = isKept ? parseRegistration(item) : undefined;
      return registration && { ...registration, delivery: note?.delivery as Delivery | undefined };
    },

    /** Confirms a registration, which is kept for some days from then on. @returns false when it was confirmed before */
    async confirm(registration: StoredRegistration, confirmation: Confirmation, signal: AbortSignal) {
      const [won] = await awaitAll([
        writeConfirmation(registration.registration_id, confirmation, signal),
        index.markConfirmed(registration, signal),
      ]);
      return won;
    },

    async notePublished(registrationId: string, signal: AbortSignal) {
      const expression = {
        update: `SET confirmation.published = :true REMOVE ${DUE_ATTRIBUTES.join(', ')}`,
        condition: 'attribute_exists(confirmation)',
        values: { ':true': true },
      };
      await table.update(registrationKey(registrationId), expression, signal);
    },

    /** The confirmed ones, the oldest first, whose events were not published in time. */
    async unpublished(signal: AbortSignal) {
      const found = (await readDue(table, now(), MAX_UNPUBLISHED, signal)).flatMap(
        (item) => parseRegistration(item) ?? [],
      );
      return found.filter(({ confirmation }) => confirmation?.published === false);
    },
  };
}

function registrationKey(registrationId: string): { pk: string } {
  return { pk: `registration#${registrationId}` };
}

/** The item with the note of a delivery. */
export function deliveryKey(registrationId: string): { pk: string } {
  return { pk: `delivery#${registrationId}` };
}

/** Written by `put`. The members that confirming reads are checked. */
function parseRegistration(item: Item | undefined): StoredRegistration | undefined {
  const checked = v.safeParse(ReadSchema, item);
  return checked.success ? (item as unknown as StoredRegistration) : undefined;
}

const ReadSchema = v.object({
  registration_id: v.string(),
  otp_type: v.picklist(OTP_TYPES),
  address: v.string(),
  password_hash: v.string(),
  documents: v.array(v.object({ key: v.string() })),
});
