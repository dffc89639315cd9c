import { readFile } from 'node:fs/promises';
import { enableCompileCache } from 'node:module';
import { resolve } from 'node:path';
import * as v from 'valibot';
import { deploymentEntries, variableOf } from '../../lib/validators/deployment.ts';
import { readTexts } from '../../lib/validators/texts.ts';
import { type CrmFile, localSecretFaults, parseCrmFile } from '../crm/crm-file.ts';
import { CrmFileError } from '../crm/faults.ts';
import { allowedOrigins } from '../settings.ts';
import { errorCode } from './gateway.ts';
import type { ServiceOptions } from './service.ts';

/**
 * `npm start`: the whole service on this machine, in this one process. Prints `ready` and the address once it can be
 * called, and the functions' log after that. The script of `package.json` replaces its shell (`exec`), so that npm's
 * signals reach it.
 */

/** The functions' settings that a person may change for a run: `CHANNELS=email npm start`. */
const SETTINGS = [...Object.keys(deploymentEntries), 'settleSeconds'].map(variableOf);
const DEFAULT_PORT = '3000';
const PARENT_WATCH_MS = 250;

/** Something that the caller can mend; said in one line or a few, without a stack. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

const isNpmStart = process.env.npm_lifecycle_event === 'start';
endWithItsCaller();
try {
  const options: ServiceOptions = {
    port: portOf(process.env.PORT ?? DEFAULT_PORT),
    environment: settingsOf(process.env),
    allowedOrigins: originsOf(process.env.ALLOWED_ORIGINS),
    quiet: false,
    clock: true,
    ...(process.env.CRM_FILE ? { records: await readCrmFile(process.env.CRM_FILE) } : {}),
  };
  // Loaded after that, so that a fault in the file or the port is told at once; compiled once and for all starts.
  enableCompileCache();
  const { startService } = await import('./service.ts');
  const { url } = await startService(options);
  // Were this a Lambda function, the next call would find a fresh process: here the same one goes on.
  process.on('uncaughtException', (error) => process.stderr.write(`${error.stack ?? error}\n`));
  process.stdout.write(`ready ${url}\n`);
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
}

function portOf(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new UsageError('PORT must be a number from 0 to 65535.');
  return Number(text);
}

function settingsOf(environment: NodeJS.ProcessEnv): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const name of SETTINGS) {
    const value = environment[name];
    if (value) settings[name] = value;
  }
  // The name of a provider is enough: the stand-in has a secret key of its own.
  const { CAPTCHA: captcha } = settings;
  if (captcha !== undefined && /^\w+$/.test(captcha)) {
    settings.CAPTCHA = JSON.stringify({ provider: captcha, secret: 'local/captcha' });
  }
  return settings;
}

/** The setting of a deployment that its functions are not told. */
function originsOf(given: string | undefined): string[] {
  const { values, faults } = readTexts(v.object({ allowedOrigins }), { allowedOrigins: given });
  if (values === undefined)
    throw new UsageError(`A setting is not valid: ${faults.join('; ').replace(/^\w+/, 'ALLOWED_ORIGINS')}`);
  return values.allowedOrigins;
}

async function readCrmFile(name: string): Promise<CrmFile> {
  // npm changes to the project's directory; the name is meant from where the person stands.
  const path = resolve((isNpmStart && process.env.INIT_CWD) || '.', name);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const reason = errorCode(error) === 'ENOENT' ? 'there is no such file' : `it cannot be read (${errorCode(error)})`;
    throw new UsageError(`CRM_FILE ${path}: ${reason}.`);
  });
  try {
    const file = await parseCrmFile(text);
    const faults = localSecretFaults(file);
    if (faults.length > 0) throw new CrmFileError(faults);
    return file;
  } catch (error) {
    if (!(error instanceof CrmFileError)) throw error;
    const count = error.faults.length === 1 ? '1 fault' : `${error.faults.length} faults`;
    throw new UsageError(`CRM_FILE ${path} has ${count}:\n${error.message.replace(/^/gm, '  ')}`);
  }
}

function explain(error: unknown): string {
  if (error instanceof UsageError) return error.message;
  if (errorCode(error) === 'EADDRINUSE') return 'The port is in use. PORT=0 npm start picks a free one.';
  if (error instanceof Error && error.name === 'ConfigurationError') return `A setting is not valid: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Ends at once when it is told to, and, run by npm, also when npm is gone without a word. Nothing has to be saved. */
function endWithItsCaller(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(0));
  if (!isNpmStart) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(0);
  }, PARENT_WATCH_MS).unref();
}
