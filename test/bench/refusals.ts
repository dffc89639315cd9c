import { MOST_FAULTS } from '../../lib/validators/primitives.ts';
import { eventFor, registrationBody } from './events.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure, quantile } from './figures.ts';
import { hostileBodies } from './hostile-bodies.ts';
import { type Environment, theStage } from './stage.ts';

const REPETITIONS = 3;
const MOST_TIMES = 10;
/** Small bodies are sent more often, so that the code has been compiled and a pause does not count. */
const LARGE_BYTES = 1_000_000;
const CALLS_WITH_SMALL = 30;

export const refusals: Benchmark = {
  name: 'refusals',
  about:
    'What a hostile body costs, from the event to the refusal, less what the smallest refusal costs that lists as many ' +
    'faults as any does; beside JSON.parse of the same text in a process of its own. Tables and secrets answer at once, ' +
    'and an Idempotency-Key makes the body count. Of a body of a few kilobytes the fixed cost of a call is most.',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  const stage = await theStage();
  const ours = await stage.start('instant-registration', eventFor('request-registration'));
  const base = await stage.start('parse', eventFor('request-registration'));
  await timeOf(ours, LISTS_MOST_FAULTS, 500);
  const least = await timeOf(ours, LISTS_MOST_FAULTS, 100);
  const figures: Figure[] = [];
  for (const { what, text } of hostileBodies()) {
    progress(what);
    const calls = text.length > LARGE_BYTES ? 1 : CALLS_WITH_SMALL;
    const refusing: number[] = [];
    const parsing: number[] = [];
    for (let round = quick ? 0 : -1; round < (quick ? 1 : REPETITIONS); round += 1) {
      const [refused, parsed] = [await timeOf(ours, text, calls), await timeOf(base, text, calls)];
      // The first round is for the compiler.
      if (round < 0) continue;
      refusing.push(Math.max(0, refused - least));
      parsing.push(parsed);
    }
    figures.push(comparison(what, 'ms', refusing, 'JSON.parse', parsing, { of: 'ratio', most: MOST_TIMES }));
  }
  await Promise.all([ours.end(), base.end()]);
  return figures;
}

const LISTS_MOST_FAULTS = JSON.stringify({
  ...registrationBody(1),
  form_id: 'FORMFULL',
  ...Object.fromEntries(Array.from({ length: MOST_FAULTS }, (_, index) => [`k${index}`, 0])),
});

/** The median time of a call with this body, in milliseconds. */
async function timeOf(environment: Environment, body: string, calls: number): Promise<number> {
  const events = Array.from({ length: calls }, (_, call) => ({
    ...eventFor('request-registration', { idempotencyKey: `key-${call}` }),
    body,
  }));
  const { ms } = await environment.call(events);
  return quantile(ms, 0.5);
}
