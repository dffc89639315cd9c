import { secretReader } from '../lib/aws/secrets.ts';
import { confirmationConfig } from '../lib/config.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { createFront } from '../lib/http/source.ts';
import { confirmRegistration } from '../lib/registration/confirmation.ts';
import { confirmationDependencies } from '../lib/registration/confirmation-dependencies.ts';
import { telemetry } from '../lib/telemetry.ts';
import { ConfirmationRequestSchema, MAX_CONFIRMATION_BYTES } from '../lib/validators/confirmation.ts';

const config = confirmationConfig();
const readSecret = secretReader({ first: config.pepperSecret });
const dependencies = confirmationDependencies(config, readSecret);

/** `POST /public/v1/account/register/confirm`: confirms the registration that a one-time password was sent for → 204. */
export const handler = endpoint({
  body: ConfirmationRequestSchema,
  front: createFront(config.front, readSecret),
  maxBodyBytes: MAX_CONFIRMATION_BYTES,
  telemetry: telemetry('confirm-registration', config.stage),
  handle: (request, telemetry, signal) => confirmRegistration(dependencies, request, telemetry, signal),
});
