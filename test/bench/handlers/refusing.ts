import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { registrationConfig } from '../../../lib/config.ts';
import { endpoint } from '../../../lib/http/endpoint.ts';
import { dynamoLimits } from '../../../lib/limits/limits.ts';
import { crmKey } from '../../../lib/records/crm-records.ts';
import { dynamoRegistrationDirectory } from '../../../lib/records/registration-directory.ts';
import { registrationDependencies } from '../../../lib/registration/dependencies.ts';
import { requestRegistration } from '../../../lib/registration/request.ts';
import { telemetry } from '../../../lib/telemetry.ts';
import { ALL_COUNTRIES } from '../../../lib/validators/countries.ts';
import { MAX_REGISTRATION_BYTES, registrationRequestSchema } from '../../../lib/validators/registration.ts';

/**
 * The registration as `functions/request-registration.ts` wires it, with tables and a secret that answer at once as far
 * as a refused request needs them: the rest is our own time. It sends nothing.
 */

const forms = new Map(
  DEMO_RECORDS.forms.map((form) => {
    const pk = crmKey.form(form.id);
    return [pk, { pk, record: JSON.parse(JSON.stringify(form)) }];
  }),
);
/** It has the forms, and accepts every write. */
const table: Table = {
  name: 'crm',
  get: async ({ pk = '' }) => forms.get(pk),
  getMany: async () => [],
  query: async () => [],
  queryIndex: async () => [],
  findKeys: async () => [],
  put: async () => undefined,
  update: async () => ({}),
  delete: async () => {},
  transact: async () => {},
};

const config = registrationConfig();
const pepper = JSON.stringify({ current: '1', '1': 'p'.repeat(44) });
const dependencies = {
  ...registrationDependencies(config, async () => pepper),
  directory: dynamoRegistrationDirectory(table),
  limits: dynamoLimits(table, config.limits),
};

export const handler = endpoint({
  body: registrationRequestSchema([ALL_COUNTRIES]),
  maxBodyBytes: MAX_REGISTRATION_BYTES,
  telemetry: telemetry('request-registration', config.stage),
  handle: (request, telemetry, signal) => requestRegistration(dependencies, request, telemetry, signal),
});
