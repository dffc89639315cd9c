import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { registrationConfig } from '../../lib/config.ts';
import { parseSigningSecret, type SigningKeys } from '../../lib/secrets/webhook-signature.ts';
import {
  AccountEnvironment,
  ALL_COUNTRIES,
  environmentVariables,
  RegistrationEnvironment,
} from '../../lib/validators/deployment.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import type { CrmFile } from '../crm/crm-file.ts';
import { signingSecretName } from '../settings.ts';
import { TABLES } from './database.ts';
import { runningFunction } from './rights/policy.ts';
import { PLATFORM_SECRETS } from './rights/stack-rights.ts';

const TOPIC = 'arn:aws:sns:eu-west-1:000000000000:client-notifications';
const BUCKET = 'documents';
const EVENT_BUS = 'events';
const WEBHOOK_QUEUE = 'crm';
const WEBHOOK_SECRET = signingSecretName('local', 'crmWebhook');
const PEPPER_SECRET = 'local/pepper';
const PASSWORD_SECRET = `${PLATFORM_SECRETS}password-derivation`;
const CONFIGURATION_SET = 'mails';
/** The secret that a proxy sends as `x-front-secret`. */
const FRONT_SECRET = 'front-secret-of-the-local-service';

const DEPLOYMENT = {
  stage: 'local',
  senderAddress: 'no-reply@example.com',
  brand: { name: 'Example Broker', supportEmail: 'support@example.com' },
  channels: [...OTP_TYPES],
  phone: { countries: [ALL_COUNTRIES] },
  call: { originationIdentity: 'phone-00000000000000000000000000000001' },
  whatsapp: {
    phoneNumberId: 'phone-number-id-00000000000000000000000000000001',
    codeTemplate: 'one_time_password',
    noticeTemplate: 'registration_attempt',
  },
  crmTable: TABLES.crm,
  operationsTable: TABLES.operations,
  sesConfigurationSet: CONFIGURATION_SET,
};

/** The secret that messages to the broker's own provider are signed with. */
const PROVIDER_SECRET = signingSecretName('local', 'provider');

/** The settings of the functions. AWS endpoints and credentials are added. */
export const SETTINGS = {
  ...environmentVariables(RegistrationEnvironment, {
    ...DEPLOYMENT,
    registrationsTable: TABLES.registrations,
    limitsTable: TABLES.limits,
    documentsBucket: BUCKET,
    confirmation: true,
    pepperSecret: PEPPER_SECRET,
    providerSecret: PROVIDER_SECRET,
  }),
  EVENT_BUS,
  WEBHOOK_QUEUE,
  WEBHOOK_SECRET,
  /** For operators. */
  CRM_UNDELIVERED_QUEUE: `${WEBHOOK_QUEUE}-undelivered`,
  ...environmentVariables(AccountEnvironment, {
    ...DEPLOYMENT,
    accountsTable: TABLES.accounts,
    loginsTable: TABLES.logins,
    passwordSecret: PASSWORD_SECRET,
    notificationsTopicArn: TOPIC,
    eventBus: EVENT_BUS,
  }),
};

type Registration = ReturnType<typeof registrationConfig>;

/** The keys that events are signed with for the CRM, or messages to the broker's own provider. */
export function signingKeys(secrets: ReadonlyMap<string, string>, receiver: 'crmWebhook' | 'provider'): SigningKeys {
  return parseSigningSecret(secrets.get(signingSecretName('local', receiver)) ?? '');
}

/** The values of all secrets by name: the file's own ones, and made-up ones for the rest. */
export function makeSecrets(
  { connections, local_secrets: given }: CrmFile,
  { captcha, front, provider }: Registration,
  { webhookKey, providerKey }: { webhookKey?: string | undefined; providerKey?: string | undefined },
): Map<string, string> {
  const key = () => randomBytes(32).toString('base64');
  const values = new Map([
    [PEPPER_SECRET, JSON.stringify({ current: '1', '1': key() })],
    [PASSWORD_SECRET, JSON.stringify({ key: key() })],
    [WEBHOOK_SECRET, JSON.stringify({ current: webhookKey ?? `whsec_${key()}` })],
  ]);
  if (captcha !== undefined) values.set(captcha.secret, key());
  if (front !== undefined) values.set(front.secret, JSON.stringify({ current: FRONT_SECRET }));
  if (provider !== undefined) values.set(PROVIDER_SECRET, JSON.stringify({ current: providerKey ?? `whsec_${key()}` }));
  for (const [name, value] of Object.entries(given)) values.set(name, JSON.stringify(value));
  for (const { secret } of connections) {
    if (values.has(secret)) continue;
    // Members of both kinds of protocol, because connections may share a secret.
    const password = `${randomBytes(9).toString('base64url')}aA1!`;
    values.set(secret, JSON.stringify({ login: 1000, password, master: randomBytes(12).toString('base64url') }));
  }
  return values;
}

/**
 * Sets the process's environment for the functions, and restores it on `close`. The machine's own
 * variables of AWS are left out, so that no call reaches a real account.
 * @param findAccessKey the access key of a function: its calls are signed with it, all others with the environment's
 */
export function setEnvironment(
  environment: Record<string, string>,
  findAccessKey: (functionName: string) => string,
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
      const name = runningFunction();
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
