import { Webhook } from 'standardwebhooks';
import { Failure } from '../failure.ts';
import { isObject } from '../validators/primitives.ts';

/** The keys of a secret for signing, the current one first: `whsec_` and the key in base64. */
export type SigningKeys = readonly [string, ...string[]];

/** The minimum length of a key in bytes, by Standard Webhooks. */
const MIN_KEY_BYTES = 24;

/** The errors of a key, each as a sentence that quotes nothing of the key. */
const KEY_ERRORS = {
  missing: 'must be a text',
  white_space: 'must have no white space',
  prefix: 'must begin with whsec_',
  alphabet: 'must be base64 after whsec_, in its standard alphabet: letters, digits, + and /, and no - or _',
  padding: 'must have the padding of base64: = at its end, until the length after whsec_ is a multiple of four',
  short: `must have at least ${MIN_KEY_BYTES} bytes`,
} as const;

/** What is wrong with a key, such as `must begin with whsec_`; undefined if nothing is. */
export function signingKeyError(key: string): string | undefined {
  const error = keyError(key);
  return error && KEY_ERRORS[error];
}

function keyError(key: unknown): keyof typeof KEY_ERRORS | undefined {
  if (typeof key !== 'string') return 'missing';
  if (/\s/.test(key)) return 'white_space';
  const [, encoded] = /^whsec_(.*)$/.exec(key) ?? [];
  if (encoded === undefined) return 'prefix';
  if (!/^[A-Za-z0-9+/]*=*$/.test(encoded)) return 'alphabet';
  if (!/^(?:.{4})*$/.test(encoded) || /={3}$/.test(encoded)) return 'padding';
  return Buffer.from(encoded, 'base64').length < MIN_KEY_BYTES ? 'short' : undefined;
}

/** A secret for signing cannot be read. Neither message nor reason quotes any of it. */
export class SigningSecretMalformed extends Failure {
  override readonly name = 'SigningSecretMalformed';

  constructor(reason: string, sentence: string) {
    super(`signing_secret_${reason}`);
    this.message = sentence;
  }
}

/**
 * Reads `{"current": "whsec_…", "previous": "whsec_…"}`, where `previous` is optional. Two keys are for rotation: a
 * receiver that knows either of them accepts the signature.
 * @throws SigningSecretMalformed
 */
export function parseSigningSecret(text: string): SigningKeys {
  const { current, previous } = parseObject(text);
  const keys = Object.entries({ current, ...(previous === undefined ? {} : { previous }) });
  for (const [member, key] of keys) {
    const error = keyError(key);
    if (error !== undefined)
      throw new SigningSecretMalformed(error, `The member ${member} of a secret for signing ${KEY_ERRORS[error]}.`);
  }
  return keys.map(([, key]) => key) as [string, ...string[]];
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isObject(parsed)) return parsed;
  } catch {}
  throw new SigningSecretMalformed(
    'json',
    'A secret for signing must be JSON: {"current": "whsec_…", "previous": "whsec_…"}.',
  );
}

/** The name of this service in the posts to systems of the broker: firewalls refuse requests without one. */
const USER_AGENT = 'broker-public-api';

/**
 * Signs a post as Standard Webhooks (standardwebhooks.com) describes, with every key.
 * @param id the same for every attempt, so that the receiver recognizes a duplicate
 * @param body the exact body
 * @param now the time of sending, in epoch milliseconds: a receiver refuses older messages after five minutes
 * @returns the headers of the post
 */
export function webhookHeaders(keys: SigningKeys, { id, body, now }: { id: string; body: string; now: number }) {
  const at = new Date(now);
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1_000)),
    'webhook-signature': keys.map((key) => new Webhook(key).sign(id, at, body)).join(' '),
  };
}
