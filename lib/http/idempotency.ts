import { createHmac } from 'node:crypto';
import type { FieldFault } from '../validators/primitives.ts';

/** The header of the IETF draft `draft-ietf-httpapi-idempotency-key-header`: 1 to 255 visible ASCII characters, optionally quoted. */
export const IDEMPOTENCY_KEY = /^(?:"([\x21\x23-\x7e]{1,255})"|([\x21\x23-\x7e][\x21-\x7e]{0,254}))$/;

export const MALFORMED_KEY = {
  header: 'Idempotency-Key',
  rule: 'format',
  detail: 'must be 1 to 255 visible ASCII characters',
} as const satisfies FieldFault;

/** @returns the key, undefined where none was sent, or the fault of a malformed one */
export function idempotencyKey(header: string | undefined): { key: string | undefined } | { fault: FieldFault } {
  if (header === undefined) return { key: undefined };
  const [, quoted, plain] = IDEMPOTENCY_KEY.exec(header.trim()) ?? [];
  const key = quoted ?? plain;
  if (key !== undefined) return { key };
  return { fault: MALFORMED_KEY };
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
