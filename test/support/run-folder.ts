import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the deployed bundles, for all test files. A function is bundled by the first test that needs it. */
    bundles: string;
    /** The parent of every test's own folder. */
    folders: string;
  }
}

/** The folder of Node's compile cache, for all processes and runs. */
const COMPILED = fileURLToPath(new URL('../../.local/node-compile-cache', import.meta.url));

/**
 * Makes one folder for all files of a run and deletes it at the end. The temporary directory of the run's processes is
 * in it. A run fails if that is not empty at its end: then a command leaves files in the users' temporary directories.
 */
export default function setup({ provide }: TestProject): () => void {
  const run = mkdtempSync(join(tmpdir(), 'tests-'));
  const [bundles, folders, temporary] = [join(run, 'bundles'), join(run, 'folders'), join(run, 'tmp')];
  for (const folder of [bundles, folders, temporary]) mkdirSync(folder);
  provide('bundles', bundles);
  provide('folders', folders);
  // Windows has the other two.
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = temporary;
  process.env.NODE_COMPILE_CACHE = COMPILED;
  return () => {
    const left = readdirSync(temporary);
    rmSync(run, { recursive: true, force: true });
    if (left.length === 0) return;
    process.stderr.write(`FAILED  The temporary directory is not empty after the tests: ${left.join(', ')}\n`);
    process.exitCode = 1;
  };
}
