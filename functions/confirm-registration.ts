import { secretReader } from '../lib/aws/secrets.ts';
import { confirmationConfig } from '../lib/config.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { createFront } from '../lib/http/source.ts';
import { type ConfirmationDependencies, confirmRegistration } from '../lib/registration/confirmation.ts';
import { confirmationDependencies } from '../lib/registration/confirmation-dependencies.ts';
import { telemetry } from '../lib/telemetry.ts';
import { ConfirmationRequestSchema, MAX_CONFIRMATION_BYTES } from '../lib/validators/confirmation.ts';

const config = confirmationConfig();
const readSecret = secretReader({ first: config.pepperSecret });
/** The route; tests change dependencies. */
export function route(changes: Partial<ConfirmationDependencies> = {}) {
  const dependencies = { ...confirmationDependencies(config, readSecret), ...changes };
  return endpoint({
    body: ConfirmationRequestSchema,
    front: createFront(config.front, readSecret),
    maxBodyBytes: MAX_CONFIRMATION_BYTES,
    telemetry: telemetry('confirm-registration', config.stage),
    handle: (request, telemetry, signal) => confirmRegistration(dependencies, request, telemetry, signal),
  });
}

/** `POST /public/v1/account/register/confirm`: confirms the registration that a one-time password was sent for → 204. */
export const handler = route();
