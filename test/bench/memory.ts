import { FUNCTIONS } from '../../infra/routes.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure } from './figures.ts';
import { CALLS, sustained } from './sustained.ts';

export const memory: Benchmark = {
  name: 'memory',
  about:
    `Resident memory of a process that runs one bundled function, after its first call and after ${CALLS}, beside the bare ` +
    'SDK handler and the empty one; Node itself is in all of them. In Lambda it is what "Max Memory Used" shows.',
  run,
};

async function run(run: BenchmarkRun): Promise<Figure[]> {
  const pairs = await sustained(run);
  const megabytes = (bytes: number) => bytes / 1e6;
  return FUNCTIONS.flatMap((name) => {
    const { ours, bare, empty } = pairs[name];
    const first = (runs: typeof ours) => runs.map((one) => megabytes(one.first.rss));
    const last = (runs: typeof ours) => runs.map((one) => megabytes(one.last.rss));
    return [
      comparison(`${name}: after 1 call`, 'MB', first(ours), 'bare SDK', first(bare), { of: 'ratio', most: 1 }),
      comparison(`${name}: after 1 call`, 'MB', first(ours), 'empty', first(empty)),
      comparison(`${name}: after ${CALLS} calls`, 'MB', last(ours), 'bare SDK', last(bare)),
    ];
  });
}
