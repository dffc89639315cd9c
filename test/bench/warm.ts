import { eventFor } from '../support/gateway-events.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure, quantile } from './figures.ts';
import { type HandlerName, type MeasuredFunction, openStage } from './stage.ts';

const REPETITIONS = 7;
const MAX_RATIO = 1;

/** The calls whose time counts: those right after the cold start, and those after thousands of calls. */
const AGES = [
  { what: 'calls 21 to 220', before: 20, counted: 200 },
  { what: 'calls 3,000 to 4,000', before: 2_780, counted: 1_000 },
];

const SUBJECTS = [
  { what: 'registration, its rules', handler: 'rules-registration', name: 'request-registration', most: MAX_RATIO },
  { what: 'tp5 account, its rules', handler: 'rules-account', name: 'create-tp5-account', most: MAX_RATIO },
  { what: 'registration', handler: 'instant-registration', name: 'request-registration' },
  { what: 'tp5 account', handler: 'instant-account', name: 'create-tp5-account' },
] as const satisfies { what: string; handler: HandlerName; name: MeasuredFunction; most?: number }[];

export const warm: Benchmark = {
  name: 'warm',
  about:
    'Our own time per call. Its rules: the route alone, with the log and without the use case, which has the aim. Else the whole chain (JSON, rules, limits, operation, use case, code, mail, log and metrics) in a process ' +
    'of its own, with tables, secrets, mail service and trading server that answer at once, and no password hash. ' +
    'Compared with a route of Fastify that checks the same body with Ajv, answers, and does nothing else.',
  run,
};

async function run(benchmark: BenchmarkRun): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const subject of SUBJECTS) figures.push(...(await withoutWire(subject, benchmark)));
  return figures;
}

async function withoutWire(
  { what, handler, name, ...rest }: (typeof SUBJECTS)[number],
  { quick, progress }: BenchmarkRun,
): Promise<Figure[]> {
  const ours: number[][] = AGES.map(() => []);
  const base: number[][] = AGES.map(() => []);
  const repetitions = quick ? 2 : REPETITIONS;
  for (let round = 1; round <= repetitions; round += 1) {
    progress(`${what} ${round}/${repetitions}`);
    for (const [subject, into] of [
      [handler, ours],
      ['routed', base],
    ] as const) {
      const medians = await timesOf(subject, name);
      for (const [age, median] of medians.entries()) into[age]?.push(median);
    }
  }
  return AGES.flatMap(({ what: age }, index) => {
    const aim = 'most' in rest ? ({ of: 'ratio', most: rest.most } as const) : undefined;
    return [comparison(`${what}, ${age}`, 'ms', ours[index] ?? [], 'router and schema', base[index] ?? [], aim)];
  });
}

/** The median time of early and of late calls, in one fresh process. */
async function timesOf(handler: HandlerName, name: MeasuredFunction): Promise<number[]> {
  const events = (count: number) => Array.from({ length: count }, () => eventFor(name));
  const environment = await (await openStage()).start(handler, eventFor(name));
  const medians: number[] = [];
  for (const { before, counted } of AGES) {
    await environment.call(events(before));
    const { ms, statuses } = await environment.call(events(counted));
    const bad = statuses.find((status) => status !== 200 && status !== 204);
    if (bad !== undefined) throw new Error(`${handler} answered ${bad}.`);
    medians.push(quantile(ms, 0.5));
  }
  await environment.end();
  return medians;
}
