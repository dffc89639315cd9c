import { createSecretKey, type KeyObject } from 'node:crypto';
import { hashKey, type KeyVersion, parseKeyVersions } from './keys.ts';

/** A secret key. */
export interface PepperKey {
  readonly version: string;
  /** For the HMACs of codes and bodies. */
  readonly hmacKey: KeyObject;
  /** For `keyedHash`. */
  readonly hashKey: string;
}

/** The secret keys. Several, so that a new one can replace an old one while old codes still verify. */
export interface Pepper {
  /** What new codes are sealed with. */
  readonly current: PepperKey;
  /** The current one first. */
  readonly keys: readonly PepperKey[];
}

/**
 * Reads the pepper secret. To rotate: add a version, then name it in `current`. When the codes of the old version have
 * expired, and no function caches the old secret any more, remove it. While both are there, a confirmation hashes the
 * password twice. When the old one is gone, a confirmation under it can no longer be repeated.
 * @throws KeysMalformed
 */
export function parsePepper(secret: string): Pepper {
  const [current, ...older] = parseKeyVersions(secret);
  const key = pepperKey(current);
  return { current: key, keys: [key, ...older.map(pepperKey)] };
}

function pepperKey({ version, text }: KeyVersion): PepperKey {
  const hmacKey = createSecretKey(text, 'utf8');
  return { version, hmacKey, hashKey: hashKey(hmacKey) };
}
