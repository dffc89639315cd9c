import { secretReader } from '../lib/aws/secrets.ts';
import { registrationConfig } from '../lib/config.ts';
import { captchaVerifier } from '../lib/http/captcha.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { createFront } from '../lib/http/source.ts';
import { registrationDependencies } from '../lib/registration/dependencies.ts';
import { requestRegistration } from '../lib/registration/request.ts';
import { telemetry } from '../lib/telemetry.ts';
import { MAX_REGISTRATION_BYTES, registrationRequestSchema } from '../lib/validators/registration.ts';

const config = registrationConfig();
const readSecret = secretReader({ first: config.pepperSecret });
const dependencies = registrationDependencies(config, readSecret);

/** `POST /public/v1/account/register/request`: stores a pending registration and sends its one-time password → 204. */
export const handler = endpoint({
  body: registrationRequestSchema(config.phone?.countries, config.brand.name),
  front: createFront(config.front, readSecret),
  captcha: config.captcha && captchaVerifier(config.captcha, { readSecret, url: config.captchaUrl }),
  maxBodyBytes: MAX_REGISTRATION_BYTES,
  telemetry: telemetry('request-registration', config.stage),
  handle: (request, telemetry, signal) => requestRegistration(dependencies, request, telemetry, signal),
});
