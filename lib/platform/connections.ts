import * as v from 'valibot';
import type { ReadSecret } from '../aws/secrets.ts';
import { once } from '../once.ts';
import { type Connection, maySend, TextProtocolSecretSchema, WebApiSecretSchema } from '../records/crm-records.ts';
import { PlatformFailure, type PlatformInspector, type ReadSecretAgain, type TradingPlatform } from './platform.ts';

/** Every protocol's class serves requests and operators. */
type Platform = TradingPlatform & PlatformInspector;

/**
 * The platform of a connection, kept across invocations with its session. A changed record or a rotated secret replaces
 * it; commands that still run on the old one end there. It connects to a new server while the secret is read. If the server
 * refuses our login, the secret is read once more, past the cache. A server that the secret does not name gets nothing of
 * it, so a writer of connections cannot collect passwords.
 * @throws PlatformFailure `platform_unavailable` when the secret cannot be read, `platform_refused` when it is not one, or
 * does not name the server
 */
export function platformConnections({
  readSecret,
}: {
  readSecret: ReadSecret;
}): (connection: Connection, signal: AbortSignal) => Promise<Platform> {
  const kept = new Map<string, Kept>();

  return async (connection, signal) => {
    const record = JSON.stringify(connection);
    const opening = opener(connection, kept.get(connection.id)?.record === record ? undefined : signal);
    try {
      const [secret, { open, drop }] = await Promise.all([
        readSecret(connection.secret, signal).catch((error: unknown) => {
          throw new PlatformFailure('platform_unavailable', {
            reason: 'secret_unreadable',
            proof: 'unsent',
            cause: error,
          });
        }),
        opening,
      ]);
      const known = kept.get(connection.id);
      if (known?.record === record && known.secret === secret) {
        drop();
        return known.platform;
      }
      const entry: Kept = { record, secret, platform: open(secret, readAgain) };
      kept.set(connection.id, entry);
      // `close` waits for the running commands. A failed logout does not matter.
      known?.platform.close().catch(() => {});
      return entry.platform;

      function readAgain<S>(parse: (text: string) => S): ReadSecretAgain<S> {
        return async (again) => {
          const changed = await readSecret(connection.secret, again, { fresh: true }).catch(() => undefined);
          if (changed === undefined) return undefined;
          const parsed = parse(changed);
          // The next call finds this platform by the changed secret.
          entry.secret = changed;
          return parsed;
        };
      }
    } catch (error) {
      opening.then(({ drop }) => drop()).catch(() => {});
      throw error;
    }
  };
}

interface Kept {
  record: string;
  /** The text of the secret that the platform uses. */
  secret: string;
  platform: Platform;
}

/** A platform whose secret is not known yet. */
interface Opener {
  open(secret: string, readAgain: <S>(parse: (text: string) => S) => ReadSecretAgain<S>): Platform;
  /** The platform is not needed. */
  drop(): void;
}

const webApi = once(() => import('./tp5/web-api.ts'));
const text = once(() => import('./tp4/text-protocol.ts'));

/**
 * Loads the connection's protocol on first use.
 * @param ahead present: connects now, if the protocol keeps a connection, until this signal at most
 */
async function opener(connection: Connection, ahead: AbortSignal | undefined): Promise<Opener> {
  if (connection.protocol === 'web-api') {
    const { WebApiPlatform, connectAhead } = await webApi();
    const early = ahead && connectAhead(connection, ahead);
    return {
      open: (secret, readAgain) => {
        const parse = (text: string) => parseSecret(WebApiSecretSchema, text, connection);
        return new WebApiPlatform(connection, parse(secret), {}, { early, readSecretAgain: readAgain(parse) });
      },
      drop: () => early?.drop(),
    };
  }
  const { TextProtocolPlatform } = await text();
  return {
    open: (secret, readAgain) => {
      const parse = (text: string) => parseSecret(TextProtocolSecretSchema, text, connection);
      return new TextProtocolPlatform(connection, parse(secret), {}, readAgain(parse));
    },
    drop: () => {},
  };
}

function parseSecret<S extends typeof WebApiSecretSchema | typeof TextProtocolSecretSchema>(
  schema: S,
  text: string,
  connection: Connection,
): v.InferOutput<S> {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text);
  if (!result.success) {
    throw new PlatformFailure('platform_refused', { reason: 'secret_malformed', proof: 'unsent' });
  }
  if (!maySend(result.output, connection)) {
    throw new PlatformFailure('platform_refused', { reason: 'host_not_listed', proof: 'unsent' });
  }
  return result.output;
}
