import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the deployed bundles, for all test files. */
    bundles: string;
  }
}

/** A folder for the whole run, in which a function is bundled by the first test that needs it. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'functions-'));
  provide('bundles', folder);
  return () => rm(folder, { recursive: true, force: true });
}
