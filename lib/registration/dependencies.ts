import { databaseClient, dynamoTable, type Table } from '../aws/dynamodb.ts';
import { parsedSecret, type ReadSecret } from '../aws/secrets.ts';
import type { RegistrationConfig } from '../config.ts';
import { dynamoLimits } from '../limits/limits.ts';
import { s3Documents } from '../records/documents.ts';
import { dynamoRegistrationDirectory } from '../records/registration-directory.ts';
import { dynamoRegistrationKeys } from '../records/registration-keys.ts';
import { dynamoRegistrations } from '../records/registrations.ts';
import { makeCode } from '../secrets/one-time-code.ts';
import { hashPassword, matchesPassword } from '../secrets/password-hash.ts';
import { parsePepper } from '../secrets/pepper.ts';
import { deployedChannels } from './channels.ts';
import type { RegistrationDependencies } from './work.ts';

/** The table of limits for releases. Its client does not retry, and is created for the first release. */
function releasingTable(name: string): () => Table {
  let made: Table | undefined;
  return () => {
    made ??= dynamoTable(databaseClient({ maxAttempts: 1 }), name);
    return made;
  };
}

/** The production dependencies of a registration; created once, at cold start. */
export function registrationDependencies(config: RegistrationConfig, readSecret: ReadSecret): RegistrationDependencies {
  // Up to three calls are made in parallel.
  const database = databaseClient({}, 2);
  return {
    settings: config,
    directory: dynamoRegistrationDirectory(dynamoTable(database, config.crmTable)),
    keys: dynamoRegistrationKeys(dynamoTable(database, config.operationsTable)),
    registrations: dynamoRegistrations(dynamoTable(database, config.registrationsTable)),
    documents: s3Documents(config.documentsBucket, { tagged: config.confirmation === true }),
    channel: deployedChannels(config, readSecret),
    pepper: parsedSecret(readSecret, config.pepperSecret, parsePepper),
    limits: dynamoLimits(dynamoTable(database, config.limitsTable), releasingTable(config.limitsTable), config.limits),
    hashPassword,
    matchesPassword,
    makeCode,
    now: Date.now,
  };
}
