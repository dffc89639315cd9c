import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import * as v from 'valibot';
import type { FrontSettings } from '../validators/deployment.ts';

/** Where a request comes from: an address without a port. */
export type SourceOf = (request: SentFrom, signal: AbortSignal) => Promise<string>;

interface SentFrom {
  /** The address that called the gateway. */
  sourceIp: string;
  /** By names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
}

/** Two valid values, so that a new one can take over: first it is `current`, then the front sends it, then `previous` goes. */
const FrontSecretSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ current: v.pipe(v.string(), v.minLength(16)), previous: v.optional(v.string()) }),
);

/** The address that the gateway saw. */
export const seenByGateway: SourceOf = async ({ sourceIp }) => withoutPort(sourceIp) ?? sourceIp;

/**
 * The address of the person who sends a request: the one that the gateway saw, or the one that the front names, where
 * the request proves by the secret that it came through it. A header that is no single address is not believed either,
 * and the request goes on with the address that the gateway saw.
 */
export function sourceReader(
  front: FrontSettings | undefined,
  readSecret: (name: string, signal: AbortSignal) => Promise<string>,
): SourceOf {
  if (front === undefined) return seenByGateway;
  return async (request, signal) => {
    const { headers } = request;
    const seen = await seenByGateway(request, signal);
    const proof = headers['x-front-secret'];
    if (proof === undefined) return seen;
    const named = withoutPort(headers[front.header] ?? '');
    const secrets = parseFrontSecret(await readSecret(front.secret, signal));
    return isOneOf(proof, secrets) && named !== undefined ? named : seen;
  };
}

/** @throws Error that says nothing of what it holds */
export function parseFrontSecret(text: string): string[] {
  const parsed = v.safeParse(FrontSecretSchema, text);
  if (!parsed.success) throw new Error('The secret of the front must be {"current": "…", "previous": "…"}.');
  const { current, previous } = parsed.output;
  return previous ? [current, previous] : [current];
}

/** Takes as long for every value: hashes have the same length, and all are compared. */
function isOneOf(proof: string, secrets: readonly string[]): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return secrets.filter((secret) => timingSafeEqual(hash(secret), hash(proof))).length > 0;
}

/** `203.0.113.9:41234`, `[2001:db8::1]:443`, and as CloudFront writes it `2001:db8:0:0:0:0:0:1:443`. */
function withoutPort(address: string): string | undefined {
  const text = address.trim();
  if (isIP(text) !== 0) return text;
  const [, host = ''] = /^\[?([^[\]]*?)\]?(?::\d{1,5})?$/.exec(text) ?? [];
  return isIP(host) === 0 ? undefined : host;
}
