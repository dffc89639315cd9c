import { registrationConfig } from '../lib/config.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { requestRegistration } from '../lib/registration.ts';
import { registrationParts } from '../lib/registration-parts.ts';
import { telemetry } from '../lib/telemetry.ts';
import { MOST_REGISTRATION_BYTES, registrationRequestSchema } from '../lib/validators/registration.ts';

const config = registrationConfig();
const parts = registrationParts(config);

/** `POST /public/v1/account/register/request`: keeps a pending registration and sends its one-time password → 204. */
export const handler = endpoint({
  body: registrationRequestSchema(config.phone?.countries),
  maxBodyBytes: MOST_REGISTRATION_BYTES,
  telemetry: telemetry('request-registration', config.stage),
  handle: (request, telemetry, signal) => requestRegistration(parts, request, telemetry, signal),
});
