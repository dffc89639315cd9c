import { databaseClient, dynamoTable } from '../aws/dynamodb.ts';
import { parsedSecret, secretReader } from '../aws/secrets.ts';
import type { webhookConfig } from '../config.ts';
import { dynamoCrmClients } from '../records/crm-clients.ts';
import { s3Documents } from '../records/documents.ts';
import { dynamoRegistrations } from '../records/registrations.ts';
import { parseSigningSecret } from '../secrets/webhook-signature.ts';
import type { WebhookDependencies } from './delivery.ts';
import { signedPost } from './post.ts';

/** The production dependencies of a notification; created once, at cold start. */
export function webhookDependencies(config: ReturnType<typeof webhookConfig>): WebhookDependencies {
  const database = databaseClient();
  return {
    registrations: dynamoRegistrations(dynamoTable(database, config.registrationsTable)),
    documents: s3Documents(config),
    clients: dynamoCrmClients(dynamoTable(database, config.crmTable)),
    post: signedPost(config.crmWebhook, parsedSecret(secretReader(), config.webhookSecret, parseSigningSecret)),
    async setAside(body, signal) {
      const { queueSender } = await import('../aws/sqs.ts');
      await queueSender(config.webhookUndeliveredQueue)(body, signal);
    },
  };
}
