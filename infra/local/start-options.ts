import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import * as v from 'valibot';
import { parseSigningSecret } from '../../lib/secrets/webhook-signature.ts';
import { deploymentEntries, variableName } from '../../lib/validators/deployment.ts';
import { isPhoneChannel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { parseSettings } from '../../lib/validators/texts.ts';
import { type CrmFile, localSecretErrors, parseCrmFile } from '../crm/crm-file.ts';
import { CrmFileError } from '../crm/record-errors.ts';
import { allowedOrigins, SettingsError } from '../settings.ts';
import { errorCode } from './gateway.ts';
import type { ServiceOptions } from './service.ts';

/** The functions' settings that a person may change for a run: `CHANNELS=email npm start`. */
const SETTINGS = Object.keys(deploymentEntries)
  .filter((name) => !['crmWebhook', 'provider'].includes(name))
  .map(variableName);
const DEFAULT_PORT = '3000';

/** An error that the caller can fix; printed without a stack. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * The options of a start, from its environment.
 *
 * @throws an error that `explain` puts into words, if something is not valid
 */
export async function startOptions(environment: NodeJS.ProcessEnv): Promise<ServiceOptions> {
  const { CRM_FILE: crmFile } = environment;
  // npm changes to the project's directory.
  const folder = (isNpmStart(environment) && environment.INIT_CWD) || '.';
  return {
    port: parsePort(environment.PORT ?? DEFAULT_PORT),
    environment: { ...readSettings(environment), ...readProvider(environment) },
    ...crmWebhook(environment),
    ...readProviderKey(environment),
    allowedOrigins: parseOrigins(environment.ALLOWED_ORIGINS),
    ...(crmFile ? { records: await readCrmFile(resolve(folder, crmFile)) } : {}),
  };
}

/** True when npm runs the start. */
export function isNpmStart(environment: NodeJS.ProcessEnv): boolean {
  return environment.npm_lifecycle_event === 'start';
}

/** The message of a failed start. */
export function explain(error: unknown): string {
  if (error instanceof UsageError) return error.message;
  if (error instanceof SettingsError) return error.message;
  if (errorCode(error) === 'EADDRINUSE') return 'The port is in use. PORT=0 npm start picks a free one.';
  if (error instanceof Error && error.name === 'ConfigurationError') return `A setting is not valid: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new UsageError('PORT must be a number from 0 to 65535.');
  return Number(text);
}

function readSettings(environment: NodeJS.ProcessEnv): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const name of SETTINGS) {
    const value = environment[name];
    if (value) settings[name] = value;
  }
  // The name of a provider is enough: the stand-in has its own secret key.
  const { CAPTCHA: captcha } = settings;
  if (captcha !== undefined && /^\w+$/.test(captcha)) {
    settings.CAPTCHA = JSON.stringify({
      provider: captcha,
      secret: 'local/captcha',
      ...(captcha === 'recaptcha' ? { minScore: 0.5 } : {}),
    });
  }
  return settings;
}

/** The CRM that events are posted to; plain HTTP on this machine only. */
function crmWebhook({
  CRM_WEBHOOK: url,
  CRM_WEBHOOK_SECRET: key,
}: NodeJS.ProcessEnv): Pick<ServiceOptions, 'crmWebhook'> {
  if (!url) return {};
  if (!isReceiver(url))
    throw new UsageError(
      'CRM_WEBHOOK must be an https address, or http on this machine: http://127.0.0.1:4000/events.',
    );
  if (!isSigningKey(key))
    throw new UsageError('CRM_WEBHOOK needs CRM_WEBHOOK_SECRET: whsec_ and 24 bytes or more in base64.');
  return { crmWebhook: { url, key: key ?? '' } };
}

/** The providers of the broker by channel; `local` is the stand-in. */
function readProvider(environment: NodeJS.ProcessEnv): Record<string, string> {
  const urls: Record<string, string> = {};
  for (const channel of OTP_TYPES.filter(isPhoneChannel)) {
    const name = `PROVIDER_${channel.toUpperCase()}`;
    const url = environment[name];
    if (!url) continue;
    if (url !== 'local' && !isReceiver(url))
      throw new UsageError(
        `${name} must be local, an https address, or http on this machine: http://127.0.0.1:4001/sms.`,
      );
    urls[channel] = url;
  }
  return Object.keys(urls).length === 0 ? {} : { PROVIDER: JSON.stringify(urls) };
}

function readProviderKey({ PROVIDER_SECRET: key }: NodeJS.ProcessEnv): Pick<ServiceOptions, 'providerKey'> {
  if (!key) return {};
  if (!isSigningKey(key)) throw new UsageError('PROVIDER_SECRET must be whsec_ and 24 bytes or more in base64.');
  return { providerKey: key };
}

/** Whether this is an address of a system of the broker; plain HTTP on this machine only. */
function isReceiver(url: string): boolean {
  return /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])\S+$/.test(url) && URL.canParse(url);
}

function isSigningKey(key: string | undefined): boolean {
  try {
    return parseSigningSecret(JSON.stringify({ current: key })).length === 1;
  } catch {
    return false;
  }
}

/** A setting that the functions do not get. */
function parseOrigins(given: string | undefined): string[] {
  const { values, errors } = parseSettings(v.object({ allowedOrigins }), { allowedOrigins: given });
  if (values === undefined)
    throw new UsageError(`A setting is not valid: ${errors.join('; ').replace(/^\w+/, 'ALLOWED_ORIGINS')}`);
  return values.allowedOrigins;
}

async function readCrmFile(path: string): Promise<CrmFile> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const reason = errorCode(error) === 'ENOENT' ? 'there is no such file' : `it cannot be read (${errorCode(error)})`;
    throw new UsageError(`CRM_FILE ${path}: ${reason}.`);
  });
  try {
    const file = await parseCrmFile(text);
    const errors = localSecretErrors(file);
    if (errors.length > 0) throw new CrmFileError(errors);
    return file;
  } catch (error) {
    if (!(error instanceof CrmFileError)) throw error;
    const count = error.errors.length === 1 ? '1 error' : `${error.errors.length} errors`;
    throw new UsageError(`CRM_FILE ${path} has ${count}:\n${error.message.replace(/^/gm, '  ')}`);
  }
}
