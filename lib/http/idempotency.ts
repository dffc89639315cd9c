import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { isObject } from '../validators/primitives.ts';

/** A key for fingerprints, derived from a secret that has another use too. Neither reveals the other. */
export function fingerprintKey(secret: string | KeyObject): KeyObject {
  return createSecretKey(createHmac('sha256', secret).update('fingerprint').digest('base64url'), 'utf8');
}

/**
 * Fingerprints of a body, one for each key: equal if a retry has the same body. HMAC-SHA-256 over the sorted members,
 * so white space and order do not matter. Keyed, because a body may contain a password.
 * @param without members to leave out
 */
export function fingerprints(
  body: Readonly<Record<string, unknown>>,
  keys: readonly (string | KeyObject)[],
  without: readonly string[] = [],
): string[] {
  const text = `body\n${canonicalMembers(body, without)}`;
  return keys.map((key) => createHmac('sha256', key).update(text).digest('base64url'));
}

/** A unique text for each value. Built by appending: joined arrays would be copied at every level. */
function canonicalText(value: unknown): string {
  if (typeof value === 'string') return lengthPrefixed(value);
  if (Array.isArray(value)) {
    // The same text in half the time.
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

/** Prefixes the length, because escaping takes longer than parsing. Lone surrogates are not UTF-8 and need base64. */
function lengthPrefixed(text: string): string {
  return text.isWellFormed()
    ? `${text.length}:${text}`
    : `${text.length}!${Buffer.from(text, 'utf16le').toString('base64')}`;
}
