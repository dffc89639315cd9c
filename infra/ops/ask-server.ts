import { secretReader } from '../../lib/aws/secrets.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import { PlatformFailure, type PlatformInspector, type TradingPlatform } from '../../lib/platform/platform.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import { CommandError } from './command.ts';
import { findConnection } from './table-records.ts';
import type { Target } from './target.ts';

/** How long a trading server may take to accept our login and to answer all questions. */
export const ASK_SERVER_MS = 20_000;

type Question<T> = (server: TradingPlatform & PlatformInspector, signal: AbortSignal) => Promise<T>;

/** Asks a trading server, and ends the session. @throws PlatformFailure if the server does not accept our login */
export async function askServer<T>({ clientOf }: Target, connection: Connection, question: Question<T>): Promise<T> {
  const signal = AbortSignal.timeout(ASK_SERVER_MS);
  const readSecret = secretReader(clientOf('SECRETS_MANAGER'));
  const server = await platformConnections({ readSecret })(connection, signal);
  return question(server, signal).finally(() => server.close().catch(() => {}));
}

/** Finds a connection. @returns undefined if there is none, or its record cannot be read */
export async function readableConnection(target: Target, id: string): Promise<Connection | undefined> {
  try {
    return await findConnection(target, id);
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

/** Asks a trading server as `askServer` does. @returns undefined if the server cannot be asked */
export async function tryAskServer<T>(
  target: Target,
  connection: Connection | undefined,
  question: Question<T>,
): Promise<T | undefined> {
  if (connection === undefined) return undefined;
  try {
    return await askServer(target, connection, question);
  } catch (error) {
    if (error instanceof PlatformFailure) return undefined;
    throw error;
  }
}
