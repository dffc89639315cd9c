import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { checkSettings } from './config/check-settings.ts';
import {
  completeBrand,
  confirmingSettings,
  crmSettings,
  mailSettings,
  SETTINGS_FILE,
  stageSettings,
  variableName,
} from './config/deployment.ts';
import { edgeSettings, missingByChannels, sendingSettings } from './config/registration-settings.ts';
import { allowFarServers } from './deadline.ts';
import { isObject } from './validators/primitives.ts';

/**
 * The configuration of a function: the settings of the deployment, which are a file next to its code, and the names of
 * its resources, which are in the environment. Only this file reads them, once, at cold start. A bad deployment fails
 * there: every function below throws a `ConfigurationError` with all errors, by name, never with values.
 */

class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

export type RegistrationConfig = ReturnType<typeof registrationConfig>;
export type AccountConfig = ReturnType<typeof accountConfig>;

export function registrationConfig(environment: NodeJS.ProcessEnv = process.env) {
  const config = read(environment, {
    settings: { ...stageSettings, ...mailSettings, ...edgeSettings, ...sendingSettings },
    resources: [
      ...(['crmTable', 'registrationsTable', 'limitsTable'] as const),
      ...(['documentsBucket', 'pepperSecret', 'sesConfigurationSet'] as const),
    ],
    // `captchaUrl` is the provider that the local service simulates.
    optional: ['providerSecret', 'protectConfigurationId', 'captchaUrl'],
    contradictions: missingByChannels,
  });
  return withSender(config);
}

export function confirmationConfig(environment: NodeJS.ProcessEnv = process.env) {
  return read(environment, {
    settings: { ...stageSettings, ...edgeSettings, ...confirmingSettings },
    resources: ['crmTable', 'registrationsTable', 'documentsBucket', 'pepperSecret', 'eventBus'],
  });
}

const ACCOUNT_RESOURCES = [
  ...(['crmTable', 'operationsTable', 'accountsTable', 'loginsTable'] as const),
  ...(['sesConfigurationSet', 'notificationsTopicArn', 'eventBus'] as const),
];

export function accountConfig(environment: NodeJS.ProcessEnv = process.env) {
  const resources = [...ACCOUNT_RESOURCES, 'passwordSecret'] as const;
  return withSender(read(environment, { settings: { ...stageSettings, ...mailSettings }, resources }));
}

export function settlementConfig(environment: NodeJS.ProcessEnv = process.env) {
  const resources = [...ACCOUNT_RESOURCES, 'registrationsTable'] as const;
  return withSender(read(environment, { settings: { ...stageSettings, ...mailSettings }, resources }));
}

export function webhookConfig(environment: NodeJS.ProcessEnv = process.env) {
  const { crmWebhook = '', ...config } = read(environment, {
    settings: { ...stageSettings, ...crmSettings },
    resources: ['crmTable', 'registrationsTable', 'documentsBucket', 'webhookSecret', 'webhookUndeliveredQueue'],
    contradictions: ({ crmWebhook }) => (crmWebhook === undefined ? ['crmWebhook: is required'] : []),
  });
  return { ...config, crmWebhook };
}

export type LogLevel = 'INFO' | 'WARN' | 'ERROR' | 'CRITICAL';
const LOG_LEVELS: readonly string[] = ['INFO', 'WARN', 'ERROR', 'CRITICAL', 'SILENT'];

/**
 * Whether lines of a level are logged. A deployment logs all levels, and has no setting for it. The local service has
 * `LOG_LEVEL`: the lowest level that is logged, or `SILENT`.
 */
export function logFilter(environment: NodeJS.ProcessEnv = process.env): (level: LogLevel) => boolean {
  const { LOG_LEVEL = 'INFO' } = environment;
  const least = LOG_LEVELS.indexOf(LOG_LEVEL);
  return (level) => LOG_LEVELS.indexOf(level) >= least;
}

/** The X-Ray trace id of the current invocation. */
export function traceId(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return /Root=([^;]+)/.exec(environment._X_AMZN_TRACE_ID ?? '')?.[1];
}

/** The values of some settings. */
type Values<E extends v.ObjectEntries> = { [N in keyof E]: v.InferOutput<E[N]> };

function withSender<T extends Values<typeof mailSettings> & { sesConfigurationSet: string }>(config: T) {
  const { brand, senderAddress, sesConfigurationSet, ...rest } = config;
  return {
    ...rest,
    brand: completeBrand(brand, senderAddress),
    email: { senderAddress, configurationSet: sesConfigurationSet },
  };
}

type Config<E extends v.ObjectEntries, R extends string, O extends string> = Values<E> &
  Record<R, string> &
  Partial<Record<O, string>>;

interface Wanted<E extends v.ObjectEntries, R extends string, O extends string> {
  settings: E;
  resources: readonly R[];
  /** Resources that not every deployment has. */
  optional?: readonly O[];
  /** Finds errors between settings. */
  contradictions?: (settings: Values<E>) => string[];
}

/** Reads these settings, and these resources, each from its variable. An empty variable counts as absent. */
function read<const E extends v.ObjectEntries, R extends string, O extends string = never>(
  environment: NodeJS.ProcessEnv,
  { settings: entries, resources, optional = [], contradictions = () => [] }: Wanted<E, R, O>,
): Config<E, R, O> {
  // Every function reads its configuration before it connects to anything.
  allowFarServers();
  const file = readSettingsFile(environment);
  const { values, errors } = checkSettings(v.object(entries), file ?? {});
  // Without the file, optional settings would silently have their defaults.
  if (file === undefined) errors.push(`${SETTINGS_FILE}: cannot be read`);
  const settings = values as Config<E, R, O> | undefined;
  if (settings !== undefined) errors.push(...contradictions(settings));
  const named = [...resources, ...optional].map((name) => [name, environment[variableName(name)]]);
  const found = Object.fromEntries(named.filter(([, value]) => value));
  for (const name of resources) if (found[name] === undefined) errors.push(`${variableName(name)}: is required`);
  if (settings === undefined || errors.length > 0) throw new ConfigurationError(errors.join('; '));
  return { ...settings, ...found };
}

function readSettingsFile({ LAMBDA_TASK_ROOT = '' }: NodeJS.ProcessEnv): Record<string, unknown> | undefined {
  try {
    const content: unknown = JSON.parse(readFileSync(join(LAMBDA_TASK_ROOT, SETTINGS_FILE), 'utf8'));
    return isObject(content) ? content : undefined;
  } catch {
    return undefined;
  }
}
