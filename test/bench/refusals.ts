import { eventFor } from './events.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure, quantile } from './figures.ts';
import { hostileBodies } from './hostile-bodies.ts';
import { type Environment, theStage } from './stage.ts';

const REPETITIONS = 3;
const MOST_TIMES = 10;

export const refusals: Benchmark = {
  name: 'refusals',
  about:
    'What a hostile body costs, from the event to the refusal, less what the refusal of an empty object costs in the same ' +
    'process; beside JSON.parse of the same text in a process of its own. Tables and secrets answer at once, and an ' +
    'Idempotency-Key makes the body count.',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  const stage = await theStage();
  const ours = await stage.start('instant-registration', eventFor('request-registration'));
  const base = await stage.start('parse', eventFor('request-registration'));
  await timeOf(ours, '{}', 200);
  const least = await timeOf(ours, '{}', 100);
  const figures: Figure[] = [];
  for (const { what, text } of hostileBodies()) {
    progress(what);
    const refusing: number[] = [];
    const parsing: number[] = [];
    for (let round = quick ? 0 : -1; round < (quick ? 1 : REPETITIONS); round += 1) {
      const [refused, parsed] = [(await timeOf(ours, text)) - least, await timeOf(base, text)];
      // The first round is for the compiler.
      if (round < 0) continue;
      refusing.push(refused);
      parsing.push(parsed);
    }
    figures.push(comparison(what, 'ms', refusing, 'JSON.parse', parsing, { of: 'ratio', most: MOST_TIMES }));
  }
  await Promise.all([ours.end(), base.end()]);
  return figures;
}

/** The median time of a call with this body, in milliseconds. */
async function timeOf(environment: Environment, body: string, calls = 1): Promise<number> {
  const events = Array.from({ length: calls }, (_, call) => ({
    ...eventFor('request-registration', { idempotencyKey: `key-${call}` }),
    body,
  }));
  const { ms } = await environment.call(events);
  return quantile(ms, 0.5);
}
