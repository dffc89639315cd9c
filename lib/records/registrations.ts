import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { type Item, type Table, tryWrite, updateAttributes } from '../aws/dynamodb.ts';
import { AwsFailure } from '../aws/failure.ts';
import { awaitAll } from '../deadline.ts';
import { MAX_CODE_GUESSES, type Seals, SealsSchema } from '../secrets/one-time-code.ts';
import { CONFIRMED_INDEX, DEFAULT_CONFIRMED_DAYS } from '../validators/deployment.ts';
import { emailKey } from '../validators/email.ts';
import { type Channel, OTP_TYPES } from '../validators/otp-types.ts';
import type { StoredDocument } from './documents.ts';
import { DUE_ATTRIBUTES, dueAttributes, readDue } from './due.ts';
import type { ConfirmedRegistrationSchema } from './event-schemas.ts';

/** Members of the message to the CRM that the record has in another form, or not yet. */
type OnlyInMessage = 'id' | 'verified' | 'email_taken' | 'phone_taken' | 'confirmed_at' | 'custom_fields' | 'documents';

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

/** The outcome of the message, recorded after it was sent. */
export interface Delivery {
  /** `owner_notice`: the address is a client's, and no code was sent. */
  kind: 'code' | 'owner_notice';
  /** `refused`: certainly nothing was sent, and the caller got the same answer as after a sent message. */
  outcome: 'sent' | 'unknown' | 'refused';
  message_id?: string | undefined;
  /** ISO 8601, UTC. */
  sent_at: string;
  /** Whether a client had proven the email address when the registration was requested. */
  email_taken: boolean;
  phone_taken: boolean;
}

/** Written with the right code. */
interface Confirmation {
  /** ISO 8601, UTC. */
  confirmed_at: string;
  /** Whether a client had proven the email address at the confirmation, or when the registration was requested. */
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
/** The reason of an item that cannot be read. */
export const REGISTRATION_MALFORMED = 'RegistrationMalformed';
/** The number of registrations that one run reads of each shard. */
const MAX_UNPUBLISHED = 100;

const DAY_SECONDS = 24 * 60 * 60;

/**
 * Registrations by their ids, and with their seals by channel and address.
 * @param confirmedDays how long a confirmed registration is kept, for the function that confirms
 */
export function dynamoRegistrations(
  table: Table,
  now: () => number = Date.now,
  confirmedDays = DEFAULT_CONFIRMED_DAYS,
) {
  const index = dynamoRegistrationIndex(table, now);

  return {
    list: index.list,
    countGuesses: index.countGuesses,

    /** Stores a registration next to the others of its address. */
    async put(registration: PendingRegistration, seals: Seals, requestedAt: number, signal: AbortSignal) {
      const expires_at = Math.floor(requestedAt / 1_000) + DAY_SECONDS;
      const item = { ...registrationKey(registration.registration_id), ...registration, expires_at };
      await awaitAll([
        // The item exists if the SDK repeated this write after a lost answer.
        tryWrite(table.put(item, signal, { condition: 'attribute_not_exists(pk)' })),
        index.add(registration, seals, requestedAt, signal),
      ]);
    },

    /** Removes a registration whose message was certainly not sent. The other registrations of the address stay. */
    async remove(registration: PendingRegistration, signal: AbortSignal) {
      const key = registrationKey(registration.registration_id);
      await awaitAll([table.delete(key, signal), index.remove(registration, signal)]);
    },

    /** Writes a separate item: a note in the registration would rewrite its fields, up to 200 kB. */
    async noteDelivery(registrationId: string, delivery: Delivery, signal: AbortSignal) {
      const expires_at = Math.ceil(now() / 1_000) + DAY_SECONDS;
      await table.put({ ...deliveryKey(registrationId), delivery, expires_at }, signal);
    },

    /**
     * Reads a registration and the note of its delivery, in one call. @returns undefined if it has expired
     * @throws AwsFailure, also for a registration that cannot be read: its event must not be dropped
     */
    async get(registrationId: string, signal: AbortSignal): Promise<StoredRegistration | undefined> {
      const keys = [registrationKey(registrationId), deliveryKey(registrationId)];
      const items = await table.getMany(keys, signal);
      const [item, note] = keys.map((key) => items.find(({ pk }) => pk === key.pk));
      if (item === undefined || Number(item.expires_at) * 1_000 <= now()) return undefined;
      const registration = parseRegistration(item);
      if (registration === undefined) throw AwsFailure.ofItem(REGISTRATION_MALFORMED, item.pk);
      return { ...registration, delivery: note?.delivery as Delivery | undefined };
    },

    /** Confirms a registration. It is kept for some days from then on. @returns false if it was confirmed before */
    async confirm(registration: StoredRegistration, confirmation: Confirmation, signal: AbortSignal) {
      const id = registration.registration_id;
      const expires_at = Math.floor(now() / 1_000) + confirmedDays * DAY_SECONDS;
      const published = dueAttributes(id, now() + PUBLISHING_MS);
      const written = { confirmation, [CONFIRMED_INDEX]: id, expires_at, ...published };
      const [won] = await awaitAll([
        writeConfirmation(table, id, written, signal),
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

/** Writes the confirmation of a registration. @returns false when it was confirmed before */
async function writeConfirmation(table: Table, id: string, attributes: Item, signal: AbortSignal): Promise<boolean> {
  const me = randomUUID();
  const expression = {
    ...updateAttributes({ ...attributes, confirmed_by: me }),
    // The item may be this write, which the SDK repeated after a lost answer.
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
  return checked.success ? withProvenAddress(item as unknown as StoredRegistration) : undefined;
}

/**
 * The registration with the address that gets its code in place of the typed one, if the two differ. Operators erase
 * typed addresses, so they may write those members, but not `address`: what they write there never counts as proven.
 */
function withProvenAddress(registration: StoredRegistration): StoredRegistration {
  const { otp_type, address, email = '' } = registration;
  if (otp_type !== 'email') return { ...registration, phone: address };
  return { ...registration, email: emailKey(email) === address ? email : address, email_key: address };
}

const ReadSchema = v.object({
  registration_id: v.string(),
  otp_type: v.picklist(OTP_TYPES),
  address: v.string(),
  password_hash: v.string(),
  documents: v.array(v.object({ key: v.string() })),
});

/** A registration in the index, with the seal of its code and the digest of its password. */
const EntrySchema = v.object({
  ...SealsSchema.entries,
  /** Epoch milliseconds. */
  requested_at_ms: v.number(),
  /** The different guesses at the code, sealed. */
  guesses: v.array(v.string()),
  /** True: kept until the confirmation can no longer be repeated. */
  confirmed: v.optional(v.boolean()),
});
type IndexedRegistration = v.InferOutput<typeof EntrySchema> & { registration_id: string };

/** A guess at the code of a registration, sealed. */
interface Guess {
  registrationId: string;
  guess: string;
}

interface Address {
  otp_type: Channel;
  address: string;
}
type Indexed = Address & { registration_id: string };

/** A code is valid for ten minutes, and its confirmation may be repeated for 24 hours. */
const KEPT_MS = 25 * 60 * 60_000;
/**
 * The number of registrations that an address keeps. Older ones are dropped if their codes have expired and they are
 * not confirmed.
 */
const MAX_INDEXED = 50;
/** The number of registrations that one expression drops. */
const MAX_DROPPED = 50;
/** The number of guesses that one expression counts. */
const MAX_GUESSED = 40;
/** How often one request tries to count its guesses while other requests count theirs. */
const MAX_ATTEMPTS = 6;

/**
 * The registrations of each channel and address in DynamoDB: one item for each channel and address, with an attribute
 * for each registration.
 */
function dynamoRegistrationIndex(table: Table, now: () => number) {
  async function dropOld(key: Key, item: Item, signal: AbortSignal): Promise<void> {
    const indexed = parseIndexed(item);
    const spare = indexed.slice(MAX_INDEXED).filter((one) => one.expires_at_ms <= now() && one.confirmed !== true);
    const old = indexed.filter((one) => one.requested_at_ms <= now() - KEPT_MS);
    const dropped = [...new Set([...old, ...spare])].slice(0, MAX_DROPPED);
    if (dropped.length === 0) return;
    const names = Object.fromEntries(dropped.map(({ registration_id }, index) => [`#r${index}`, registration_id]));
    await table.update(key, { update: `REMOVE ${Object.keys(names).join(', ')}`, names }, signal);
  }

  /** The registrations of the last 25 hours, confirmed ones first, then the newest. Always one read. */
  async function list(address: Address, signal: AbortSignal): Promise<IndexedRegistration[]> {
    const item = await table.get(indexKey(address), signal);
    return parseIndexed(item).filter(({ requested_at_ms }) => requested_at_ms > now() - KEPT_MS);
  }

  return {
    list,

    async add(registration: Indexed, seals: Seals, requestedAt: number, signal: AbortSignal) {
      const entry = { requested_at_ms: requestedAt, guesses: [], ...seals };
      const expression = {
        update: 'SET #registration = :entry, expires_at = :expires_at',
        // The item exists if the SDK repeated this write after a lost answer.
        condition: 'attribute_not_exists(#registration)',
        names: { '#registration': registration.registration_id },
        values: { ':entry': entry, ':expires_at': Math.ceil((requestedAt + KEPT_MS) / 1_000) },
      };
      const key = indexKey(registration);
      const item = await tryWrite(table.update(key, expression, signal, true));
      // If dropping fails, the next registration repeats it.
      if (item !== undefined) await dropOld(key, item, signal).catch(() => {});
    },

    async remove(registration: Indexed, signal: AbortSignal) {
      const expression = { update: 'REMOVE #registration', ...ifIndexed(registration) };
      await tryWrite(table.update(indexKey(registration), expression, signal));
    },

    /**
     * Counts guesses before they are compared: at most five different ones for each registration, also in parallel. The
     * same guess again is free. Always one write, even without a guess or registration.
     * @param listed the result of `list`
     * @returns the ids of the registrations whose guess is counted
     */
    async countGuesses(
      address: Address,
      guesses: readonly Guess[],
      listed: readonly IndexedRegistration[],
      signal: AbortSignal,
    ): Promise<Set<string>> {
      let indexed = listed;
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        const { counted, uncounted } = compare(guesses.slice(0, MAX_GUESSED), indexed);
        const written = await tryWrite(table.update(indexKey(address), guessUpdate(uncounted, now()), signal));
        if (written !== undefined) return new Set([...counted, ...uncounted].map((one) => one.registrationId));
        if (guesses.length === 0) break;
        indexed = await list(address, signal);
      }
      return new Set();
    },

    async markConfirmed(registration: Indexed, signal: AbortSignal) {
      const update = 'SET #registration.confirmed = :true';
      const expression = { update, ...ifIndexed(registration), values: { ':true': true } };
      await tryWrite(table.update(indexKey(registration), expression, signal));
    },
  };
}

type Key = { pk: string };

/** The key of the item with the registrations of an address. */
function indexKey({ otp_type, address }: Address): Key {
  return { pk: `${otp_type}#${address}` };
}

function ifIndexed({ registration_id }: Indexed) {
  return { condition: 'attribute_exists(#registration)', names: { '#registration': registration_id } };
}

/** Which of the guesses are counted already, and which can be counted. */
function compare(guesses: readonly Guess[], indexed: readonly IndexedRegistration[]) {
  const found = guesses.flatMap((one) => {
    const registration = indexed.find(({ registration_id }) => registration_id === one.registrationId);
    return registration === undefined ? [] : [{ ...one, made: registration.guesses }];
  });
  return {
    counted: found.filter(({ guess, made }) => made.includes(guess)),
    uncounted: found.filter(({ guess, made }) => !made.includes(guess) && made.length < MAX_CODE_GUESSES),
  };
}

/** The write of the guesses. It is made even without a guess, so that every refusal makes the same calls. */
function guessUpdate(guesses: readonly Guess[], at: number) {
  const set = ['guessed_at = :at'];
  const conditions = ['attribute_exists(pk)'];
  const names: Record<string, string> = {};
  const values: Item = { ':at': at };
  for (const [index, { registrationId, guess }] of guesses.entries()) {
    const made = `#r${index}.guesses`;
    names[`#r${index}`] = registrationId;
    set.push(`${made} = list_append(${made}, :list${index})`);
    conditions.push(`size(${made}) < :max AND NOT contains(${made}, :guess${index})`);
    Object.assign(values, { ':max': MAX_CODE_GUESSES, [`:list${index}`]: [guess], [`:guess${index}`]: guess });
  }
  return {
    update: `SET ${set.join(', ')}`,
    condition: conditions.join(' AND '),
    ...(guesses.length > 0 && { names }),
    values,
  };
}

/** The registrations of an item: confirmed ones first, then the newest. */
function parseIndexed(item: Item = {}): IndexedRegistration[] {
  const entries = Object.entries(item).flatMap(([registration_id, entry]) => {
    const { success, output } = v.safeParse(EntrySchema, entry);
    return success ? [{ registration_id, ...output }] : [];
  });
  const rank = ({ confirmed, requested_at_ms }: IndexedRegistration) => requested_at_ms + (confirmed ? KEPT_MS * 2 : 0);
  return entries.sort((a, b) => rank(b) - rank(a));
}
