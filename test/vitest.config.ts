import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/bundles-folder.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // One more than CI has processors: some tests wait for times.
    maxWorkers: 3,
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
