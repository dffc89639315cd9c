import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import * as v from 'valibot';
import { variableName } from '../../lib/config/deployment.ts';
import { CAPTCHA_PROVIDERS } from '../../lib/config/registration-settings.ts';
import { signingKeyError } from '../../lib/secrets/webhook-signature.ts';
import { PHONE_CHANNELS, type PhoneChannel } from '../../lib/validators/otp-types.ts';
import { type CrmFile, localSecretErrors, parseCrmFile } from '../ops/crm-file.ts';
import { CrmFileError } from '../ops/crm-items.ts';
import { LOCAL_HOST } from '../ops/record-rules.ts';
import { parseSettings } from '../setting-texts.ts';
import { allowedHeaders, allowedOrigins, deploymentEntries, SettingsError } from '../settings.ts';
import { errorCode } from './gateway.ts';
import { localSettings } from './local-settings.ts';
import { exitOnSignals, type SignaledProcess } from './process-folder.ts';
import type { ServiceOptions } from './service.ts';

/** The functions' settings that a person may change for a run: `CHANNELS=email npm start`. */
const SETTINGS = Object.keys(deploymentEntries).filter((name) => !['crmWebhook', 'provider'].includes(name));

const PORT_MUST = 'must be a number from 0 to 65535';
const RECEIVER = 'an https address, or http on this machine: http://127.0.0.1:4000/events';
const receiver = v.pipe(v.string(), v.check(isReceiver, `must be ${RECEIVER}`));
const isProvider = (url: string) => url === LOCAL_HOST || isReceiver(url);
const provider = v.optional(v.pipe(v.string(), v.check(isProvider, `must be local, ${RECEIVER}`)));
const signingKey = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    const error = dataset.typed ? signingKeyError(dataset.value) : undefined;
    if (error !== undefined) addIssue({ message: error });
  }),
);

/** The variable with the address of a channel's provider: `PROVIDER_SMS`. */
function providerVariable<C extends PhoneChannel>(channel: C) {
  return `PROVIDER_${channel.toUpperCase() as Uppercase<C>}` as const;
}

/** The variables of a start that are no settings of a function. */
const StartSchema = v.pipe(
  v.object({
    PORT: v.optional(v.pipe(v.number(PORT_MUST), v.integer(PORT_MUST), v.maxValue(65_535, PORT_MUST)), 3_000),
    CRM_FILE: v.optional(v.string()),
    CRM_WEBHOOK: v.optional(receiver),
    CRM_WEBHOOK_SECRET: v.optional(signingKey),
    ...v.entriesFromList(PHONE_CHANNELS.map(providerVariable), provider),
    PROVIDER_SECRET: v.optional(signingKey),
    ALLOWED_ORIGINS: allowedOrigins,
    ALLOWED_HEADERS: allowedHeaders,
  }),
  v.forward(
    v.check(({ CRM_WEBHOOK: url, CRM_WEBHOOK_SECRET: key }) => !url || key !== undefined, 'is required by CRM_WEBHOOK'),
    ['CRM_WEBHOOK_SECRET'],
  ),
);

/** An error in the file of records; printed without a stack. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * The options of a start, from its environment.
 *
 * @throws an error that `explainFailedStart` puts into words, if something is not valid
 */
export async function startOptions(given: NodeJS.ProcessEnv): Promise<ServiceOptions> {
  // An empty variable counts as absent.
  const environment = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
  const { values, errors } = parseSettings(StartSchema, environment);
  if (values === undefined) throw new SettingsError(errors);
  const { CRM_FILE: file, CRM_WEBHOOK: url, CRM_WEBHOOK_SECRET: key = '' } = values;
  const providers = PHONE_CHANNELS.flatMap((channel) => {
    const url = values[providerVariable(channel)];
    return url === undefined ? [] : [[channel, url] as const];
  });
  // npm runs a script in the project's directory. INIT_CWD is the directory in which the command was typed.
  const folder = (isNpmStart(environment) && environment.INIT_CWD) || '.';
  return {
    port: values.PORT,
    settings: {
      ...readSettings(environment),
      ...(providers.length > 0 ? { provider: Object.fromEntries(providers) } : {}),
    },
    crmWebhook: url === undefined ? undefined : { url, key },
    providerKey: values.PROVIDER_SECRET,
    allowedOrigins: values.ALLOWED_ORIGINS,
    allowedHeaders: values.ALLOWED_HEADERS,
    records: file === undefined ? undefined : await readCrmFile(resolve(folder, file)),
  };
}

const PARENT_WATCH_MS = 250;

/** The part of a process that ends it with its terminal or with npm. */
type EndingProcess = SignaledProcess & Pick<NodeJS.Process, 'env'>;

/**
 * Ends the process at once on a signal. Under npm it also ends when npm, or the shell between the two, is gone. Nothing
 * has to be saved.
 */
export function exitWithParent(process: EndingProcess, parents: () => string = runningParents): void {
  exitOnSignals(process, 0);
  if (!isNpmStart(process.env)) return;
  const first = parents();
  setInterval(() => {
    if (parents() !== first) process.exit(0);
  }, PARENT_WATCH_MS).unref();
}

/** The parent of this process, and the parent of that one if it is a shell: some stay until their command ends. */
function runningParents(): string {
  const { ppid } = process;
  try {
    const status = readFileSync(`/proc/${ppid}/status`, 'utf8');
    const [, shell] = /^Name:\s*(?:da|ba)?sh$[\s\S]*^PPid:\s*(\d+)$/m.exec(status) ?? [];
    return `${ppid} ${shell}`;
  } catch {
    return String(ppid);
  }
}

/** True when npm runs the start. */
function isNpmStart(environment: NodeJS.ProcessEnv): boolean {
  return environment.npm_lifecycle_event === 'start';
}

/** The message of a failed start. */
export function explainFailedStart(error: unknown): string {
  if (error instanceof UsageError || error instanceof SettingsError) return error.message;
  if (errorCode(error) === 'EADDRINUSE') return 'The port is in use. PORT=0 npm start picks a free one.';
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** @throws SettingsError with every error, by the variables' names */
function readSettings(environment: NodeJS.ProcessEnv): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const name of SETTINGS) {
    const value = environment[variableName(name)];
    if (value) settings[name] = value;
  }
  // The name of a provider is enough here: the stand-in has its own secret key.
  const { captcha: provider } = settings;
  if (typeof provider === 'string' && /^\w+$/.test(provider)) {
    const { scores = 'never' } = Object.entries(CAPTCHA_PROVIDERS).find(([name]) => name === provider)?.[1] ?? {};
    const minScore = scores === 'limited' ? { minScore: 0.5 } : {};
    settings.captcha = { provider, secret: 'local/captcha', ...minScore };
  }
  try {
    localSettings(settings);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new SettingsError(error.errors.map((one) => one.replace(/^\w+/, variableName)));
  }
  return settings;
}

/** Whether this may be the address of a system of the broker. Plain HTTP is allowed on this machine only. */
function isReceiver(url: string): boolean {
  return /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])\S+$/.test(url) && URL.canParse(url);
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
