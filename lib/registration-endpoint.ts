import { databaseClient, table } from './aws/dynamodb.ts';
import { secretReader } from './aws/secrets.ts';
import { registrationConfig } from './config.ts';
import { directoryIn } from './crm/directory.ts';
import { documentsIn } from './crm/documents.ts';
import { registrationsIn } from './crm/registrations.ts';
import { endpoint, type Handler } from './http/endpoint.ts';
import { sendLimits } from './limits/send-limits.ts';
import { operationsIn } from './operations.ts';
import { installedChannels } from './otp/channels.ts';
import { makeCode, parsePepper } from './otp/code.ts';
import { hashPassword } from './otp/password-hash.ts';
import { requestRegistration } from './registration.ts';
import { telemetry } from './telemetry.ts';
import { MOST_REGISTRATION_BYTES, RegistrationRequestSchema } from './validators/registration.ts';

/** The handler of registrations, with its collaborators; made once, at cold start. */
export function registrationEndpoint(): Handler {
  const config = registrationConfig();
  const database = databaseClient();
  const readSecret = secretReader();
  const parts = {
    directory: directoryIn(table(database, config.crmTable)),
    operations: operationsIn(table(database, config.operationsTable)),
    registrations: registrationsIn(table(database, config.registrationsTable)),
    documents: documentsIn(config.documentsBucket),
    channels: installedChannels(config),
    pepper: async (signal: AbortSignal) => parsePepper(await readSecret(config.pepperSecret, signal)),
    limits: sendLimits(table(database, config.limitsTable), config.limits),
    hashPassword,
    makeCode,
    now: Date.now,
  };
  return endpoint({
    body: RegistrationRequestSchema,
    maxBodyBytes: MOST_REGISTRATION_BYTES,
    telemetry: telemetry('request-registration', config.stage),
    handle: (request, telemetry, signal) => requestRegistration(parts, request, telemetry, signal),
  });
}
