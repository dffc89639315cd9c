import { readFileSync } from 'node:fs';
import type { ObservedCall } from '../infra/local/rights/policy.ts';
import { reportOf } from '../test/support/rights/report.ts';
import { OBSERVED_CALLS_FILE } from '../test/support/rights/run.ts';

/**
 * Removes each right of each function, in turn, and evaluates the rest of the policy for the calls that the last complete
 * run of the tests made: one of them must be denied. With `--failures` it lists nothing else. The last line is
 * "N passed, N failed".
 */
const calls = JSON.parse(readFileSync(OBSERVED_CALLS_FILE, 'utf8')) as ObservedCall[];
const { rights, failures } = await reportOf(calls);
const passed = rights.filter(({ neededBy, reason }) => (neededBy ?? reason) !== undefined);
if (!process.argv.includes('--failures')) {
  for (const { right, neededBy, reason } of passed) {
    const proof = neededBy === undefined ? reason : `without it, ${neededBy} is denied`;
    process.stdout.write(`ok      ${right}: ${proof}\n`);
  }
}
for (const failure of failures) process.stdout.write(`FAILED  ${failure}\n`);
process.stdout.write('The rights of the functions, compared with the calls that the tests made:\n');
process.stdout.write(`${passed.length} passed, ${failures.length} failed\n`);
process.exitCode = failures.length === 0 ? 0 : 1;
