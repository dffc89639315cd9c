import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { registrationConfig } from '../../../lib/config.ts';
import { endpoint } from '../../../lib/http/endpoint.ts';
import { dynamoLimits } from '../../../lib/limits/limits.ts';
import { emailChannel } from '../../../lib/messages/email.ts';
import { once } from '../../../lib/once.ts';
import { crmKey } from '../../../lib/records/crm-records.ts';
import { dynamoRegistrationDirectory } from '../../../lib/records/registration-directory.ts';
import { dynamoRegistrationKeys } from '../../../lib/records/registration-keys.ts';
import { dynamoRegistrations } from '../../../lib/records/registrations.ts';
import { registrationDependencies } from '../../../lib/registration/dependencies.ts';
import { requestRegistration } from '../../../lib/registration/registration.ts';
import { telemetry } from '../../../lib/telemetry.ts';
import { ALL_COUNTRIES } from '../../../lib/validators/deployment.ts';
import { MAX_REGISTRATION_BYTES, registrationRequestSchema } from '../../../lib/validators/registration.ts';
import { crmItem, instantTable } from './instant.ts';

/**
 * The registration as `functions/request-registration.ts` wires it, without network calls: tables, secret and mail
 * service answer at once, and the password is not hashed. The rest is our own time.
 */

const config = registrationConfig();
const crm = DEMO_RECORDS.forms.map((form) => crmItem(crmKey.form(form.id), form));
const pepper = JSON.stringify({ current: '1', '1': 'p'.repeat(44) });
const dependencies = {
  ...registrationDependencies(config, async () => pepper),
  directory: dynamoRegistrationDirectory(instantTable(crm)),
  keys: dynamoRegistrationKeys(instantTable()),
  registrations: dynamoRegistrations(instantTable()),
  channel: once(async () => emailChannel(config.email, config.brand, async () => ({ messageId: 'message-1' }))),
  limits: dynamoLimits(instantTable(), instantTable, config.limits),
  hashPassword: async () =>
    '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$dGFndGFndGFndGFndGFndGFndGFndGFndGFndGFndGE',
  matchesPassword: async () => true,
};

export const handler = endpoint({
  body: registrationRequestSchema([ALL_COUNTRIES]),
  maxBodyBytes: MAX_REGISTRATION_BYTES,
  telemetry: telemetry('request-registration', config.stage),
  handle: (request, telemetry, signal) => requestRegistration(dependencies, request, telemetry, signal),
});
