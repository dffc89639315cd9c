import { databaseClient, dynamoTable } from '../aws/dynamodb.ts';
import { parsedSecret, type ReadSecret } from '../aws/secrets.ts';
import type { confirmationConfig } from '../config.ts';
import { s3Documents } from '../records/documents.ts';
import { lazyEvents } from '../records/events.ts';
import { dynamoRegistrationDirectory } from '../records/registration-directory.ts';
import { dynamoRegistrations } from '../records/registrations.ts';
import { parsePepper } from '../secrets/keys.ts';
import type { ConfirmationDependencies } from './confirmation.ts';

/** The production dependencies of a confirmation; created once, at cold start. */
export function confirmationDependencies(
  config: ReturnType<typeof confirmationConfig>,
  readSecret: ReadSecret,
): ConfirmationDependencies {
  const database = databaseClient();
  return {
    directory: dynamoRegistrationDirectory(dynamoTable(database, config.crmTable)),
    registrations: dynamoRegistrations(
      dynamoTable(database, config.registrationsTable),
      Date.now,
      config.confirmedDays,
    ),
    documents: s3Documents(config),
    events: lazyEvents(async () => (await import('../aws/eventbridge.ts')).eventBus(config.eventBus)),
    pepper: parsedSecret(readSecret, config.pepperSecret, parsePepper),
    now: Date.now,
  };
}
