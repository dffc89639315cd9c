import * as v from 'valibot';
import { type Item, type Table, tryWrite } from '../aws/dynamodb.ts';
import { MAX_GUESSES, type Seals, SealsSchema } from '../secrets/one-time-code.ts';
import type { Channel } from '../validators/otp-types.ts';

/** A registration in the index, with the seal of its code and the digest of its password. */
const EntrySchema = v.object({
  ...SealsSchema.entries,
  /** Epoch milliseconds. */
  requested_at_ms: v.number(),
  /** The different guesses at its code, sealed. */
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
/** Older ones are dropped if their codes have expired and they are not confirmed. */
const MAX_INDEXED = 50;
/** The number of registrations that one expression drops. */
const MAX_DROPPED = 50;
/** The number of guesses that one expression counts. */
const MAX_GUESSED = 40;
/** How often guesses are counted when others are counted at the same time. */
const MAX_ATTEMPTS = 6;

/**
 * The registrations of each channel and address in DynamoDB: one item for each channel and address, with an attribute
 * for each registration.
 */
export function dynamoRegistrationIndex(table: Table, now: () => number) {
  async function dropOld(key: Key, item: Item, signal: AbortSignal): Promise<void> {
    const all = parseIndexed(item);
    const spare = all.slice(MAX_INDEXED).filter((one) => one.expires_at_ms <= now() && one.confirmed !== true);
    const old = all.filter((one) => one.requested_at_ms <= now() - KEPT_MS);
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
        // It exists if the SDK repeated our own write after a lost answer.
        condition: 'attribute_not_exists(#registration)',
        names: { '#registration': registration.registration_id },
        values: { ':entry': entry, ':expires_at': Math.ceil((requestedAt + KEPT_MS) / 1_000) },
      };
      const key = indexKey(registration);
      const item = await tryWrite(table.update(key, expression, signal));
      // If this fails, the next registration repeats it.
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
    uncounted: found.filter(({ guess, made }) => !made.includes(guess) && made.length < MAX_GUESSES),
  };
}

/** It writes even without a guess, so that every refusal makes the same calls. */
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
    Object.assign(values, { ':max': MAX_GUESSES, [`:list${index}`]: [guess], [`:guess${index}`]: guess });
  }
  return {
    update: `SET ${set.join(', ')}`,
    condition: conditions.join(' AND '),
    ...(guesses.length > 0 && { names }),
    values,
  };
}

/** The confirmed ones first, then the newest. */
function parseIndexed(item: Item = {}): IndexedRegistration[] {
  const entries = Object.entries(item).flatMap(([registration_id, entry]) => {
    const { success, output } = v.safeParse(EntrySchema, entry);
    return success ? [{ registration_id, ...output }] : [];
  });
  const rank = ({ confirmed, requested_at_ms }: IndexedRegistration) => requested_at_ms + (confirmed ? KEPT_MS * 2 : 0);
  return entries.sort((a, b) => rank(b) - rank(a));
}
