import { FUNCTIONS, type FunctionName } from '../../infra/routes.ts';
import { eventFor, mayBeFloodGuard } from './events.ts';
import type { BenchmarkRun } from './figures.ts';
import type { FirstAnswer, LaterAnswers } from './runner.ts';
import { BARE, type HandlerName, theStage } from './stage.ts';

const REPETITIONS = 3;
/** The last of the calls whose memory is looked at. */
export const CALLS = 70;
/** So many calls are not counted in the time: they warm the function up. */
const WARMING = 20;

/** What one process did that answered `CALLS` requests, with everything that they take. */
export interface Sustained {
  first: FirstAnswer;
  last: LaterAnswers;
  /** Processor time of one call once the function is warm, in milliseconds. */
  processorMs: number;
}
export type Pairs = Record<FunctionName, { ours: Sustained[]; bare: Sustained[]; empty: Sustained[] }>;

let measured: Promise<Pairs> | undefined;

/** Each function and its bare counterpart in turn, over the wire to the local services. Two benchmarks share these runs. */
export function sustained(run: BenchmarkRun): Promise<Pairs> {
  measured ??= measure(run);
  return measured;
}

async function measure({ quick, progress }: BenchmarkRun): Promise<Pairs> {
  const pairs = {} as Pairs;
  for (const name of FUNCTIONS) {
    const runs: Pairs[FunctionName] = { ours: [], bare: [], empty: [] };
    const handlers = { ours: name, bare: BARE[name], empty: 'empty' } as const;
    const repetitions = quick ? 1 : REPETITIONS;
    for (let round = 1; round <= repetitions; round += 1) {
      for (const which of ['ours', 'bare', 'empty'] as const) {
        progress(`${name} ${which} ${round}/${repetitions}`);
        runs[which].push(await answerMany(handlers[which], name));
      }
    }
    pairs[name] = runs;
  }
  return pairs;
}

async function answerMany(handler: HandlerName, name: FunctionName): Promise<Sustained> {
  const events = (count: number) => Array.from({ length: count }, () => eventFor(name));
  const environment = await (await theStage()).start(handler, eventFor(name));
  await environment.call(events(WARMING - 1));
  const last = await environment.call(events(CALLS - WARMING));
  await environment.end();
  const bad = last.statuses.filter((status) => status !== 200 && status !== 204);
  if (bad.length > 0 && !mayBeFloodGuard(bad)) throw new Error(`${handler} answered ${bad.join(', ')}.`);
  return { first: environment.first, last, processorMs: last.processorMs / (CALLS - WARMING) };
}
