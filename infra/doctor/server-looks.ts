import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { fromItems } from '../crm/crm-items.ts';
import { listed, operationStore } from '../crm/operation-store.ts';
import { serverReporter } from '../crm/server-report.ts';
import type { Target } from '../crm/target.ts';
import { orAbsent } from './absent.ts';
import type { ServerLooks } from './looks.ts';

/** The CRM records, the secrets and the trading servers: the same on AWS and in the local service. */
export function serverLooks(target: Target, place: string): ServerLooks {
  const { table, client } = target;
  return {
    place,
    async secret(name) {
      const command = new GetSecretValueCommand({ SecretId: name });
      return (await orAbsent(new SecretsManagerClient(client).send(command)))?.SecretString;
    },
    connections: async () => fromItems(await table.readAll()).records.connections,
    report: serverReporter(client),
    openOperations: async () => listed(await operationStore(target)),
  };
}
