import { createHmac, hash, randomInt, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { type Channel, CODE_VALID_MINUTES } from '../validators/otp-types.ts';
import { keyedHash, type Pepper, type PepperKey } from './keys.ts';

/** How many different codes may be guessed for one registration. */
export const MAX_CODE_GUESSES = 5;

/** A one-time password: six digits, each of the million equally likely. */
export function makeCode(): string {
  // The upper bound is exclusive.
  return String(randomInt(0, 1_000_000)).padStart(6, '0');
}

const SALT_BYTES = 16;

/**
 * The salt of all passwords of one channel and address, so that a confirmation compares with all its registrations by
 * one hash. No two addresses share a salt, and without the pepper none can be computed ahead.
 */
export function passwordSalt({ hashKey }: PepperKey, channel: Channel, address: string): Buffer {
  return Buffer.from(keyedHash(hashKey, `salt\n${channel}\n${address}`), 'base64url').subarray(0, SALT_BYTES);
}

/** The registration that a code and a password belong to. */
export interface CodeBinding {
  registrationId: string;
  channel: Channel;
  /** The address as the registration's record has it. */
  address: string;
}

export const SealsSchema = v.object({
  pepper_version: v.string(),
  /** HMAC-SHA-256, base64url. */
  code: v.string(),
  /** The result of `passwordDigest`. */
  password: v.string(),
  /** When the code expires, in epoch milliseconds. */
  expires_at_ms: v.number(),
});

/** Verifies a code and a password. Without the pepper no code can be guessed. */
export type Seals = v.InferOutput<typeof SealsSchema>;

/**
 * Seals a code for one registration, next to the digest of its password. The code is valid for ten minutes from `now`
 * (epoch milliseconds).
 * @param passwordHash the PHC string of the password
 */
export function sealCodeAndPassword(
  { code, passwordHash }: { code: string; passwordHash: string },
  binding: CodeBinding,
  pepper: Pepper,
  now: number,
): Seals {
  return {
    pepper_version: pepper.current.version,
    code: seal(code, binding, pepper.current),
    password: passwordDigest(passwordHash),
    expires_at_ms: now + CODE_VALID_MINUTES * 60_000,
  };
}

/**
 * A guess at a code, sealed as the code is. Equal to its seal if it is right. @returns undefined if the pepper's key is
 * gone
 */
export function sealGuess(guess: string, binding: CodeBinding, { pepper_version }: Seals, pepper: Pepper) {
  const key = pepper.keys.find(({ version }) => version === pepper_version);
  return key && seal(guess, binding, key);
}

/** The SHA-256 of a PHC string, base64url. Its salt depends on the pepper: from the digest alone nothing can be guessed. */
export function passwordDigest(passwordHash: string): string {
  return hash('sha256', passwordHash, 'base64url');
}

/** Whether two seals are equal. The comparison takes equally long for all seals of one length. */
export function isSameSeal(one: string, other: string): boolean {
  const [expected, actual] = [Buffer.from(one), Buffer.from(other)];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

function seal(code: string, { registrationId, channel, address }: CodeBinding, { hmacKey }: PepperKey): string {
  const message = JSON.stringify([registrationId, channel, address, code]);
  return createHmac('sha256', hmacKey).update(`code\n${message}`).digest('base64url');
}
