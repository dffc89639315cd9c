import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import * as v from 'valibot';
import { CHARACTER_CLASSES, isMixed } from '../validators/passwords.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';
import type { PasswordRole } from './platform.ts';

const LENGTH = 12;
/** Left out: look-alikes, and what the platforms' protocols, shells or markup give a meaning. */
const LEFT_OUT = new Set('0O1lI|=\\"\'&<>');
const ALPHABET = Object.values(CHARACTER_CLASSES)
  .flatMap((characters) => [...characters])
  .filter((character) => !LEFT_OUT.has(character));
/** Bytes from here on are thrown away: with them some characters would come more often than others. */
const USABLE_BYTES = 256 - (256 % ALPHABET.length);

export interface PasswordOrigin {
  /** The deployment's secret. */
  key: string | Uint8Array | KeyObject;
  /** Random, of the operation; when it is gone, nobody can make the password again. */
  nonce: string | Uint8Array;
  version: PlatformVersion;
}

/**
 * The generated passwords of an account: always the same for the same origin, so that they need not be stored to be
 * answered again, and without the key uniformly random over the 12-character passwords of the alphabet that the
 * version's rules allow. The two roles never get the same one.
 */
export function derivePasswords(origin: PasswordOrigin): Record<PasswordRole, string> {
  const master = firstMixed(origin, 'master', () => true);
  return { master, investor: firstMixed(origin, 'investor', (candidate) => candidate !== master) };
}

/**
 * Uniform characters: HMAC-SHA-256 in counter mode (NIST SP 800-108), with bytes rejected that would favour some.
 * Candidates that break the rules are thrown away whole: mending them would favour some passwords.
 */
function firstMixed(
  { key, nonce, version }: PasswordOrigin,
  role: PasswordRole,
  suits: (candidate: string) => boolean,
): string {
  let candidate = '';
  for (let counter = 0; ; counter += 1) {
    const block = createHmac('sha256', key).update(`account-password\n${version}\n${role}\n${counter}\n`).update(nonce);
    for (const byte of block.digest()) {
      if (byte >= USABLE_BYTES) continue;
      candidate += ALPHABET[byte % ALPHABET.length];
      if (candidate.length < LENGTH) continue;
      if (isMixed(candidate, version) && suits(candidate)) return candidate;
      candidate = '';
    }
  }
}

/** The value of the password secret: at least 32 random bytes. */
const PasswordSecretSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ key: v.pipe(v.string(), v.base64(), v.minLength(44)) }),
);

/** @throws Error, which says nothing of the secret, when it has another shape */
export function parsePasswordKey(secret: string): KeyObject {
  const result = v.safeParse(PasswordSecretSchema, secret);
  if (!result.success) throw new Error('The password secret must be {"key": "<32 bytes in base64>"}.');
  return createSecretKey(result.output.key, 'utf8');
}
