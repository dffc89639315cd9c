import { createHmac, type KeyObject, randomInt, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import type { Channel } from '../validators/otp-types.ts';
import type { Pepper } from './pepper.ts';

/** How long a one-time password can be used (NIST SP 800-63B, OWASP ASVS 6.5.5). */
export const CODE_VALID_MINUTES = 10;

/** How often a code may be guessed, right guesses counted. */
export const MAX_GUESSES = 5;

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

export const SealedCodeSchema = v.object({
  pepper_version: v.string(),
  /** HMAC-SHA-256, base64url. */
  hmac: v.string(),
  /** Epoch milliseconds. */
  expires_at_ms: v.number(),
  /** How many guesses were made. */
  guesses: v.number(),
});

/** What is kept of a code: enough to verify a guess, and without the pepper of no use. */
export type SealedCode = v.InferOutput<typeof SealedCodeSchema>;

/** Seals a code for one registration, good for ten minutes from `now` (epoch milliseconds). */
export function sealCode(code: string, binding: CodeBinding, pepper: Pepper, now: number): SealedCode {
  return {
    pepper_version: pepper.version,
    hmac: seal(code, binding, pepper.keys[0]),
    expires_at_ms: now + CODE_VALID_MINUTES * 60_000,
    guesses: 0,
  };
}

function seal(code: string, { registrationId, channel, address }: CodeBinding, key: KeyObject): string {
  const message = JSON.stringify([registrationId, channel, address, code]);
  return createHmac('sha256', key).update(`code\n${message}`).digest('base64url');
}

/** Whether this is the sealed code; takes as long for every code. False also where the pepper's key is gone. */
export function isSealedCode(code: string, binding: CodeBinding, sealed: SealedCode, pepper: Pepper): boolean {
  const key = pepper.key(sealed.pepper_version);
  const actual = Buffer.from(seal(code, binding, key ?? pepper.keys[0]));
  const expected = Buffer.from(sealed.hmac);
  return expected.length === actual.length && timingSafeEqual(expected, actual) && key !== undefined;
}
