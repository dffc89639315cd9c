import { databaseClient, table } from '../lib/aws/dynamodb.ts';
import { secretReader } from '../lib/aws/secrets.ts';
import { registrationConfig } from '../lib/config.ts';
import { directoryIn } from '../lib/crm/directory.ts';
import { documentsIn } from '../lib/crm/documents.ts';
import { registrationsIn } from '../lib/crm/registrations.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { sendLimits } from '../lib/limits/send-limits.ts';
import { operationsIn } from '../lib/operations.ts';
import { installedChannels } from '../lib/otp/channels.ts';
import { makeCode, parsePepper } from '../lib/otp/code.ts';
import { hashPassword } from '../lib/otp/password-hash.ts';
import { requestRegistration } from '../lib/registration.ts';
import { telemetry } from '../lib/telemetry.ts';
import { MOST_REGISTRATION_BYTES, RegistrationRequestSchema } from '../lib/validators/registration.ts';

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

/** `POST /public/v1/account/register/request`: keeps a pending registration and sends its one-time password → 204. */
export const handler = endpoint({
  body: RegistrationRequestSchema,
  maxBodyBytes: MOST_REGISTRATION_BYTES,
  telemetry: telemetry('request-registration', config.stage),
  handle: (request, telemetry, signal) => requestRegistration(parts, request, telemetry, signal),
});
