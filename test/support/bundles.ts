import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { type Bundle, bundle } from '../../infra/bundle.ts';
import type { FunctionName } from '../../infra/functions.ts';

/** The files that each process of `environments.ts` runs, next to the bundles. */
export const SCRIPT = 'environment.mjs';

/** What is known of a bundle, next to its files. */
const DESCRIPTION = 'bundle.json';

/**
 * Bundles the functions as they are deployed; `operator` is the operators' command. Tests may do so
 * at the same time. An existing bundle is reused.
 * @returns the folder
 */
export async function bundleInto(folder: string, ...others: FunctionName[]): Promise<string> {
  for (const name of ['create-tp5-account', 'create-tp4-account', ...others] as const) {
    await makeOnce(join(folder, name), async (path) => {
      await writeFile(join(path, DESCRIPTION), JSON.stringify(await bundle(name, path)));
    });
  }
  return writeScript(folder);
}

/** The sizes and the inputs of a bundle. @param folder that of `bundleInto` */
export async function bundleDescription(folder: string, name: FunctionName): Promise<Bundle> {
  return JSON.parse(await readFile(join(folder, name, DESCRIPTION), 'utf8')) as Bundle;
}

async function writeScript(folder: string): Promise<string> {
  // Plain JavaScript: to take the types out of it in every process takes longer than to start one.
  await makeOnce(join(folder, SCRIPT), async (path) => {
    const source = await readFile(new URL('./environment.ts', import.meta.url), 'utf8');
    await writeFile(path, stripTypeScriptTypes(source));
  });
  return folder;
}

/** Two tests may make the same file at once: then the later result is dropped. */
async function makeOnce(path: string, make: (path: string) => Promise<unknown>): Promise<void> {
  if (existsSync(path)) return;
  const unfinished = `${path}-${process.pid}`;
  await make(unfinished);
  await rename(unfinished, path).catch(() => rm(unfinished, { recursive: true, force: true }));
}
