import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { isObject } from '../validators/primitives.ts';

/** The key of fingerprints where the secret has another use too: from the one nothing can be said of the other. */
export function fingerprintKey(secret: string | KeyObject): KeyObject {
  return createSecretKey(createHmac('sha256', secret).update('fingerprint').digest('base64url'), 'utf8');
}

/**
 * The fingerprint that tells whether a retry carries the same body, under each of these keys: HMAC-SHA-256 over the body
 * with its members in order, so that white space and their order do not matter. Keyed, because a body may hold a password.
 * @param without members of the body that do not count
 */
export function fingerprints(
  body: Readonly<Record<string, unknown>>,
  keys: readonly (string | KeyObject)[],
  without: readonly string[] = [],
): string[] {
  const text = `body\n${canonicalMembers(body, without)}`;
  return keys.map((key) => createHmac('sha256', key).update(text).digest('base64url'));
}

/** The same text for the same value, and for no other. Made by adding up: joined arrays would be copied at every level. */
function canonicalText(value: unknown): string {
  if (typeof value === 'string') return lengthPrefixed(value);
  if (Array.isArray(value)) {
    // The same text, made in half the time.
    if (value.length > 0 && value.every((element) => typeof element === 'number')) return `[${value.join()},]`;
    let text = '[';
    for (const element of value) text += canonicalText(element);
    return `${text}]`;
  }
  return isObject(value) ? canonicalMembers(value) : `${value},`;
}

function canonicalMembers(object: Readonly<Record<string, unknown>>, without: readonly string[] = []): string {
  let text = '{';
  for (const name of Object.keys(object).sort()) {
    if (!without.includes(name)) text += lengthPrefixed(name) + canonicalText(object[name]);
  }
  return `${text}}`;
}

/** Tells its length instead of escaping it, which takes longer than to parse it. Halves of characters are not UTF-8. */
function lengthPrefixed(text: string): string {
  return text.isWellFormed()
    ? `${text.length}:${text}`
    : `${text.length}!${Buffer.from(text, 'utf16le').toString('base64')}`;
}
