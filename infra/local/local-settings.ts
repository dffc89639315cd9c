import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { SETTINGS_FILE } from '../../lib/config/deployment.ts';
import { parseSigningSecret, type SigningKeys } from '../../lib/secrets/webhook-signature.ts';
import { ALL_COUNTRIES } from '../../lib/validators/countries.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { PHONE_CHANNEL_ROWS } from '../channels.ts';
import type { CrmFile } from '../ops/crm-file.ts';
import { parseSettings } from '../setting-texts.ts';
import { deploymentEntries, front, KEY_SECRETS, SettingsError, settingsFile, signingSecretName } from '../settings.ts';
import { TABLES } from './database.ts';
import { processFolder } from './process-folder.ts';
import { runningCaller } from './rights/policy.ts';

const PEPPER_SECRET = `${KEY_SECRETS}local/pepper`;
const PASSWORD_SECRET = `${KEY_SECRETS}local/passwords`;
const WEBHOOK_SECRET = signingSecretName('local', 'crmWebhook');
/** The secret that messages to the broker's own provider are signed with. */
const PROVIDER_SECRET = signingSecretName('local', 'provider');
/** The secret that a proxy sends as `x-front-secret`. */
const FRONT_SECRET = 'front-secret-of-the-local-service';

/** The settings of the local service; `npm start` and tests change some of them. */
const SETTINGS = {
  stage: 'local',
  senderAddress: 'no-reply@example.com',
  brand: { name: 'Example Broker', supportEmail: 'support@example.com' },
  channels: [...OTP_TYPES],
  phone: { countries: [ALL_COUNTRIES] },
  ...Object.fromEntries(
    Object.entries(PHONE_CHANNEL_ROWS).flatMap(([name, { local }]) => (local === undefined ? [] : [[name, local]])),
  ),
  // `startService` sets the address of the receiver.
  crmWebhook: 'http://localhost/',
};

/** The variables of all functions: the names of their resources. AWS endpoints and credentials are added. */
export const RESOURCES = {
  CRM_TABLE: TABLES.crm,
  OPERATIONS_TABLE: TABLES.operations,
  REGISTRATIONS_TABLE: TABLES.registrations,
  LIMITS_TABLE: TABLES.limits,
  ACCOUNTS_TABLE: TABLES.accounts,
  LOGINS_TABLE: TABLES.logins,
  DOCUMENTS_BUCKET: 'documents',
  PEPPER_SECRET,
  PASSWORD_SECRET,
  PROVIDER_SECRET,
  WEBHOOK_SECRET,
  SES_CONFIGURATION_SET: 'mails',
  NOTIFICATIONS_TOPIC_ARN: 'arn:aws:sns:eu-west-1:000000000000:client-notifications',
  EVENT_BUS: 'events',
  WEBHOOK_QUEUE: 'crm',
  WEBHOOK_UNDELIVERED_QUEUE: 'crm-undelivered',
  /** The same queues under their logical ids in the template. Operators' commands find them by these ids. */
  CRM_ACCOUNTS_QUEUE: 'crm-accounts',
  CRM_UNDELIVERED_QUEUE: 'crm-undelivered',
};
/** The country rules of the stack, which has them if it does not serve every country. */
const PROTECT_CONFIGURATION_ID = 'protect-local';

const DeploymentSchema = v.object({ ...deploymentEntries, front });
export type DeploymentSettings = v.InferOutput<typeof DeploymentSchema>;

/**
 * The settings of a local service.
 * @param changed the settings that differ, by their names in cdk.json
 * @throws SettingsError with every error
 */
export function localSettings(changed: Readonly<Record<string, unknown>> = {}): DeploymentSettings {
  const { values, errors } = parseSettings(DeploymentSchema, { ...SETTINGS, ...changed });
  if (values === undefined) throw new SettingsError(errors);
  return values;
}

/** The variables of a deployment with these settings. */
export function localResources({ phone }: DeploymentSettings): Record<string, string> {
  const servesAll = phone === undefined || phone.countries.includes(ALL_COUNTRIES);
  return { ...RESOURCES, ...(servesAll ? {} : { PROTECT_CONFIGURATION_ID }) };
}

/**
 * Writes the file of settings into a folder, as it is next to the code on Lambda. The folder exists until it is closed
 * or the process exits.
 */
export function taskRoot(settings: DeploymentSettings): { variables: { LAMBDA_TASK_ROOT: string }; close(): void } {
  const { folder, close } = processFolder('local-service');
  writeFileSync(join(folder, SETTINGS_FILE), settingsFile(settings));
  return { variables: { LAMBDA_TASK_ROOT: folder }, close };
}

/** The keys that events are signed with for the CRM, or messages to the broker's own provider. */
export function signingKeys(secrets: ReadonlyMap<string, string>, receiver: 'crmWebhook' | 'provider'): SigningKeys {
  return parseSigningSecret(secrets.get(signingSecretName('local', receiver)) ?? '');
}

/** The values of all secrets by name: those of the file, and made-up values for the rest. */
export function makeSecrets(
  { connections, local_secrets: given }: CrmFile,
  { captcha, front, provider }: DeploymentSettings,
  { webhookKey, providerKey }: { webhookKey?: string | undefined; providerKey?: string | undefined },
): Map<string, string> {
  const key = () => randomBytes(32).toString('base64');
  const values = new Map([
    [PEPPER_SECRET, JSON.stringify({ current: '1', '1': key() })],
    [PASSWORD_SECRET, JSON.stringify({ current: '1', '1': key() })],
    [WEBHOOK_SECRET, JSON.stringify({ current: webhookKey ?? `whsec_${key()}` })],
  ]);
  if (captcha !== undefined) values.set(captcha.secret, key());
  if (front !== undefined) values.set(front.secret, JSON.stringify({ current: FRONT_SECRET }));
  if (provider !== undefined) values.set(PROVIDER_SECRET, JSON.stringify({ current: providerKey ?? `whsec_${key()}` }));
  for (const [name, value] of Object.entries(given)) values.set(name, JSON.stringify(value));
  for (const { secret } of connections) {
    if (values.has(secret)) continue;
    // The secret has members for both kinds of protocol, because connections may share a secret.
    const password = `${randomBytes(9).toString('base64url')}aA1!`;
    values.set(secret, JSON.stringify({ login: 1000, password, master: randomBytes(12).toString('base64url') }));
  }
  return values;
}

/**
 * Sets the process's environment for the functions, and restores it on `close`. The machine's own
 * variables of AWS are left out, so that no call reaches a real account.
 * @param findAccessKey the access key of a caller: its calls are signed with it, all others with the environment's
 */
export function setEnvironment(
  environment: Record<string, string>,
  findAccessKey: (caller: string) => string,
): { close(): void } {
  const before = process.env;
  const kept = Object.entries(before).filter(([name]) => !name.startsWith('AWS_'));
  const nowhere = join(tmpdir(), 'no-such-directory', 'aws');
  const variables = {
    ...Object.fromEntries(kept),
    AWS_CONFIG_FILE: nowhere,
    AWS_SHARED_CREDENTIALS_FILE: nowhere,
    ...environment,
  };
  process.env = Object.defineProperty(variables, 'AWS_ACCESS_KEY_ID', {
    enumerable: true,
    get() {
      const name = runningCaller();
      return name === undefined ? environment.AWS_ACCESS_KEY_ID : findAccessKey(name);
    },
    // Tests restore the values that they have read.
    set() {},
  });
  return {
    close() {
      process.env = before;
    },
  };
}
