import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { ConditionFailed, type Expression, type Item, type Key, type Table } from '../aws/dynamodb.ts';
import { type Channel, OTP_TYPES } from '../validators/otp-types.ts';
import type { Pepper } from './pepper.ts';

/** How long a one-time password can be used (NIST SP 800-63B, OWASP ASVS 6.5.5). */
export const CODE_VALID_MINUTES = 10;

/** How often a code may be guessed, right guesses counted. */
export const MOST_GUESSES = 5;

/** A one-time password: six digits, each of the million equally likely. */
export function makeCode(): string {
  // The upper bound is exclusive.
  return String(randomInt(0, 1_000_000)).padStart(6, '0');
}

/** What a code is good for, and nothing else. */
export interface CodeBinding {
  registrationId: string;
  channel: Channel;
  /** As it stands in the registration's record. */
  address: string;
}

const SealedCodeSchema = v.object({
  pepper_version: v.string(),
  /** HMAC-SHA-256, base64url. */
  hmac: v.string(),
  /** Epoch milliseconds. */
  expires_at_ms: v.number(),
  /** How many guesses were made. */
  guesses: v.number(),
  /** When the right guess was made, in epoch milliseconds; absent: not yet. */
  used_at_ms: v.optional(v.number()),
  /** A random word of the call that made it. */
  used_by: v.optional(v.string()),
});

/** What is kept of a code: enough to verify a guess, and without the pepper of no use. */
export type SealedCode = v.InferOutput<typeof SealedCodeSchema>;

/** Seals a code for one registration, good for ten minutes from `now` (epoch milliseconds). */
export function sealCode(code: string, binding: CodeBinding, pepper: Pepper, now: number): SealedCode {
  return {
    pepper_version: pepper.version,
    hmac: seal(code, binding, pepper.keys[0]).toString('base64url'),
    expires_at_ms: now + CODE_VALID_MINUTES * 60_000,
    guesses: 0,
  };
}

function seal(code: string, { registrationId, channel, address }: CodeBinding, key: string): Buffer {
  const message = JSON.stringify([registrationId, channel, address, code]);
  return createHmac('sha256', key).update('code\n').update(message).digest();
}

const RecordSchema = v.object({
  registration_id: v.string(),
  otp_type: v.picklist(OTP_TYPES),
  address: v.string(),
  code: SealedCodeSchema,
});

export type GuessOutcome = 'right' | 'wrong' | 'expired' | 'no_guesses_left' | 'not_found';

const code = { '#code': 'code' };
const unused = 'attribute_not_exists(#code.used_at_ms)';

/**
 * Verifies a guess at the code of the registration under this key. The guess is counted before it is compared, in one
 * conditional write, so that no number of guesses side by side gets more than five; and of two right guesses one wins.
 * `right` is told once: from then on the registration's code is `not_found`, as it is where there is none.
 *
 * @param now epoch milliseconds
 * @throws DatabaseFailure; the guess may have been counted
 */
export async function verifyCode(
  table: Table,
  key: Key,
  guess: string,
  pepper: Pepper,
  now: number,
  signal: AbortSignal,
): Promise<GuessOutcome> {
  const counted = await writeIf(table, key, signal, {
    update: 'SET #code.guesses = #code.guesses + :one',
    condition: `#code.guesses < :most AND #code.expires_at_ms > :now AND ${unused}`,
    names: code,
    values: { ':one': 1, ':most': MOST_GUESSES, ':now': now },
  });
  if (counted === undefined) return whyNot(await table.get(key, signal), now);

  const record = v.safeParse(RecordSchema, counted);
  if (!record.success) return 'not_found';
  const { registration_id: registrationId, otp_type: channel, address, code: sealed } = record.output;
  const secret = pepper.key(sealed.pepper_version);
  if (secret === undefined) return 'expired';
  const expected = Buffer.from(sealed.hmac, 'base64url');
  const actual = seal(guess, { registrationId, channel, address }, secret);
  if (expected.length !== actual.length || !timingSafeEqual(expected, actual)) return 'wrong';

  return (await use(table, key, sealed.hmac, now, signal)) ? 'right' : 'not_found';
}

/** Uses the code up, if it still is the one that was compared and nobody else has. */
async function use(table: Table, key: Key, hmac: string, now: number, signal: AbortSignal): Promise<boolean> {
  const me = randomBytes(9).toString('base64url');
  const used = await writeIf(table, key, signal, {
    update: 'SET #code.used_at_ms = :now, #code.used_by = :me',
    condition: `#code.hmac = :hmac AND ${unused}`,
    names: code,
    values: { ':now': now, ':me': me, ':hmac': hmac },
  });
  if (used !== undefined) return true;
  // Our own write, if its answer was lost and the database's client repeated it.
  const record = v.safeParse(RecordSchema, await table.get(key, signal));
  return record.success && record.output.code.used_by === me;
}

function whyNot(item: Item | undefined, now: number): GuessOutcome {
  const record = v.safeParse(RecordSchema, item);
  if (!record.success || record.output.code.used_at_ms !== undefined) return 'not_found';
  const { expires_at_ms, guesses } = record.output.code;
  if (expires_at_ms <= now) return 'expired';
  // A code that was replaced between the two calls counts for the next guess.
  return guesses >= MOST_GUESSES ? 'no_guesses_left' : 'wrong';
}

async function writeIf(
  table: Table,
  key: Key,
  signal: AbortSignal,
  expression: Expression & { update: string },
): Promise<Item | undefined> {
  try {
    return await table.update(key, expression, signal);
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}
