import { databaseClient, table } from '../aws/dynamodb.ts';
import { parsedSecret, type ReadSecret } from '../aws/secrets.ts';
import type { confirmationConfig } from '../config.ts';
import { limitsIn } from '../limits/limits.ts';
import { documentsIn } from '../records/documents.ts';
import { eventsOn } from '../records/events.ts';
import { registrationDirectoryIn } from '../records/registration-directory.ts';
import { registrationsIn } from '../records/registrations.ts';
import { hashPassword } from '../secrets/password-hash.ts';
import { parsePepper } from '../secrets/pepper.ts';
import type { ConfirmationDependencies } from './confirmation.ts';

/** What a confirmation is given in production; made once, at cold start. */
export function confirmationDependencies(
  config: ReturnType<typeof confirmationConfig>,
  readSecret: ReadSecret,
): ConfirmationDependencies {
  const database = databaseClient();
  const limitsTable = table(database, config.limitsTable);
  return {
    directory: registrationDirectoryIn(table(database, config.crmTable)),
    registrations: registrationsIn(table(database, config.registrationsTable), Date.now, config.confirmedDays),
    documents: documentsIn(config.documentsBucket),
    events: eventsOn(async () => (await import('../records/event-bus.ts')).openBus(config.eventBus)),
    pepper: parsedSecret(readSecret, config.pepperSecret, parsePepper),
    // Confirmations are never taken back.
    limits: limitsIn(limitsTable, () => limitsTable, config.limits),
    hashPassword,
    now: Date.now,
  };
}
