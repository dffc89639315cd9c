import { databaseClient, dynamoTable } from '../lib/aws/dynamodb.ts';
import { settlementConfig } from '../lib/config.ts';
import { within } from '../lib/deadline.ts';
import { accountDependencies } from '../lib/openings/dependencies.ts';
import { settleOperations } from '../lib/openings/settler.ts';
import { dynamoRegistrations } from '../lib/records/registrations.ts';
import { publishPending } from '../lib/registration/confirmation.ts';
import { telemetry } from '../lib/telemetry.ts';

const config = settlementConfig();
const dependencies = accountDependencies(config);
const registrations = dynamoRegistrations(dynamoTable(databaseClient(), config.registrationsTable));
const log = telemetry('settle-operations', config.stage);
/** For registrations, in milliseconds; the rest of the time is for accounts. */
const PUBLISHING_MS = 10_000;

/**
 * Each minute: publishes confirmed registrations that were not published, and completes the operations that no client
 * retries.
 */
export async function handler(_event: unknown, context: { getRemainingTimeInMillis(): number }): Promise<void> {
  const endsAt = Date.now() + context.getRemainingTimeInMillis();
  await publishPending({ events: dependencies.events, registrations }, log, within(PUBLISHING_MS));
  await settleOperations(dependencies, log, endsAt);
}
