import { Webhook } from 'standardwebhooks';
import * as v from 'valibot';

/** The minimum length of a key in bytes, by Standard Webhooks. */
const MIN_KEY_BYTES = 24;

const KeySchema = v.pipe(
  v.string(),
  v.regex(/^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/),
  v.check((key) => Buffer.from(key.slice('whsec_'.length), 'base64').length >= MIN_KEY_BYTES),
);

/** Two valid keys for rotation: a receiver with either of them accepts the signature. */
const SigningSecretSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ current: KeySchema, previous: v.optional(KeySchema) }),
);

/** The keys of a secret for signing, the current one first: `whsec_` and the key in base64. */
export type SigningKeys = readonly [string, ...string[]];

/**
 * Reads `{"current": "whsec_…", "previous": "whsec_…"}`, where `previous` is optional.
 * @throws Error whose message holds none of the value
 */
export function parseSigningSecret(text: string): SigningKeys {
  const parsed = v.safeParse(SigningSecretSchema, text);
  if (!parsed.success) throw new Error('A secret for signing must be {"current": "whsec_…", "previous": "whsec_…"}.');
  const { current, previous } = parsed.output;
  return previous === undefined ? [current] : [current, previous];
}

/**
 * Signs a request as Standard Webhooks (standardwebhooks.com) describes, with every key.
 * @param id the same for every attempt, so that the receiver recognizes a duplicate
 * @param body the exact body
 * @param now the time of sending, in epoch milliseconds: a receiver refuses older messages after five minutes
 * @returns the headers of the request
 */
export function signWebhook(keys: SigningKeys, { id, body, now }: { id: string; body: string; now: number }) {
  const at = new Date(now);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1_000)),
    'webhook-signature': keys.map((key) => new Webhook(key).sign(id, at, body)).join(' '),
  };
}
