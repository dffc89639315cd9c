import { settlementConfig } from '../lib/config.ts';
import { within } from '../lib/deadline.ts';
import { settlementDependencies } from '../lib/openings/dependencies.ts';
import { settleOperations } from '../lib/openings/settler.ts';
import { publishPending } from '../lib/registration/confirmation.ts';
import { telemetry } from '../lib/telemetry.ts';

const config = settlementConfig();
const dependencies = settlementDependencies(config);
const log = telemetry('settle-operations', config.stage);
/** The time for publishing registrations, in milliseconds. The rest of the function's time is for accounts. */
const PUBLISHING_MS = 10_000;

/**
 * Each minute: publishes confirmed registrations that were not published, and completes the operations that no client
 * retries.
 */
export async function handler(_event: unknown, context: { getRemainingTimeInMillis(): number }): Promise<void> {
  const endsAt = Date.now() + context.getRemainingTimeInMillis();
  await publishPending(dependencies, log, within(PUBLISHING_MS));
  await settleOperations(dependencies, log, endsAt);
}
