import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';
import * as v from 'valibot';

/** A key of a secret that is rotated. */
export interface KeyVersion {
  readonly version: string;
  /** A random text, used unchanged. */
  readonly text: string;
}

/** A secret with versions is malformed. The message quotes nothing of the secret. */
export class KeysMalformed extends Error {
  override readonly name = 'KeysMalformed';
}

const KeysSchema = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.string()));
const MIN_KEY_CHARACTERS = 32;

/**
 * Reads a secret with versions: `{"current": "2", "1": "<random text>", "2": "<random text>"}`. Each key has at least 32
 * characters. `npm run ops -- secret rotate` adds a version, then names it in `current`.
 * @returns the current one first
 * @throws KeysMalformed
 */
export function parseKeyVersions(secret: string): readonly [KeyVersion, ...KeyVersion[]] {
  const parsed = v.safeParse(KeysSchema, secret);
  if (!parsed.success) throw new KeysMalformed('The secret is not a JSON object of texts.');
  const { current = '', ...texts } = parsed.output;
  const keys = Object.entries(texts).map(([version, text]) => ({ version, text }));
  if (keys.some(({ text }) => text.length < MIN_KEY_CHARACTERS)) {
    throw new KeysMalformed(`A key of the secret is shorter than ${MIN_KEY_CHARACTERS} characters.`);
  }
  const key = keys.find(({ version }) => version === current);
  if (key === undefined) throw new KeysMalformed('The secret does not hold the version named in `current`.');
  return [key, ...keys.filter((other) => other !== key)];
}

/** A key for `keyedHash`: 32 bytes, base64url. It is derived from a secret with another use. Neither reveals the other. */
function hashKey(secret: KeyObject): string {
  return createHmac('sha256', secret).update('hash').digest('base64url');
}

/**
 * SHA-3-256 over a key and a text, base64url: without the key it can neither be computed nor verified. SHA-3 is made for
 * this (FIPS 202, A.2); an HMAC takes five times as long.
 */
export function keyedHash(key: string, text: string): string {
  return hash('sha3-256', `${key}\n${text}`, 'base64url');
}

/** A UUID of version 8 that a key and a text make: without the key it can neither be computed nor verified. */
export function keyedUuid(key: string, text: string): string {
  const bytes = Buffer.from(keyedHash(key, text), 'base64url').subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** A secret key. */
export interface PepperKey {
  readonly version: string;
  /** The key of the HMACs of codes and bodies. */
  readonly hmacKey: KeyObject;
  /** The key of `keyedHash`. */
  readonly hashKey: string;
}

/** The secret keys. Several, so that a new one can replace an old one while old codes still verify. */
export interface Pepper {
  /** The key that seals new codes. */
  readonly current: PepperKey;
  /** All keys, the current one first. */
  readonly keys: readonly PepperKey[];
}

/**
 * Reads the pepper secret. A rotation adds a version, then names it in `current`. The version before it stays for at
 * least a day: repeats of confirmations and of requests with an `Idempotency-Key` need it.
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
