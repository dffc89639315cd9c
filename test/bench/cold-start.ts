import { FUNCTIONS, type FunctionName } from '../../infra/routes.ts';
import { eventFor } from './events.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure, figure } from './figures.ts';
import type { FirstAnswer } from './runner.ts';
import { BARE, type HandlerName, theStage } from './stage.ts';

const REPETITIONS = 30;
const MOST = 1.15;

export const coldStart: Benchmark = {
  name: 'cold-start',
  about:
    'A fresh process of Node 24 loads a bundle and answers its first request, with the environment of a deployment and the ' +
    'local services behind it; from the start of the process to the answer. "bare SDK" is bundled the same way, has the ' +
    'same AWS clients, loaded at the same moments, sends the same calls (the password hash and the trading protocol with ' +
    'them), one after the other where one needs the other, and does nothing else; "empty" answers at once. Processor time ' +
    'is that of all threads, which other work on the machine changes less.',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const name of FUNCTIONS) figures.push(...(await ofFunction(name, quick ? 3 : REPETITIONS, progress)));
  return figures;
}

async function ofFunction(
  name: FunctionName,
  repetitions: number,
  progress: BenchmarkRun['progress'],
): Promise<Figure[]> {
  const samples: Record<'ours' | 'bare' | 'empty', FirstAnswer[]> = { ours: [], bare: [], empty: [] };
  const handlers: Record<keyof typeof samples, HandlerName> = { ours: name, bare: BARE[name], empty: 'empty' };
  const order = Object.keys(samples) as (keyof typeof samples)[];
  // The first round fills the file cache and is not counted.
  for (let round = 0; round <= repetitions; round += 1) {
    progress(`${name} ${round}/${repetitions}`);
    // Each in turn is the first of a round.
    for (const which of [...order.slice(round % 3), ...order.slice(0, round % 3)]) {
      const first = await answerOnce(handlers[which], name);
      if (round > 0) samples[which].push(first);
    }
  }
  const { ours, bare, empty } = samples;
  const pick = (from: FirstAnswer[], member: 'answeredMs' | 'loadedMs' | 'loadedProcessorMs' | 'processorMs') =>
    from.map((one) => one[member]);
  const aim = { of: 'ratio', most: MOST } as const;
  return [
    comparison(`${name}: to the answer`, 'ms', pick(ours, 'answeredMs'), 'bare SDK', pick(bare, 'answeredMs'), aim),
    comparison(`${name}: to the answer`, 'ms', pick(ours, 'answeredMs'), 'empty', pick(empty, 'answeredMs')),
    comparison(`${name}: until loaded`, 'ms', pick(ours, 'loadedMs'), 'bare SDK', pick(bare, 'loadedMs')),
    comparison(
      `${name}: processor time until loaded`,
      'ms',
      pick(ours, 'loadedProcessorMs'),
      'bare SDK',
      pick(bare, 'loadedProcessorMs'),
    ),
    comparison(`${name}: processor time`, 'ms', pick(ours, 'processorMs'), 'bare SDK', pick(bare, 'processorMs')),
    figure(
      `${name}: beyond the bare SDK`,
      'ms',
      ours.map(({ answeredMs }, index) => answeredMs - (bare[index]?.answeredMs ?? Number.NaN)),
    ),
  ];
}

async function answerOnce(handler: HandlerName, name: FunctionName): Promise<FirstAnswer> {
  const environment = await (await theStage()).start(handler, eventFor(name));
  await environment.end();
  const { first } = environment;
  if (first.status !== 204 && first.status !== 200) throw new Error(`${handler} answered ${first.status}.`);
  return first;
}
