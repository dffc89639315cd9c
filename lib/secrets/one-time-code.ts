import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import type { Pepper, PepperKey } from './keys.ts';

/** How many guesses one registration allows. */
export const MAX_CODE_GUESSES = 5;

/** A one-time password: six digits, each of the million equally likely. */
export function makeCode(): string {
  // The upper bound is exclusive.
  return String(randomInt(0, 1_000_000)).padStart(6, '0');
}

/** A code as it is stored. Without the pepper no code can be guessed. */
export interface SealedCode {
  /** HMAC-SHA-256 over the registration's id and the code, base64url. */
  code_seal: string;
  pepper_version: string;
}

/** Seals the code of one registration under the current key of the pepper. */
export function sealCode(registrationId: string, code: string, { current }: Pepper): SealedCode {
  return { code_seal: seal(registrationId, code, current), pepper_version: current.version };
}

/** Whether this is the code of the registration; false if the key that sealed it is gone. Takes equally long for every code. */
export function isCodeOf(registrationId: string, guess: string, sealed: Partial<SealedCode>, pepper: Pepper): boolean {
  const key = pepper.keys.find(({ version }) => version === sealed.pepper_version);
  const expected = Buffer.from(sealed.code_seal ?? '');
  const actual = Buffer.from(seal(registrationId, guess, key ?? pepper.current));
  return key !== undefined && expected.length === actual.length && timingSafeEqual(expected, actual);
}

function seal(registrationId: string, code: string, { hmacKey }: PepperKey): string {
  const message = JSON.stringify([registrationId, code]);
  return createHmac('sha256', hmacKey).update(`code\n${message}`).digest('base64url');
}
