import { eventFor } from '../support/gateway-events.ts';
import { announce, compare, quantile, runs } from './figures.ts';
import { type HandlerName, type MeasuredFunction, openStage } from './stage.ts';

/** The calls whose time counts: those right after the cold start, and those after thousands of calls. */
const AGES = [
  { what: 'calls 21 to 220', before: 20, counted: 200 },
  { what: 'calls 3,000 to 4,000', before: 2_780, counted: 1_000 },
];

announce(
  'warm',
  'The time of our rules in a call: the route alone, with the log and without the use case. ' +
    'The base is a route of Fastify that checks the same body with Ajv, answers, and does nothing else.',
);
const stage = await openStage();
for (const name of ['request-registration', 'create-tp5-account'] as const) {
  const [ours, base]: number[][][] = [[], []];
  for (let run = 0; run < runs(7); run += 1) {
    ours?.push(await medianTimes('rules', name));
    base?.push(await medianTimes('routed', name));
  }
  for (const [age, { what }] of AGES.entries()) {
    const [own = [], routed = []] = [ours, base].map((all) => all?.map((medians) => medians[age] ?? Number.NaN));
    compare(`${name}, ${what}`, 'ms', own, routed, 1);
  }
}
process.exit();

/** The median time of early and of late calls, in one fresh process. */
async function medianTimes(handler: HandlerName, name: MeasuredFunction): Promise<number[]> {
  const events = (count: number) => Array.from({ length: count }, () => eventFor(name));
  const environment = await stage.start(handler, eventFor(name));
  const medians: number[] = [];
  for (const { before, counted } of AGES) {
    await environment.call(events(before));
    const { ms, statuses } = await environment.call(events(counted));
    if (statuses.some((status) => status >= 300)) throw new Error(`${handler} refused a request.`);
    medians.push(quantile(ms, 0.5));
  }
  environment.end();
  return medians;
}
