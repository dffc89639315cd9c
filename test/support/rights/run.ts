import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { ObservedCall } from '../../../infra/local/rights/policy.ts';
import { reportOf } from './report.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the calls of each worker. */
    calls: string;
  }
}

/** The calls that the functions made in the last complete run of `npm test`. */
const QUICK_CALLS = new URL('../../../.local/calls.json', import.meta.url);

const readCalls = (file: string | URL) => JSON.parse(readFileSync(file, 'utf8')) as ObservedCall[];

/**
 * Collects the calls of all workers. A complete run of `npm test` keeps them; after a complete run of
 * `npm run test:slow` every right must have been needed by a call of one of the two, and no call may have been denied.
 */
export default function setup({ config, provide, vitest }: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'calls-'));
  provide('calls', folder);
  return async () => {
    const calls = readdirSync(folder).flatMap((name) => readCalls(join(folder, name)));
    rmSync(folder, { recursive: true });
    const specifications = await vitest.globTestSpecifications();
    if (vitest.state.getFiles().length < specifications.length) return;
    if (config.mode !== 'slow') {
      mkdirSync(new URL('.', QUICK_CALLS), { recursive: true });
      writeFileSync(QUICK_CALLS, JSON.stringify(calls));
    } else if (existsSync(QUICK_CALLS)) {
      await compare([...readCalls(QUICK_CALLS), ...calls]);
    }
  };
}

async function compare(calls: readonly ObservedCall[]): Promise<void> {
  const { rights, failures } = await reportOf(calls);
  for (const failure of failures) process.stdout.write(`FAILED  ${failure}\n`);
  process.stdout.write(`The rights of the functions and the calls of both runs: ${rights.length} compared.\n`);
  if (failures.length > 0) process.exitCode = 1;
}
