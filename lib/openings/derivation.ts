import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { LoginRange } from '../records/crm-records.ts';
import { fingerprintKey } from '../records/idempotency-keys.ts';
import { type KeyVersion, keyedHash, parseKeyVersions } from '../secrets/keys.ts';
import { CHARACTER_CLASSES, hasRequiredClasses } from '../validators/passwords.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';

/**
 * What follows from a request to open an account: the operation's id, its generated passwords and its logins. The same
 * request gives the same ones in every process and region, after lost tables, and after its key has expired. So the
 * trading server refuses to open its account twice, even if our tables cannot tell.
 *
 * Everything here is frozen: `test/lib/openings/derivation-vectors.json` has examples. A change needs the next version,
 * next to this one, because retries of operations of this version must get the same account.
 */
export const DERIVATION = 1;

/** A key of the secret of derived passwords. */
export interface DerivationKey {
  /** The id is derived from the key itself, so a replaced key has another id. */
  readonly id: string;
  readonly operations: KeyObject;
  /** The key of the fingerprints of bodies. */
  readonly fingerprints: KeyObject;
}

/**
 * The identity of an operation, and what it is derived from. All of it is stored, so that other workers can derive too.
 */
export interface Identity {
  /** A UUID. */
  readonly operationId: string;
  /** The key of the operation's item: the hash of the idempotency key with its scope, or a random id. */
  readonly pk: string;
  /** The fingerprint of the body, under the same key of the secret. */
  readonly fingerprint: string;
  /** The id of the key of the secret. */
  readonly secret: string;
  readonly derivation: number;
}

/**
 * The keys of the secret of derived passwords, the current one first.
 * @throws KeysMalformed; the message quotes nothing of the secret
 */
export function parseDerivationKeys(secret: string): readonly [DerivationKey, ...DerivationKey[]] {
  const [current, ...older] = parseKeyVersions(secret);
  return [derivationKey(current), ...older.map(derivationKey)];
}

function derivationKey({ text }: KeyVersion): DerivationKey {
  const operations = createSecretKey(text, 'utf8');
  return { id: hmac(operations, 'key id').slice(0, 16), operations, fingerprints: fingerprintKey(operations) };
}

/** The operation of a request under one key of the secret. @param fingerprint of its body, under the same key */
export function deriveIdentity(key: DerivationKey, pk: string, fingerprint: string): Identity {
  const origin = { pk, fingerprint, secret: key.id, derivation: DERIVATION };
  return { ...origin, operationId: uuid(keyedHash(operationSeed(key, origin), 'operation id')) };
}

/**
 * The seed of an operation's passwords and logins. It is as secret as they are.
 * @throws Error if the key of the secret is gone, or if another version of the derivation made the operation
 */
export function deriveSeed(keys: readonly DerivationKey[], origin: Omit<Identity, 'operationId'>): string {
  const key = keys.find(({ id }) => id === origin.secret);
  if (key === undefined || origin.derivation !== DERIVATION) throw new Error('The operation cannot be derived.');
  return operationSeed(key, origin);
}

function operationSeed(
  { operations }: DerivationKey,
  { pk, fingerprint, derivation }: Omit<Identity, 'operationId'>,
): string {
  return hmac(operations, `operation\n${derivation}\n${pk}\n${fingerprint}`);
}

function hmac(key: KeyObject, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** A UUID of version 8, whose bits are the application's (RFC 9562, 5.8). */
function uuid(digest: string): string {
  const bytes = Buffer.from(digest, 'base64url').subarray(0, 16);
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export type PasswordRole = 'master' | 'investor';
const PASSWORD_LENGTH = 12;
/** Excluded: look-alikes, and special characters of the protocols, shells and markup. */
const LEFT_OUT = new Set('0O1lI|=\\"\'&<>');
const ALPHABET = Object.values(CHARACTER_CLASSES)
  .flatMap((characters) => [...characters])
  .filter((character) => !LEFT_OUT.has(character));
/**
 * Bytes up to this value are used. Larger ones are rejected: with them some characters would occur more often than
 * others.
 */
const USABLE_BYTES = 256 - (256 % ALPHABET.length);

/**
 * The generated passwords of an account. Without the seed they are uniformly random over the valid 12-character
 * passwords of the alphabet. The two roles never get the same one.
 */
export function derivePasswords(seed: string, version: PlatformVersion): Record<PasswordRole, string> {
  const master = firstMixed(seed, version, 'master', () => true);
  return { master, investor: firstMixed(seed, version, 'investor', (candidate) => candidate !== master) };
}

/**
 * Finds the first candidate that keeps the rules. Its characters are uniform: a keyed hash in counter mode (as NIST SP
 * 800-108), with rejected bytes that would cause bias. A candidate that breaks the rules is dropped: fixing it would
 * cause bias.
 */
function firstMixed(
  seed: string,
  version: PlatformVersion,
  role: PasswordRole,
  suits: (candidate: string) => boolean,
): string {
  let candidate = '';
  for (let counter = 0; ; counter += 1) {
    const digest = keyedHash(seed, `password\n${version}\n${role}\n${counter}`);
    for (const byte of Buffer.from(digest, 'base64url')) {
      if (byte >= USABLE_BYTES) continue;
      candidate += ALPHABET[byte % ALPHABET.length];
      if (candidate.length < PASSWORD_LENGTH) continue;
      if (hasRequiredClasses(candidate, version) && suits(candidate)) return candidate;
      candidate = '';
    }
  }
}

/** All logins of the ranges, one range after the other, each in an order that only the seed decides. */
export function* loginSequence(seed: string, ranges: readonly LoginRange[]): Generator<number> {
  for (const range of ranges) yield* shuffled(seed, range);
}

/**
 * A keyed permutation of a range: the shuffle of Fisher and Yates (Durstenfeld 1964; Knuth, TAOCP 2, 3.4.2, algorithm P).
 * Only the places that differ from the sorted range are kept in memory, so a login costs the same in every range.
 */
function* shuffled(seed: string, { from, to }: LoginRange): Generator<number> {
  const draw = drawer(seed, `logins\n${from}\n${to}`);
  const moved = new Map<number, number>();
  const size = to - from + 1;
  for (let place = 0; place < size; place += 1) {
    const other = place + draw(size - place);
    yield from + (moved.get(other) ?? other);
    moved.set(other, moved.get(place) ?? place);
    moved.delete(place);
  }
}

/**
 * Numbers below a limit: 64 bits of a keyed hash in counter mode, modulo the limit. In a range of a million logins the
 * bias is below 2^-43.
 */
function drawer(seed: string, label: string): (limit: number) => number {
  let block = Buffer.alloc(0);
  let blocks = 0;
  return (limit) => {
    if (block.length === 0) {
      block = Buffer.from(keyedHash(seed, `${label}\n${blocks}`), 'base64url');
      blocks += 1;
    }
    const drawn = block.readBigUInt64BE();
    block = block.subarray(8);
    return Number(drawn % BigInt(limit));
  };
}
