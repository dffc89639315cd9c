import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import LastLine from './support/last-line.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Tests that start a browser or processes, bundle, play every history, or load all rules of CloudFormation. */
const SLOW = [
  'test/functions/{create-account,request-registration-redaction,wiring}.test.ts',
  'test/infra/{bundle,closed-output,cloudformation-rules,deploy}.test.ts',
  'test/infra/openapi/{examples-run,receiver}.test.ts',
  'test/infra/registration-page/{page,states}-in-chromium.test.ts',
  'test/infra/local/{docs,outbox-page,registration-page,start}.test.ts',
  'test/lib/openings/killed.test.ts',
  'test/model/*.test.ts',
  'test/releases/*.test.ts',
];

/** The slow files, but those that the command line names: `npm test -- FILE` runs any file. */
function unnamedSlowFiles(): string[] {
  const named = process.argv.filter((word) => word.endsWith('.test.ts')).map((word) => word.replaceAll('\\', '/'));
  const files = globSync(SLOW, { cwd: root }).map((file) => file.replaceAll('\\', '/'));
  return files.filter((file) => !named.some((word) => file.endsWith(word) || word.endsWith(file)));
}

/** `npm run test:slow` runs the slow files, `npm test` all others. */
export default defineConfig(({ mode }) => ({
  test: {
    root,
    include: mode === 'slow' ? SLOW : ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(mode === 'slow' ? [] : unnamedSlowFiles())],
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
    reporters: [
      'default',
      // CI counts the tests from the file.
      ...(process.env.CI ? [['json', { outputFile: '.local/vitest.json' }] as ['json', object]] : []),
      new LastLine(),
    ],
  },
}));
