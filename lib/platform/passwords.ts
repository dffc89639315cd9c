import { createSecretKey, type KeyObject } from 'node:crypto';
import * as v from 'valibot';
import { keyedHash } from '../secrets/keyed-hash.ts';
import { CHARACTER_CLASSES, isMixed } from '../validators/passwords.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';
import type { PasswordRole } from './platform.ts';

const LENGTH = 12;
/** Excluded: look-alikes, and special characters of the protocols, shells and markup. */
const LEFT_OUT = new Set('0O1lI|=\\"\'&<>');
const ALPHABET = Object.values(CHARACTER_CLASSES)
  .flatMap((characters) => [...characters])
  .filter((character) => !LEFT_OUT.has(character));
/** Larger bytes are rejected: some characters would occur more often than others. */
const USABLE_BYTES = 256 - (256 % ALPHABET.length);

export interface PasswordOrigin {
  /** Made of the deployment's secret. */
  key: string;
  /** The operation's random nonce. After its deletion, the password cannot be derived again. */
  nonce: string;
  version: PlatformVersion;
}

/**
 * The generated passwords of an account. The same origin always gives the same passwords, so they need not be stored.
 * Without the key they are uniformly random over the valid 12-character passwords of the alphabet. The two roles never
 * get the same one.
 */
export function derivePasswords(origin: PasswordOrigin): Record<PasswordRole, string> {
  const master = firstMixed(origin, 'master', () => true);
  return { master, investor: firstMixed(origin, 'investor', (candidate) => candidate !== master) };
}

/**
 * Uniform characters: a keyed hash in counter mode (as NIST SP 800-108), with rejected bytes that would cause bias. A
 * candidate that breaks the rules is dropped: fixing it would cause bias.
 */
function firstMixed(
  { key, nonce, version }: PasswordOrigin,
  role: PasswordRole,
  suits: (candidate: string) => boolean,
): string {
  let candidate = '';
  for (let counter = 0; ; counter += 1) {
    const text = `account-password\n${version}\n${role}\n${counter}\n${nonce}`;
    for (const byte of Buffer.from(keyedHash(key, text), 'base64url')) {
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

/** @throws Error if the secret is malformed; the message holds none of it */
export function parsePasswordKey(secret: string): KeyObject {
  const result = v.safeParse(PasswordSecretSchema, secret);
  if (!result.success) throw new Error('The password secret must be {"key": "<32 bytes in base64>"}.');
  return createSecretKey(result.output.key, 'utf8');
}
