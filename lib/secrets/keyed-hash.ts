import { createHmac, hash, type KeyObject } from 'node:crypto';

/** A key for `keyedHash`: 32 bytes, base64url. It is derived from a secret with another use. Neither reveals the other. */
export function hashKey(secret: KeyObject): string {
  return createHmac('sha256', secret).update('hash').digest('base64url');
}

/**
 * SHA-3-256 over a key and a text, base64url: without the key it can neither be computed nor verified. SHA-3 is made for
 * this (FIPS 202, A.2); an HMAC takes five times as long.
 */
export function keyedHash(key: string, text: string): string {
  return hash('sha3-256', `${key}\n${text}`, 'base64url');
}
