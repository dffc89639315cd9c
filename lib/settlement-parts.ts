import { accountParts } from './account-parts.ts';
import { databaseClient, table } from './aws/dynamodb.ts';
import type { settlementConfig } from './config.ts';
import { dueOperationsIn } from './records/due-operations.ts';
import { registrationsIn } from './records/registrations.ts';

/** What the settling of operations is given in production; made once, at cold start. */
export function settlementParts(config: ReturnType<typeof settlementConfig>) {
  const database = databaseClient();
  const services = { ...accountParts(config), due: dueOperationsIn(table(database, config.operationsTable)) };
  return { services, registrations: registrationsIn(table(database, config.registrationsTable)) };
}
