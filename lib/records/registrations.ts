import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { ConditionFailed, type Item, type Table } from '../aws/dynamodb.ts';
import { MAX_GUESSES, type SealedCode, SealedCodeSchema } from '../secrets/one-time-code.ts';
import { CONFIRMED_DAYS } from '../validators/deployment.ts';
import { type Channel, OTP_TYPES } from '../validators/otp-types.ts';
import type { Consent } from '../validators/registration.ts';
import type { StoredDocument } from './documents.ts';
import { DUE_ATTRIBUTES, due, readDue } from './due.ts';

/**
 * A pending registration, with a code, a password and data of its own. It disappears 24 hours after the request, and is
 * all that confirming needs.
 */
export interface PendingRegistration {
  registration_id: string;
  type: 'trader';
  otp_type: Channel;
  /** Where the code went: the e-mail address in its look-up form, or the phone number in E.164. */
  address: string;
  /** As typed. */
  email: string;
  /** In its look-up form. */
  email_key: string;
  name: string;
  phone?: string | undefined;
  /** PHC string, argon2id. */
  password_hash: string;
  form_id: string;
  referrer_id?: string | undefined;
  /** The client whose referral code it is. */
  referrer_user_id?: string | undefined;
  /** As JSON: the database's own numbers and maps cannot carry all that JSON can. */
  custom_fields: string;
  documents: StoredDocument[];
  /** What the person agreed to, with the version of each text. */
  consents?: Consent[] | undefined;
  language?: string | undefined;
  /** The address of the person who asked. */
  source: string;
  /** Of the browser, at most 256 characters. */
  user_agent?: string | undefined;
  code: SealedCode;
  /** ISO 8601, UTC. */
  requested_at: string;
}

/** What became of the message, noted after it was sent. */
export interface Delivery {
  /** `owner_notice`: the address is a client's; nobody got the code. */
  kind: 'code' | 'owner_notice';
  outcome: 'sent' | 'unknown';
  message_id?: string | undefined;
  /** True: the code proves the phone, but the e-mail address is a client's. */
  email_taken: boolean;
}

/** What is written when the right code was given. */
interface Confirmation {
  /** ISO 8601, UTC. */
  confirmed_at: string;
  /** True: the e-mail address was a client's then, or when the registration was asked for. */
  email_taken: boolean;
  /** False: the event is not known to be told. */
  told: boolean;
}

/** A registration as it is kept. */
export interface StoredRegistration extends PendingRegistration {
  delivery?: Delivery | undefined;
  confirmation?: Confirmation | undefined;
}

/** Registrations by their ids, and for each channel and address the ids of the newest. */
export interface Registrations {
  /** Keeps a registration beside the others of its address. */
  put(registration: PendingRegistration, requestedAt: number, signal: AbortSignal): Promise<void>;
  /** Takes a registration back whose message was certainly not sent; the others stand as if it had never been. */
  remove(registration: PendingRegistration, signal: AbortSignal): Promise<void>;
  noteDelivery(registrationId: string, delivery: Delivery, signal: AbortSignal): Promise<void>;
  get(registrationId: string, signal: AbortSignal): Promise<StoredRegistration | undefined>;
  /** The newest that stand side by side for a channel and an address, newest first; two round trips, whatever there is. */
  newest(otpType: Channel, address: string, signal: AbortSignal): Promise<StoredRegistration[]>;
  /**
   * Counts a guess at the code, before it is compared: however many come at once, five are. One write, also where nothing
   * is to be counted or nothing is there.
   * @param counts false: the guess is none, and uses none up
   * @returns the registration, or undefined where there is none or no guess is left; once it is confirmed none is needed
   */
  countGuess(
    registrationId: string | undefined,
    counts: boolean,
    signal: AbortSignal,
  ): Promise<StoredRegistration | undefined>;
  /** Confirms a registration, which is kept for so long from then on. @returns false when it was confirmed before */
  confirm(registrationId: string, confirmation: Confirmation, signal: AbortSignal): Promise<boolean>;
  /** Others of the broker know that it is confirmed. */
  noteTold(registrationId: string, signal: AbortSignal): Promise<void>;
  /** The confirmed ones, the oldest first, of which whoever confirmed them has not noted in time that they are told. */
  untold(signal: AbortSignal): Promise<StoredRegistration[]>;
}

/** How long whoever confirms a registration may take to tell it, in milliseconds. */
export const TELLING_MS = 30_000;
/** So many of a shard are told in one run. */
const MAX_UNTOLD = 100;

const DAY_SECONDS = 24 * 60 * 60;
/** So many registrations of one channel and address stand side by side: a late first message still counts after a resend. */
export const MAX_SIDE_BY_SIDE = 3;
/** One id more is kept, for when the newest is taken back. */
const SLOTS = ['id0', 'id1', 'id2', 'id3'] as const;

/** @param confirmedDays how long a confirmed registration is kept, for those who confirm */
export function registrationsIn(
  table: Table,
  now: () => number = Date.now,
  confirmedDays = CONFIRMED_DAYS,
): Registrations {
  const stands = (item: Item | undefined) => typeof item?.expires_at === 'number' && item.expires_at * 1_000 > now();

  return {
    async put(registration, requestedAt, signal) {
      const expires_at = Math.floor(requestedAt / 1_000) + DAY_SECONDS;
      const { registration_id: id, otp_type, address } = registration;
      await bothEnded([
        // It may stand already: the answer to our own write was lost, and the database's client repeated it.
        unlessRefused(
          table.put({ ...keyOf(id), ...registration, expires_at }, signal, { condition: 'attribute_not_exists(pk)' }),
        ),
        unlessRefused(table.update(pointerKey(otp_type, address), putFirst(id, expires_at), signal)),
      ]);
    },

    async remove({ registration_id: id, otp_type, address }, signal) {
      const key = pointerKey(otp_type, address);
      await bothEnded([table.delete(keyOf(id), signal), takeOutOf(table, key, id, signal)]);
    },

    async noteDelivery(registrationId, delivery, signal) {
      const expression = {
        update: 'SET delivery = :delivery',
        condition: 'attribute_exists(pk)',
        values: { ':delivery': delivery },
      };
      await table.update(keyOf(registrationId), expression, signal);
    },

    async get(registrationId, signal) {
      const item = await table.get(keyOf(registrationId), signal);
      return stands(item) ? toRegistration(item) : undefined;
    },

    async newest(otpType, address, signal) {
      const pointer = await table.get(pointerKey(otpType, address), signal);
      // As many keys as there may be, also where there are fewer.
      const ids = SLOTS.slice(0, MAX_SIDE_BY_SIDE).map((slot) => String(pointer?.[slot] || `none-${slot}`));
      const items = await table.getMany(ids.map(keyOf), signal);
      const found = ids.map((id) => items.find((item) => item.registration_id === id));
      return found.filter(stands).flatMap((item) => toRegistration(item) ?? []);
    },

    async countGuess(registrationId = 'none', counts, signal) {
      const expression = {
        update: 'SET #code.guesses = #code.guesses + :counted, guessed_by = :me',
        condition:
          'attribute_exists(pk) AND (#code.guesses < :most OR attribute_exists(confirmation) OR guessed_by = :me)',
        names: { '#code': 'code' },
        values: { ':counted': counts ? 1 : 0, ':most': MAX_GUESSES, ':me': randomUUID() },
      };
      const item = await unlessRefused(table.update(keyOf(registrationId), expression, signal));
      return stands(item) ? toRegistration(item) : undefined;
    },

    async confirm(registrationId, confirmation, signal) {
      const { due_shard, due_at } = due(registrationId, now() + TELLING_MS);
      const me = randomUUID();
      const expression = {
        update: `SET confirmation = :confirmation, confirmed_by = :me, expires_at = :expires_at, due_shard = :due_shard, due_at = :due_at`,
        // Our own write, if its answer was lost and the database's client repeated it.
        condition: 'attribute_exists(pk) AND (attribute_not_exists(confirmation) OR confirmed_by = :me)',
        values: {
          ':confirmation': confirmation,
          ':me': me,
          ':expires_at': Math.floor(now() / 1_000) + confirmedDays * DAY_SECONDS,
          ':due_shard': due_shard,
          ':due_at': due_at,
        },
      };
      try {
        await table.update(keyOf(registrationId), expression, signal);
        return true;
      } catch (error) {
        if (error instanceof ConditionFailed) return false;
        // It may be written all the same, and its answer lost.
        const item = await table.get(keyOf(registrationId), signal).catch(() => undefined);
        if (item?.confirmed_by === me) return true;
        throw error;
      }
    },

    async noteTold(registrationId, signal) {
      const expression = {
        update: `SET confirmation.told = :told REMOVE ${DUE_ATTRIBUTES.join(', ')}`,
        condition: 'attribute_exists(confirmation)',
        values: { ':told': true },
      };
      await table.update(keyOf(registrationId), expression, signal);
    },

    async untold(signal) {
      const found = (await readDue(table, now(), MAX_UNTOLD, signal)).map(toRegistration);
      return found.filter((registration) => registration?.confirmation?.told === false) as StoredRegistration[];
    },
  };
}

function keyOf(registrationId: string): { pk: string } {
  return { pk: `registration#${registrationId}` };
}

/** Where the ids of the newest registrations of a channel and address stand. */
function pointerKey(otpType: Channel, address: string): { pk: string } {
  return { pk: `${otpType}#${address}` };
}

const MOVED = SLOTS.slice(1).map((slot, index) => `${slot} = if_not_exists(${SLOTS[index]}, :none)`);
/** Puts an id before the others, the last of which falls out, in one write; not twice where the write is repeated. */
const PUT_FIRST = {
  update: `SET ${SLOTS[0]} = :id, ${MOVED.join(', ')}, expires_at = :expires_at`,
  condition: SLOTS.map((slot) => `${slot} <> :id`).join(' AND '),
};

function putFirst(id: string, expiresAt: number) {
  // A day longer than the registrations: a confirmed one is still found when its caller repeats.
  return { ...PUT_FIRST, values: { ':id': id, ':none': NONE, ':expires_at': expiresAt + DAY_SECONDS } };
}

const NONE = '';

/** Takes an id out again, wherever it stands; those behind it move up. */
async function takeOutOf(table: Table, key: { pk: string }, id: string, signal: AbortSignal): Promise<void> {
  for (const from of SLOTS.keys()) {
    const moves = SLOTS.slice(from, -1).map((slot, index) => `${slot} = ${SLOTS[from + index + 1]}`);
    const expression = {
      update: `SET ${[...moves, `${SLOTS.at(-1)} = :none`].join(', ')}`,
      condition: `${SLOTS[from]} = :id`,
      values: { ':id': id, ':none': NONE },
    };
    const taken = await unlessRefused(table.update(key, expression, signal));
    if (taken !== undefined) return;
  }
}

/** @returns undefined where a condition kept the write from being done */
async function unlessRefused<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}

/** Fails only when both have ended: no write goes on behind an answer. */
async function bothEnded(writes: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(writes);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** What was written by `put`: its shape is ours. What confirming reads of it is checked. */
function toRegistration(item: Item | undefined): StoredRegistration | undefined {
  const checked = v.safeParse(ReadSchema, item);
  return checked.success ? (item as unknown as StoredRegistration) : undefined;
}

const ReadSchema = v.object({
  registration_id: v.string(),
  otp_type: v.picklist(OTP_TYPES),
  address: v.string(),
  password_hash: v.string(),
  code: SealedCodeSchema,
  documents: v.array(v.object({ key: v.string() })),
});
