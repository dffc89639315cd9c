import { createSecretKey, type KeyObject } from 'node:crypto';
import * as v from 'valibot';

/** The secret keys that codes are sealed with. Several, so that a new one can take over while old codes still verify. */
export interface Pepper {
  /** What new codes are sealed with. */
  readonly version: string;
  /** All keys, the one of `version` first. */
  readonly keys: readonly [KeyObject, ...KeyObject[]];
  key(version: string): KeyObject | undefined;
}

/** The pepper secret does not hold what it should; says nothing of what it holds. */
export class PepperMalformed extends Error {
  override readonly name = 'PepperMalformed';
}

const PepperSchema = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.string()));
const LEAST_KEY_CHARACTERS = 32;

/**
 * Reads the pepper secret: `{"current": "2", "1": "<random text>", "2": "<random text>"}`. Each key is a random text of
 * at least 32 characters, used as it stands. To rotate: add a version, then name it in `current`; ten minutes later
 * (and as long as secrets are kept in memory) the old one can go.
 * @throws PepperMalformed
 */
export function parsePepper(text: string): Pepper {
  const parsed = v.safeParse(PepperSchema, text);
  if (!parsed.success) throw new PepperMalformed('The pepper secret is not a JSON object of texts.');
  const { current = '', ...rest } = parsed.output;
  if (Object.values(rest).some((one) => one.length < LEAST_KEY_CHARACTERS)) {
    throw new PepperMalformed(`A key of the pepper secret is shorter than ${LEAST_KEY_CHARACTERS} characters.`);
  }
  const byVersion = new Map(Object.entries(rest).map(([version, one]) => [version, createSecretKey(one, 'utf8')]));
  const key = byVersion.get(current);
  if (key === undefined) throw new PepperMalformed('The pepper secret does not hold the version named in `current`.');
  byVersion.delete(current);
  return {
    version: current,
    keys: [key, ...byVersion.values()],
    key: (version) => (version === current ? key : byVersion.get(version)),
  };
}
