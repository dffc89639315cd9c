import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { secretReader } from '../../lib/aws/secrets.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import type { TradingPlatform } from '../../lib/platform/platform.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import { fromItems } from '../crm/crm-items.ts';
import { listed, operationStore } from '../crm/operation-store.ts';
import type { Target } from '../crm/target.ts';
import { orAbsent } from './absent.ts';
import type { ServerLooks } from './looks.ts';

/** How long one trading server may take to answer a look, in milliseconds. */
const LOOK_MS = 20_000;

/** The CRM records, the secrets and the trading servers: the same on AWS and in the local service. */
export function serverLooks(target: Target, place: string): ServerLooks {
  const { table, client } = target;
  const platforms = platformConnections({ readSecret: secretReader(client) });

  async function asking<T>(connection: Connection, ask: (server: TradingPlatform, signal: AbortSignal) => Promise<T>) {
    const signal = AbortSignal.timeout(LOOK_MS);
    const server = await platforms(connection, signal);
    return await ask(server, signal).finally(() => server.close().catch(() => {}));
  }

  return {
    place,
    async secret(name) {
      const command = new GetSecretValueCommand({ SecretId: name });
      return (await orAbsent(new SecretsManagerClient(client).send(command)))?.SecretString;
    },
    connections: async () => fromItems(await table.readAll()).records.connections,
    reach: (connection) => asking(connection, (server, signal) => server.check(signal)),
    async fullness(connection) {
      const range = 'logins' in connection ? connection.logins : undefined;
      return range === undefined
        ? undefined
        : asking(connection, (server, signal) => server.inspectRange(range, signal));
    },
    openOperations: async () => listed(await operationStore(target)),
  };
}
