import type { Reporter } from 'vitest/node';

/** Ends the output of a failed run with a line that says so: vitest's own last line is the duration. */
export default class LastLine implements Reporter {
  readonly onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (files, errors, reason) => {
    if (reason === 'passed') return;
    const failed = files.filter((file) => !file.ok()).map(({ relativeModuleId }) => relativeModuleId);
    const where = failed.length > 0 ? failed.join(', ') : `${errors.length} errors outside of tests`;
    process.stdout.write(`\nFAILED  ${where}\n`);
  };
}
