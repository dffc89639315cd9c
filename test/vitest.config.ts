import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** They wait for half a minute and more: begun first, they leave the processors to the others and end with them. */
const WAITING = /\/(request-registration-database-faults|create-account-time)\.test\.ts$/;

class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => Number(WAITING.test(b.moduleId)) - Number(WAITING.test(a.moduleId)));
  }
}

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/bundles-folder.ts', 'test/support/rights/run.ts'],
    setupFiles: 'test/support/rights/record.ts',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Twice as many as CI has processors: many tests wait.
    maxWorkers: 4,
    sequence: { sequencer: WaitingFirst },
    // The files of a worker load each module once: loading them anew for every file takes as long as the tests.
    isolate: false,
    // The most that any file asks for: a worker takes it from the first one.
    maxConcurrency: 20,
    // What is waited for comes by itself, on a busy machine later.
    expect: { poll: { timeout: 10_000 } },
    // CI counts the tests from the file.
    reporters: process.env.CI ? ['default', ['json', { outputFile: '.local/vitest.json' }]] : ['default'],
  },
});
