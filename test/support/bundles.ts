import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { bundle } from '../../infra/bundle.ts';
import type { DeployedFunction } from '../../infra/routes.ts';

/** What each process of `environments.ts` runs, beside the bundles. */
export const SCRIPT = 'environment.mjs';

/**
 * Bundles the functions of accounts (and others) as they are deployed. Others may do so at the same time; what stands in
 * the folder is not made again.
 * @returns the folder
 */
export async function bundleInto(folder: string, ...others: DeployedFunction[]): Promise<string> {
  for (const name of ['create-tp5-account', 'create-tp4-account', ...others] as const) {
    await makeOnce(join(folder, name), (path) => bundle(name, path));
  }
  // Plain JavaScript: taking the types out of it in every process takes longer than starting one.
  await makeOnce(join(folder, SCRIPT), async (path) => {
    const source = await readFile(new URL('./environment.ts', import.meta.url), 'utf8');
    await writeFile(path, stripTypeScriptTypes(source));
  });
  return folder;
}

/** Two may make it at once: then the later one's is thrown away. */
async function makeOnce(path: string, make: (path: string) => Promise<unknown>): Promise<void> {
  if (existsSync(path)) return;
  const own = `${path}-${process.pid}`;
  await make(own);
  await rename(own, path).catch(() => rm(own, { recursive: true, force: true }));
}
