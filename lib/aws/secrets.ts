import { setImmediate } from 'node:timers/promises';
import {
  GetSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager';
import { within } from '../deadline.ts';
import { EarlyConnectionAgent, KEEP_ALIVE_OPTIONS } from './early-connection.ts';
import { AwsFailure } from './failure.ts';

/** Reads the text of a secret by name or ARN. `fresh`: reads it now, even if a cached value could be used. */
export type ReadSecret = (name: string, signal: AbortSignal, options?: { fresh?: boolean }) => Promise<string>;

/** How long a value is used before it is read again, in milliseconds: a rotated secret is in use after this long. */
export const SECRET_FRESH_MS = 5 * 60_000;
/**
 * How long a value is used if the secret cannot be read again, in milliseconds. A deleted secret stops working after
 * it.
 */
const STALE_MS = 60 * 60_000;
/**
 * How long the first read of the secret that every request needs may take, in milliseconds. After it, the request
 * itself reads the secret.
 */
const FIRST_MS = 3_000;
/** The pause after a failed refresh, in milliseconds: an outage delays few requests. */
const NEXT_TRY_MS = 30_000;

/**
 * Caches secrets for five minutes. If a refresh fails, the cached value is used for up to an hour.
 * @param first the secret that every request needs: it is read as soon as the function is loaded. Reading it while the
 * function loads gains nothing, and costs a first answer that does not need it
 * @param ahead 1: two secrets are read in parallel at the start, and the second connection is opened early
 * @throws AwsFailure if no cached value can be used
 */
export function secretReader(
  { first, ahead = 0, ...config }: SecretsManagerClientConfig & { first?: string | undefined; ahead?: number } = {},
  now: () => number = Date.now,
): ReadSecret {
  const httpsAgent = new EarlyConnectionAgent(KEEP_ALIVE_OPTIONS, ahead);
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true, httpsAgent },
    ...config,
  });
  const kept = new Map<string, { value: string; readAt: number; nextRead: number }>();

  const read: ReadSecret = async (name, signal, { fresh = false } = {}) => {
    const known = kept.get(name);
    if (!fresh && known !== undefined && now() < known.nextRead) return known.value;
    try {
      const answer = await client.send(new GetSecretValueCommand({ SecretId: name }), { abortSignal: signal });
      if (answer.SecretString === undefined) throw new AwsFailure('NoSecretString');
      kept.set(name, { value: answer.SecretString, readAt: now(), nextRead: now() + SECRET_FRESH_MS });
      return answer.SecretString;
    } catch (error) {
      if (!fresh && known !== undefined && now() - known.readAt < STALE_MS) {
        kept.set(name, { ...known, nextRead: now() + NEXT_TRY_MS });
        return known.value;
      }
      throw AwsFailure.from(error);
    }
  };
  const readAhead = async (name: string) => {
    await setImmediate();
    // A failure is reported by the request that reads it again.
    await read(name, within(FIRST_MS)).catch(() => {});
  };
  const reading = first === undefined ? undefined : readAhead(first);
  return async (name, signal, options) => {
    if (name === first) await reading;
    return read(name, signal, options);
  };
}

/** A parsed secret. It is parsed again only after its text has changed. */
export function parsedSecret<T>(
  readSecret: ReadSecret,
  name: string,
  parse: (text: string) => T,
): (signal: AbortSignal) => Promise<T> {
  let last: { text: string; value: T } | undefined;
  return async (signal) => {
    const text = await readSecret(name, signal);
    if (last?.text !== text) last = { text, value: parse(text) };
    return last.value;
  };
}
