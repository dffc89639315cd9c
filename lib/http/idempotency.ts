import { createHmac } from 'node:crypto';
import { isObject } from '../validators/primitives.ts';

/** The key of fingerprints where the secret has another use too: from the one nothing can be said of the other. */
export function fingerprintKey(secret: string): string {
  return createHmac('sha256', secret).update('fingerprint').digest('base64url');
}

/**
 * The fingerprint that tells whether a retry carries the same body: HMAC-SHA-256 over the body with its keys in order,
 * so that white space and the order of members do not matter. Keyed, because the body may hold a password.
 */
export function fingerprint(body: unknown, key: string): string {
  return createHmac('sha256', key)
    .update(`body\n${inOrder(body)}`)
    .digest('base64url');
}

/** The same text for the same value, and for no other. Made by adding up: joined arrays would be copied at every level. */
function inOrder(value: unknown): string {
  if (typeof value === 'string') return withLength(value);
  if (Array.isArray(value)) {
    let text = '[';
    for (const element of value) text += inOrder(element);
    return `${text}]`;
  }
  if (isObject(value)) {
    let text = '{';
    for (const name of Object.keys(value).sort()) text += withLength(name) + inOrder(value[name]);
    return `${text}}`;
  }
  return `${value},`;
}

/** Tells its length instead of escaping it, which takes longer than to parse it. Halves of characters are not UTF-8. */
function withLength(text: string): string {
  return text.isWellFormed()
    ? `${text.length}:${text}`
    : `${text.length}!${Buffer.from(text, 'utf16le').toString('base64')}`;
}
