import { argon2 } from 'node:crypto';
import { promisify } from 'node:util';
import type { LambdaHandler } from '../../infra/local/gateway.ts';
import { secretReader } from '../../lib/aws/secrets.ts';
import { confirmationConfig, registrationConfig } from '../../lib/config.ts';
import { captchaVerifier } from '../../lib/http/captcha.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { createFront } from '../../lib/http/source.ts';
import { confirmRegistration } from '../../lib/registration/confirmation.ts';
import { confirmationDependencies } from '../../lib/registration/confirmation-dependencies.ts';
import { registrationDependencies } from '../../lib/registration/dependencies.ts';
import { requestRegistration } from '../../lib/registration/registration.ts';
import { verifyPassword } from '../../lib/secrets/password-hash.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { ConfirmationRequestSchema, MAX_CONFIRMATION_BYTES } from '../../lib/validators/confirmation.ts';
import { MAX_REGISTRATION_BYTES, registrationRequestSchema } from '../../lib/validators/registration.ts';

/**
 * The functions that hash passwords, wired as in their files in `functions/`, but with hashes at a thousandth of the
 * cost: a hash at production cost takes 50 ms. The real functions are in `test/functions/wiring.test.ts`, and the real
 * hash in `test/lib/secrets/password-hash.test.ts`.
 */

const derive = promisify(argon2);
const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

async function cheapHash(password: string, nonce: Buffer): Promise<string> {
  const message = Buffer.from(password.normalize('NFC'));
  const tag = await derive('argon2id', { message, nonce, memory: 8, passes: 1, parallelism: 1, tagLength: 32 });
  return `$argon2id$v=19$m=8,t=1,p=1$${unpadded(nonce)}$${unpadded(tag)}`;
}

/** The hash names its own cost, so the real check can read it. */
async function isPassword(phc: string | undefined, password: string): Promise<boolean> {
  return phc === undefined || verifyPassword(phc, password);
}

/** @returns undefined for a function that hashes no password */
export function withCheapHashes(name: string): LambdaHandler | undefined {
  if (name === 'request-registration') return registrationHandler();
  return name === 'confirm-registration' ? confirmationHandler() : undefined;
}

function registrationHandler(): LambdaHandler {
  const config = registrationConfig();
  const readSecret = secretReader();
  const dependencies = {
    ...registrationDependencies(config, readSecret),
    hashPassword: cheapHash,
    matchesPassword: isPassword,
  };
  return endpoint({
    body: registrationRequestSchema(config.phone?.countries),
    front: createFront(config.front, readSecret),
    captcha: config.captcha && captchaVerifier(config.captcha, { readSecret, url: config.captchaUrl }),
    maxBodyBytes: MAX_REGISTRATION_BYTES,
    telemetry: telemetry('request-registration', config.stage),
    handle: (request, events, signal) => requestRegistration(dependencies, request, events, signal),
  }) as LambdaHandler;
}

function confirmationHandler(): LambdaHandler {
  const config = confirmationConfig();
  const readSecret = secretReader();
  const dependencies = { ...confirmationDependencies(config, readSecret), hashPassword: cheapHash };
  return endpoint({
    body: ConfirmationRequestSchema,
    front: createFront(config.front, readSecret),
    maxBodyBytes: MAX_CONFIRMATION_BYTES,
    telemetry: telemetry('confirm-registration', config.stage),
    handle: (request, events, signal) => confirmRegistration(dependencies, request, events, signal),
  }) as LambdaHandler;
}
