import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { endWithReader, READER_GONE } from '../../infra/closed-output.ts';

/** `npm run bench`: the cost of the service, as ratios to something else that is measured in the same run. */

const BENCHMARKS = ['cold-start', 'refusals'];

const USAGE = `npm run bench -- [--only <name>]… [--runs <number>]
  --only   ${BENCHMARKS.join(', ')}
  --runs   how often each thing is measured: 2 show that it works, and prove nothing
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean' },
    only: { type: 'string', multiple: true, default: BENCHMARKS },
    runs: { type: 'string' },
  },
});
const unknown = values.only.filter((name) => !BENCHMARKS.includes(name));
if (values.help || unknown.length > 0) {
  process.stdout.write(`${unknown.map((name) => `There is no benchmark ${name}.\n`).join('')}${USAGE}`);
  process.exit(unknown.length);
}
endWithReader();
process.stdout.write('Medians of ours and of the base, and their ratio with its quartiles.\n');
// Each in a process of its own: only one local service runs in a process.
for (const name of values.only) {
  const options = values.runs === undefined ? [] : ['--runs', values.runs];
  const file = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const { status } = spawnSync(process.execPath, [file, ...options], { stdio: 'inherit' });
  if (status === READER_GONE) break;
  process.exitCode ||= status ?? 1;
}
