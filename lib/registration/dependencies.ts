import { databaseClient, dynamoTable } from '../aws/dynamodb.ts';
import { parsedSecret, type ReadSecret } from '../aws/secrets.ts';
import type { RegistrationConfig } from '../config.ts';
import { dynamoLimits } from '../limits/limits.ts';
import { once } from '../once.ts';
import { s3Documents } from '../records/documents.ts';
import { dynamoRegistrationDirectory } from '../records/registration-directory.ts';
import { dynamoRegistrationKeys } from '../records/registration-keys.ts';
import { dynamoRegistrations } from '../records/registrations.ts';
import { makeCode } from '../secrets/one-time-code.ts';
import { hashPassword, matchesPassword } from '../secrets/password-hash.ts';
import { parsePepper } from '../secrets/pepper.ts';
import { deployedChannels } from './channels.ts';
import type { RegistrationDependencies } from './work.ts';

/** The production dependencies of a registration; created once, at cold start. */
export function registrationDependencies(config: RegistrationConfig, readSecret: ReadSecret): RegistrationDependencies {
  // Up to three calls are made in parallel.
  const database = databaseClient({}, 2);
  // Its client does not retry.
  const releasingTable = once(() => dynamoTable(databaseClient({ maxAttempts: 1 }), config.limitsTable));
  return {
    settings: config,
    directory: dynamoRegistrationDirectory(dynamoTable(database, config.crmTable)),
    keys: dynamoRegistrationKeys(dynamoTable(database, config.operationsTable)),
    registrations: dynamoRegistrations(dynamoTable(database, config.registrationsTable)),
    documents: s3Documents(config),
    channel: deployedChannels(config, readSecret),
    pepper: parsedSecret(readSecret, config.pepperSecret, parsePepper),
    limits: dynamoLimits(dynamoTable(database, config.limitsTable), releasingTable, config.limits),
    hashPassword,
    matchesPassword,
    makeCode,
    now: Date.now,
  };
}
