import { accountParts } from '../lib/accounts/parts.ts';
import { databaseClient, table } from '../lib/aws/dynamodb.ts';
import { settlementConfig } from '../lib/config.ts';
import { within } from '../lib/deadline.ts';
import { dueOperationsIn } from '../lib/records/due-operations.ts';
import { registrationsIn } from '../lib/records/registrations.ts';
import { tellUntold } from '../lib/registration/confirmation.ts';
import { settleOperations } from '../lib/settlement.ts';
import { telemetry } from '../lib/telemetry.ts';

const config = settlementConfig();
const database = databaseClient();
const registrations = registrationsIn(table(database, config.registrationsTable));
const services = { ...accountParts(config), due: dueOperationsIn(table(database, config.operationsTable)) };
const log = telemetry('settle-operations', config.stage);
/** For registrations, in milliseconds; accounts have the rest. */
const TELLING_MS = 10_000;

/** Each minute: tells of confirmed registrations that were not told, and brings to its end what nobody retries. */
export async function handler(_event: unknown, context: { getRemainingTimeInMillis(): number }): Promise<void> {
  const endsAt = Date.now() + context.getRemainingTimeInMillis();
  await tellUntold({ events: services.events, registrations }, log, within(TELLING_MS));
  await settleOperations(services, log, endsAt);
}
