import { argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { LambdaHandler } from '../../infra/local/gateway.ts';
import { secretReader } from '../../lib/aws/secrets.ts';
import { registrationConfig } from '../../lib/config.ts';
import { captchaVerifier } from '../../lib/http/captcha.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { createFront } from '../../lib/http/source.ts';
import { registrationDependencies } from '../../lib/registration/dependencies.ts';
import { requestRegistration } from '../../lib/registration/request.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { MAX_REGISTRATION_BYTES, registrationRequestSchema } from '../../lib/validators/registration.ts';

/**
 * The function that hashes passwords, wired as in its file in `functions/`, but with hashes at a thousandth of the
 * cost: a hash at production cost takes 50 ms. The real function is in `test/functions/wiring.test.ts`, and the real
 * hash in `test/lib/secrets/password-hash.test.ts`.
 */

const derive = promisify(argon2);
const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

/** The hash names its own cost, so the real check can read it. */
async function cheapHash(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const message = Buffer.from(password.normalize('NFC'));
  const tag = await derive('argon2id', { message, nonce, memory: 8, passes: 1, parallelism: 1, tagLength: 32 });
  return `$argon2id$v=19$m=8,t=1,p=1$${unpadded(nonce)}$${unpadded(tag)}`;
}

/** @returns undefined for a function that hashes no password */
export function withCheapHashes(name: string): LambdaHandler | undefined {
  return name === 'request-registration' ? registrationHandler() : undefined;
}

function registrationHandler(): LambdaHandler {
  const config = registrationConfig();
  const readSecret = secretReader();
  const dependencies = { ...registrationDependencies(config, readSecret), hashPassword: cheapHash };
  return endpoint({
    body: registrationRequestSchema(config.phone?.countries, config.brand.name),
    front: createFront(config.front, readSecret),
    captcha: config.captcha && captchaVerifier(config.captcha, { readSecret, url: config.captchaUrl }),
    maxBodyBytes: MAX_REGISTRATION_BYTES,
    telemetry: telemetry('request-registration', config.stage),
    handle: (request, events, signal) => requestRegistration(dependencies, request, events, signal),
  }) as LambdaHandler;
}
