import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Benchmark, type BenchmarkRun, type Figure, figure } from './figures.ts';
import type { Difference, Privacy } from './privacy-process.ts';

const USUAL_PAIRS = 20;

export const privacy: Benchmark = {
  name: 'privacy',
  about:
    `The time of a registration with a client's address beside that with a stranger's, in ${USUAL_PAIRS} pairs unless --pairs says ` +
    'otherwise, over HTTP, with a captcha and behind a proxy, with the password hash and without it; and of refused ' +
    'confirmations beside that of a wrong code for a stranger\'s address. "Slower" is the share of pairs in which the first takes ' +
    'longer: 50 % reveals nothing. 20 pairs show a difference of a fifth.',
  run,
};

async function run({ pairs = USUAL_PAIRS }: BenchmarkRun): Promise<Figure[]> {
  const { registrations, confirmations, answers, calls } = await measured(pairs);
  return [
    ...registrations.flatMap(figuresOf),
    figure('confirming: answers, by their bytes', 'kinds', [answers], { of: 'ours', most: 1 }),
    figure('confirming: database calls, in their order', 'kinds', [calls], { of: 'ours', most: 1 }),
    ...confirmations.flatMap(figuresOf),
  ];
}

/** In a process of its own: it needs another local service than the other benchmarks. */
async function measured(pairs: number): Promise<Privacy> {
  const script = fileURLToPath(new URL('privacy-process.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, String(pairs)], { maxBuffer: 10_000_000 });
  return JSON.parse(stdout) as Privacy;
}

function figuresOf({ what, ours, base, of, share, pairs }: Difference): Figure[] {
  const only = (value: number) => ({ median: value, low: value, high: value, runs: pairs });
  return [
    { what, unit: 'ms', ours: only(ours), base: { of, ...only(base) }, ratio: only(ours / base) },
    { what: `${what}: slower`, unit: '%', ours: only(share * 100) },
  ];
}
