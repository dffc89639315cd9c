import { configDefaults, defineConfig } from 'vitest/config';

/** Tests that start a browser, run histories of processes, explore every history, or load all rules of CloudFormation. */
const SLOW = [
  'test/infra/cloudformation-rules.test.ts',
  'test/infra/registration-page/page-in-chromium.test.ts',
  'test/infra/local/{accessibility,docs,outbox-page,registration-page}.test.ts',
  'test/model/{every-history,mistakes}.test.ts',
  'test/**/*never-twice.test.ts',
  'test/releases/*.test.ts',
];
/** `npm test` runs all others, `npm run test:slow` these; a file can be run by its name. */
const { TESTS } = process.env;

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: TESTS === 'slow' ? SLOW : ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(TESTS === 'quick' ? SLOW : [])],
    globalSetup: ['test/support/run-folder.ts', 'test/support/rights/run.ts'],
    setupFiles: 'test/support/rights/record.ts',
    // With more runs of the properties of simultaneous requests, they take minutes.
    testTimeout: process.env.TEST_RUNS === undefined ? 180_000 : 600_000,
    hookTimeout: 120_000,
    // One more than CI has processors: some tests wait, and each worker loads every module.
    maxWorkers: 3,
    // Most objects of a test die young: with 16 MB, V8's default, collecting them takes a sixth of the time.
    execArgv: ['--max-semi-space-size=64'],
    // The files of a worker load each module once: to load them again for every file takes as long as the tests.
    isolate: false,
    // The maximum of all files: a worker uses the value of its first file.
    maxConcurrency: 20,
    // On a busy machine everything takes longer. Most events come at once: 50 ms, the usual interval, are a long wait.
    expect: { poll: { timeout: 60_000, interval: 10 } },
    // CI counts the tests from the file.
    reporters: process.env.CI ? ['default', ['json', { outputFile: '.local/vitest.json' }]] : ['default'],
  },
});
