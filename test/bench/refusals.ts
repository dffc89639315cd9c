import { MAX_VIOLATIONS } from '../../lib/validators/primitives.ts';
import { eventFor, registrationBody } from '../support/gateway-events.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure } from './figures.ts';
import { hostileBodies } from './hostile-bodies.ts';
import { type Environment, openStage } from './stage.ts';

/** A body is sent repeatedly for this long, and at least and at most this many times. */
const MS_FOR_A_BODY = 300;
const LEAST_ROUNDS = 2;
const MAX_ROUNDS = 9;
const MAX_TIMES = 10;
/** A body is sent this many times in a row, so that a measurement takes several milliseconds. */
const CALLS = [
  { below: 50_000, calls: 200 },
  { below: 1_000_000, calls: 20 },
  { below: Number.POSITIVE_INFINITY, calls: 1 },
];
const CALLS_WITH_LEAST = 20;

export const refusals: Benchmark = {
  name: 'refusals',
  about:
    'The processor time of a hostile body, from the event to the refusal, without that of the smallest refusal that lists as ' +
    'many faults. Compared with JSON.parse of the same text in a process of its own; the three take turns. Tables and ' +
    'secrets answer at once, and an Idempotency-Key makes the body count.',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  const stage = await openStage();
  const ours = await stage.start('instant-registration', eventFor('request-registration'));
  const base = await stage.start('parse', eventFor('request-registration'));
  await processorMs(ours, MOST_VIOLATIONS, 500);
  const figures: Figure[] = [];
  for (const { what, text } of hostileBodies()) {
    progress(what);
    const { calls = 1 } = CALLS.find(({ below }) => text.length < below) ?? {};
    const refusing: number[] = [];
    const parsing: number[] = [];
    const endsAt = performance.now() + MS_FOR_A_BODY;
    const isOver = (rounds: number) =>
      quick ? rounds >= 1 : rounds >= MAX_ROUNDS || (rounds >= LEAST_ROUNDS && performance.now() > endsAt);
    // The first round warms up the compiler.
    const first = quick || calls === 1 ? 0 : -1;
    for (let round = first; !isOver(round); round += 1) {
      const least = await processorMs(ours, MOST_VIOLATIONS, quick ? 1 : CALLS_WITH_LEAST);
      const [refused, parsed] = [await processorMs(ours, text, calls), await processorMs(base, text, calls)];
      if (round < 0) continue;
      refusing.push(Math.max(0, refused - least));
      parsing.push(parsed);
    }
    figures.push(comparison(what, 'ms', refusing, 'JSON.parse', parsing, { of: 'ratio', most: MAX_TIMES }));
  }
  await Promise.all([ours.end(), base.end()]);
  return figures;
}

const MOST_VIOLATIONS = JSON.stringify({
  ...registrationBody(1),
  form_id: 'FORMFULL',
  ...Object.fromEntries(Array.from({ length: MAX_VIOLATIONS }, (_, index) => [`k${index}`, 0])),
});

/**
 * The processor time of a call with this body, in milliseconds: load of other processes hardly counts, but other
 * threads of this one do, such as garbage collection.
 */
async function processorMs(environment: Environment, body: string, calls: number): Promise<number> {
  const events = Array.from({ length: calls }, (_, call) => ({
    ...eventFor('request-registration', `key-${call}`),
    body,
  }));
  const later = await environment.call(events);
  return later.processorMs / calls;
}
