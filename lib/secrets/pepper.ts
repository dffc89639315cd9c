import { createSecretKey, type KeyObject } from 'node:crypto';
import * as v from 'valibot';
import { hashKey } from './keyed-hash.ts';

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

/** The pepper secret is malformed. The message holds nothing of the secret. */
export class PepperMalformed extends Error {
  override readonly name = 'PepperMalformed';
}

const PepperSchema = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.string()));
const MIN_KEY_CHARACTERS = 32;

/**
 * Reads the pepper secret: `{"current": "2", "1": "<random text>", "2": "<random text>"}`. Each key is a random text of
 * at least 32 characters, used unchanged. To rotate: add a version, then name it in `current`. When the codes of the
 * old version have expired, and no function caches the old secret any more, remove it. While both are there, a
 * confirmation hashes the password twice. When the old one is gone, a confirmation under it can no longer be repeated.
 * @throws PepperMalformed
 */
export function parsePepper(text: string): Pepper {
  const parsed = v.safeParse(PepperSchema, text);
  if (!parsed.success) throw new PepperMalformed('The pepper secret is not a JSON object of texts.');
  const { current = '', ...rest } = parsed.output;
  if (Object.values(rest).some((one) => one.length < MIN_KEY_CHARACTERS)) {
    throw new PepperMalformed(`A key of the pepper secret is shorter than ${MIN_KEY_CHARACTERS} characters.`);
  }
  const keys = Object.entries(rest).map(([version, one]) => pepperKey(version, one));
  const key = keys.find(({ version }) => version === current);
  if (key === undefined) throw new PepperMalformed('The pepper secret does not hold the version named in `current`.');
  return { current: key, keys: [key, ...keys.filter((one) => one !== key)] };
}

function pepperKey(version: string, text: string): PepperKey {
  const hmacKey = createSecretKey(text, 'utf8');
  return { version, hmacKey, hashKey: hashKey(hmacKey) };
}
