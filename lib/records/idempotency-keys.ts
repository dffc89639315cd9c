import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';
import { type Item, type Table, tryWrite, updateAttributes, type WriteExpression } from '../aws/dynamodb.ts';
import { isObject } from '../validators/primitives.ts';

/** How long callers may use an `Idempotency-Key` again, counted from the last step. */
export const KEY_HOURS = 24;
/** The clocks of two workers may differ by this much. */
const CLOCK_MARGIN_SECONDS = 5 * 60;

/** The partition key of an idempotency key. @param scope the key and the scope in which it is unique */
export function keyItem(scope: readonly string[]): string {
  return `key#${hash('sha256', JSON.stringify(scope), 'base64url')}`;
}

/**
 * When a key expires, in epoch seconds: a little later than documented. Otherwise a worker whose clock is ahead could
 * start again what the caller may still repeat.
 * @param at when the last step was, in epoch milliseconds
 */
export function keyExpiry(at: number): number {
  return Math.ceil(at / 1_000) + KEY_HOURS * 60 * 60 + CLOCK_MARGIN_SECONDS;
}

/**
 * The version of the text that fingerprints are made of. It stands in front of each fingerprint. The form is frozen:
 * `test/lib/openings/derivation-vectors.json` has examples.
 */
const FORM = 1;

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
  const text = `body\n${JSON.stringify(sortMembers(body, without))}`;
  return keys.map((key) => `${FORM}.${createHmac('sha256', key).update(text).digest('base64url')}`);
}

/** The value with the members of every object in one order. */
function sortMembers(value: unknown, without: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((element) => sortMembers(element));
  if (!isObject(value)) return value;
  const names = Object.keys(value).filter((name) => !without.includes(name));
  return Object.fromEntries(names.sort().map((name) => [name, sortMembers(value[name])]));
}

/**
 * The condition of a write under a lease, with the values `:lease` and the next revision, `:revision`. A worker that
 * has lost its lease writes nothing, and a late duplicate of a write changes nothing.
 */
export const UNDER_LEASE = 'lease = :lease AND revision <= :revision';

/** The lease that a worker asks for. Times in epoch milliseconds. */
interface WantedLease {
  pk: string;
  lease: string;
  at: number;
  until: number;
}

/**
 * Acquires the item of a key that no worker holds.
 * @param condition a further one, with its values
 * @returns the item; undefined if the key is not free
 */
export function acquireLease(
  table: Table,
  { pk, lease, at, until }: WantedLease,
  { condition, values }: Pick<WriteExpression, 'condition' | 'values'>,
  signal: AbortSignal,
): Promise<Item | undefined> {
  const set = updateAttributes({ lease, lease_until: until });
  const expression = {
    // The revision never starts again, so a late duplicate of an earlier write finds a later revision.
    update: `${set.update}, revision = revision + :one`,
    // An earlier attempt of this write counts, if its answer was lost and the SDK repeated it.
    condition: `lease = :lease OR (lease_until <= :now AND ${condition})`,
    names: set.names,
    values: { ...set.values, ':one': 1, ':now': at, ...values },
  };
  return tryWrite(table.update({ pk }, expression, signal, true));
}

/** The condition that the key was used with one of these bodies. */
export function sameBodyCondition(fingerprints: readonly string[]): { condition: string; values: Item } {
  const values = Object.fromEntries(fingerprints.map((fingerprint, index) => [`:fingerprint${index}`, fingerprint]));
  return { condition: `fingerprint IN (${Object.keys(values).join(', ')})`, values };
}

/**
 * The seconds after which a caller whose key another worker holds may repeat the request.
 * @param until epoch milliseconds
 */
export function secondsUntilFree(until: number, at: number): number {
  return Math.min(5, Math.max(1, Math.ceil((until - at) / 1_000)));
}
