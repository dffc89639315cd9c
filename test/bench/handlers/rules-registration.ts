import { endpoint } from '../../../lib/http/endpoint.ts';
import { telemetry } from '../../../lib/telemetry.ts';
import { ALL_COUNTRIES } from '../../../lib/validators/deployment.ts';
import { MAX_REGISTRATION_BYTES, registrationRequestSchema } from '../../../lib/validators/registration.ts';

/** The route of a registration without its use case: the body is read and checked, and answered. */
export const handler = endpoint({
  body: registrationRequestSchema([ALL_COUNTRIES]),
  maxBodyBytes: MAX_REGISTRATION_BYTES,
  telemetry: telemetry('request-registration', 'bench'),
  handle: async () => ({ body: undefined }),
});
