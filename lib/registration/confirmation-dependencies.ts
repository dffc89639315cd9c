import { databaseClient, dynamoTable } from '../aws/dynamodb.ts';
import { parsedSecret, type ReadSecret } from '../aws/secrets.ts';
import type { confirmationConfig } from '../config.ts';
import { dynamoLimits } from '../limits/limits.ts';
import { s3Documents } from '../records/documents.ts';
import { lazyEvents } from '../records/events.ts';
import { dynamoRegistrationDirectory } from '../records/registration-directory.ts';
import { dynamoRegistrations } from '../records/registrations.ts';
import { parsePepper } from '../secrets/keys.ts';
import { hashPassword } from '../secrets/password-hash.ts';
import type { ConfirmationDependencies } from './confirmation.ts';

/** The production dependencies of a confirmation; created once, at cold start. */
export function confirmationDependencies(
  config: ReturnType<typeof confirmationConfig>,
  readSecret: ReadSecret,
): ConfirmationDependencies {
  const database = databaseClient();
  const limitsTable = dynamoTable(database, config.limitsTable);
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
    // Counts of confirmations are never released.
    limits: dynamoLimits(limitsTable, () => limitsTable, config.limits),
    hashPassword,
    now: Date.now,
  };
}
