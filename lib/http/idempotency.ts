import { createHmac } from 'node:crypto';

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
    .update('body\n')
    .update(JSON.stringify(inOrder(body)))
    .digest('base64url');
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { members: members.map(([name, member]) => [name, inOrder(member)]) };
}
