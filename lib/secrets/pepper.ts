import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import * as v from 'valibot';

/**
 * The secret keys that codes are sealed with. Several, so that a new one can replace an old one while old codes still
 * verify.
 */
export interface Pepper {
  /** What new codes are sealed with. */
  readonly version: string;
  /** All keys, the one of `version` first. */
  readonly keys: readonly [KeyObject, ...KeyObject[]];
  /** The versions of these keys. */
  readonly versions: readonly string[];
  key(version: string): KeyObject | undefined;
  /** A secret of 32 bytes for the names of counters. */
  readonly nameKey: string;
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
 * old version have expired, and functions have forgotten the old secret, remove it. While both are there, a
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
  const byVersion = new Map(Object.entries(rest).map(([version, one]) => [version, createSecretKey(one, 'utf8')]));
  const key = byVersion.get(current);
  if (key === undefined) throw new PepperMalformed('The pepper secret does not hold the version named in `current`.');
  byVersion.delete(current);
  return {
    version: current,
    keys: [key, ...byVersion.values()],
    versions: [current, ...byVersion.keys()],
    key: (version) => (version === current ? key : byVersion.get(version)),
    nameKey: createHmac('sha256', key).update('names').digest('base64url'),
  };
}
