import { secretReader } from '../../lib/aws/secrets.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import type { PlatformInspector, TradingPlatform } from '../../lib/platform/platform.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import type { Target } from './target.ts';

/** How long a trading server may take to accept our login and to answer all questions. */
const ASK_SERVER_MS = 20_000;

type Question<T> = (server: TradingPlatform & PlatformInspector, signal: AbortSignal) => Promise<T>;

/** Asks a trading server, and ends the session. @throws PlatformFailure if the server does not accept our login */
export async function askServer<T>({ clientOf }: Target, connection: Connection, question: Question<T>): Promise<T> {
  const signal = AbortSignal.timeout(ASK_SERVER_MS);
  const readSecret = secretReader(clientOf('SECRETS_MANAGER'));
  const server = await platformConnections({ readSecret })(connection, signal);
  return question(server, signal).finally(() => server.close().catch(() => {}));
}
