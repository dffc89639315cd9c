import { parseArgs } from 'node:util';
import { accountBundles } from '../support/environments.ts';
import { runHistories } from '../support/never-twice.ts';

/**
 * `node test/bench/never-twice.ts --runs 1000`: histories of requests, retries, kills and faults against the functions as
 * they are deployed, counting accounts. Ends with an error when a request had two.
 */

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    lanes: { type: 'string', default: '16' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const [runs, lanes, seed] = [Number(values.runs), Number(values.lanes), Number(values.seed)];
const bundles = await accountBundles();
let shown = Date.now();
const { counts, violations, seconds } = await runHistories({
  bundles,
  runs,
  lanes,
  seed,
  progress: ({ histories, requests, kills, faults, accounts }, failed) => {
    if (Date.now() - shown < 10_000) return;
    shown = Date.now();
    const done = `${histories + failed} of ${runs} histories, ${failed} violations`;
    process.stdout.write(`${done}: ${requests} requests, ${kills} kills, ${faults} faults, ${accounts} accounts\n`);
  },
});
await bundles.close();

for (const { history, message } of violations) process.stdout.write(`\nVIOLATION ${message}\n${history}\n`);
const { histories, requests, kills, faults, accounts, passwords, answers } = counts;
process.stdout.write(`
seed         ${seed}
histories    ${histories + violations.length}
requests     ${requests}
kills        ${kills}
faults       ${faults}
accounts     ${accounts}
passwords    ${passwords} searched for
seconds      ${seconds.toFixed(0)}
violations   ${violations.length}
answers
`);
for (const [word, count] of Object.entries(answers).toSorted((a, b) => b[1] - a[1])) {
  process.stdout.write(`  ${String(count).padStart(7)}  ${word}\n`);
}
process.exitCode = violations.length === 0 ? 0 : 1;
