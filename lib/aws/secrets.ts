import {
  GetSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager';
import { EarlyConnection, KEPT_CONNECTIONS } from './early-connection.ts';
import { AwsFailure } from './failure.ts';

/** Reads a secret by name or ARN, as the text that stands in it. */
export type ReadSecret = (name: string, signal: AbortSignal) => Promise<string>;

/** How long a value is used before it is read again, in milliseconds: a rotated secret is in use after this long. */
export const FRESH_MS = 5 * 60_000;
/** How long a value is used at most that cannot be read again, in milliseconds: a secret that was taken away is not used on. */
const STALE_MS = 60 * 60_000;
/** How long after a failed refresh the next one is tried, in milliseconds: an outage delays few requests. */
const NEXT_TRY_MS = 30_000;

/**
 * Secrets, kept in memory for five minutes. When a refresh fails the value at hand goes on being used, for an hour.
 * @param ahead 1: two secrets are read side by side at the start, the name of one only known when the other is asked for
 * @throws AwsFailure when a secret was never read and cannot be now
 */
export function secretReader(
  { ahead = 0, ...config }: SecretsManagerClientConfig & { ahead?: number } = {},
  now: () => number = Date.now,
): ReadSecret {
  const httpsAgent = new EarlyConnection(KEPT_CONNECTIONS, ahead);
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true, httpsAgent },
    ...config,
  });
  const kept = new Map<string, { value: string; readAt: number; nextRead: number }>();

  return async (name, signal) => {
    const known = kept.get(name);
    if (known !== undefined && now() < known.nextRead) return known.value;
    try {
      const answer = await client.send(new GetSecretValueCommand({ SecretId: name }), { abortSignal: signal });
      if (answer.SecretString === undefined) throw new AwsFailure('NoSecretString');
      kept.set(name, { value: answer.SecretString, readAt: now(), nextRead: now() + FRESH_MS });
      return answer.SecretString;
    } catch (error) {
      if (known !== undefined && now() - known.readAt < STALE_MS) {
        kept.set(name, { ...known, nextRead: now() + NEXT_TRY_MS });
        return known.value;
      }
      throw AwsFailure.from(error);
    }
  };
}

/** A secret as it is used: parsed anew only when another text stands in it. */
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
