import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { afterAll, inject } from 'vitest';
import { observedCalls } from '../../../infra/local/rights/policy.ts';

let written = 0;

/** Stores the calls of this worker for the report, after each test file. */
afterAll(() => {
  if (observedCalls.size === written) return;
  written = observedCalls.size;
  const path = join(inject('calls'), `${process.pid}-${threadId}.json`);
  writeFileSync(path, JSON.stringify([...observedCalls.values()]));
});
