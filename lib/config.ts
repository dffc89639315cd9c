import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type * as v from 'valibot';
import {
  AccountEnvironment,
  ConfirmationEnvironment,
  completeBrand,
  missingByChannels,
  RegistrationEnvironment,
  SettlementEnvironment,
  variableName,
  WebhookEnvironment,
} from './validators/deployment.ts';
import { parseSettings } from './validators/texts.ts';

/**
 * The configuration of a function. Only this file reads the environment, once, at cold start. A bad deployment fails
 * there: every function below throws a `ConfigurationError` with all errors, by the variables' names, never their values.
 */

class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

export type RegistrationConfig = ReturnType<typeof registrationConfig>;
export type AccountConfig = ReturnType<typeof accountConfig>;

export function registrationConfig(environment: NodeJS.ProcessEnv = process.env) {
  return withSender(read(RegistrationEnvironment, environment, missingByChannels), environment);
}

export function confirmationConfig(environment: NodeJS.ProcessEnv = process.env) {
  return read(ConfirmationEnvironment, environment);
}

export function accountConfig(environment: NodeJS.ProcessEnv = process.env) {
  return withSender(read(AccountEnvironment, environment), environment);
}

export function settlementConfig(environment: NodeJS.ProcessEnv = process.env) {
  return withSender(read(SettlementEnvironment, environment), environment);
}

export function webhookConfig(environment: NodeJS.ProcessEnv = process.env) {
  return read(WebhookEnvironment, environment);
}

export type LogLevel = 'INFO' | 'WARN' | 'ERROR' | 'CRITICAL';
const LOG_LEVELS: readonly string[] = ['INFO', 'WARN', 'ERROR', 'CRITICAL', 'SILENT'];

/**
 * Whether lines of a level are logged. No setting of a deployment, where all are: the local service has `LOG_LEVEL`,
 * which is the lowest level that is logged, or `SILENT`.
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

type Sender = Pick<
  v.InferOutput<typeof AccountEnvironment>,
  'brand' | 'senderAddress' | 'sesConfigurationSet' | 'legalFile'
>;

function withSender<T extends Sender>(values: T, { LAMBDA_TASK_ROOT = '' }: NodeJS.ProcessEnv) {
  const { brand, senderAddress, sesConfigurationSet, legalFile, ...rest } = values;
  const legal =
    legalFile === undefined ? brand.legal : JSON.parse(readFileSync(join(LAMBDA_TASK_ROOT, legalFile), 'utf8'));
  return {
    ...rest,
    brand: completeBrand({ ...brand, legal }, senderAddress),
    email: { senderAddress, configurationSet: sesConfigurationSet },
  };
}

/**
 * The members of the schema, each from its variable. An empty variable is an absent one.
 * @param contradictions finds errors between variables
 */
function read<const S extends v.ObjectSchema<v.ObjectEntries, undefined>>(
  schema: S,
  environment: NodeJS.ProcessEnv,
  contradictions: (values: v.InferOutput<S>) => string[] = () => [],
): v.InferOutput<S> {
  const given: Record<string, string> = {};
  for (const name of Object.keys(schema.entries)) {
    const value = environment[variableName(name)];
    if (value) given[name] = value;
  }
  const { values, errors } = parseSettings(schema, given);
  if (values !== undefined) errors.push(...contradictions(values));
  if (values === undefined || errors.length > 0) {
    throw new ConfigurationError(errors.map((error) => error.replace(/^\w+/, variableName)).join('; '));
  }
  return values;
}
