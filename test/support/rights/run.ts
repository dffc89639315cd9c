import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the calls of each worker. */
    calls: string;
  }
}

/** The calls that the functions made in the last complete run of the tests. */
export const OBSERVED_CALLS_FILE = new URL('../../../.local/calls.json', import.meta.url).pathname;
const SCRIPT = new URL('../../../.ci/rights.ts', import.meta.url).pathname;

/** Collects the calls of all workers. After a complete run it reports which rights no call used, and which were missing. */
export default function setup({ provide, vitest }: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'calls-'));
  provide('calls', folder);
  return async () => {
    const calls = readdirSync(folder).flatMap(
      (name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as unknown[],
    );
    rmSync(folder, { recursive: true });
    const specifications = await vitest.globTestSpecifications();
    if (vitest.state.getFiles().length < specifications.length || process.env.TESTS === 'slow') return;
    mkdirSync(dirname(OBSERVED_CALLS_FILE), { recursive: true });
    writeFileSync(OBSERVED_CALLS_FILE, JSON.stringify(calls));
    const { status } = spawnSync(process.execPath, [SCRIPT, '--failures'], { stdio: 'inherit' });
    if (status !== 0) process.exitCode = 1;
  };
}
