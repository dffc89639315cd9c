import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certificate } from '../../infra/local/platforms/certificate.ts';
import { FUNCTIONS, type FunctionName } from '../../infra/routes.ts';
import { eventFor } from './events.ts';
import { farAway } from './far-away.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure, figure } from './figures.ts';
import { standBefore } from './platforms.ts';
import type { FirstAnswer } from './runner.ts';
import { BARE, type HandlerName, theStage } from './stage.ts';

const REPETITIONS = 15;

const BARE_SDK =
  '"bare SDK" has the same AWS clients, at the start those that every request needs, sends the same calls (the password hash and the ' +
  'trading protocol with them), one after the other where one needs the other, does nothing else, and is bundled as CDK does.';

export const coldStart: Benchmark = {
  name: 'cold-start',
  about:
    'A fresh process of Node 24 loads a bundle and answers its first request, with the environment of a deployment and the ' +
    `local services behind it; from the start of the process to the answer. ${BARE_SDK} "bare, our way" is the same bundled as the functions are. "empty" answers at once. Processor ` +
    'time is that of all threads, which other work on the machine changes less.',
  run: (run) => ofAll(run, {}, ['ours', 'bare', 'ourWay', 'empty'], 1),
};

/** Round trips as they are within a region, and to a trading server in another one; in milliseconds. */
const ROUND_TRIPS_MS = { DYNAMODB: 3, SECRETS_MANAGER: 10, SES: 10, EVENTBRIDGE: 10 } as const;
const TO_PLATFORM_MS = 20;

export const coldStartFarAway: Benchmark = {
  name: 'cold-start-far-away',
  about:
    `The same with modelled networks: TLS and a round trip of ${ROUND_TRIPS_MS.DYNAMODB} ms to DynamoDB, ` +
    `${ROUND_TRIPS_MS.SECRETS_MANAGER} ms to Secrets Manager, SES and EventBridge, ${TO_PLATFORM_MS} ms to the trading server. ${BARE_SDK}`,
  run: runFarAway,
};

async function runFarAway(run: BenchmarkRun): Promise<Figure[]> {
  const stage = await theStage();
  const own = await certificate();
  const folder = await mkdtemp(join(tmpdir(), 'bench-authority-'));
  const authority = join(folder, 'authority.pem');
  await writeFile(authority, own.cert);
  const services = await Promise.all(
    Object.entries(ROUND_TRIPS_MS).map(async ([name, ms]) => {
      const variable = `AWS_ENDPOINT_URL_${name}`;
      const { port } = new URL(stage.service.environment[variable] ?? '');
      return { variable, place: await farAway(Number(port), ms, own) };
    }),
  );
  const platforms = await standBefore(stage, (port) => farAway(port, TO_PLATFORM_MS));
  const endpoints = services.map(({ variable, place }) => [variable, `https://localhost:${place.port}`]);
  try {
    const environment = { ...Object.fromEntries(endpoints), NODE_EXTRA_CA_CERTS: authority };
    return await ofAll(run, environment, ['ours', 'bare'], 0.8);
  } finally {
    await Promise.all([...platforms.values()].map(({ restore }) => restore()));
    await Promise.all(services.map(({ place }) => place.close()));
    await rm(folder, { recursive: true, force: true });
  }
}

type Which = 'ours' | 'bare' | 'ourWay' | 'empty';

async function ofAll(
  { quick, progress }: BenchmarkRun,
  environment: Record<string, string>,
  order: readonly Which[],
  most: number,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const name of FUNCTIONS) {
    const samples: Record<Which, FirstAnswer[]> = { ours: [], bare: [], ourWay: [], empty: [] };
    const bare = BARE[name];
    const handlers: Record<Which, HandlerName> = { ours: name, bare, ourWay: `${bare}-our-way`, empty: 'empty' };
    const repetitions = quick ? 3 : REPETITIONS;
    // The first round fills the file cache and is not counted.
    for (let round = 0; round <= repetitions; round += 1) {
      progress(`${name} ${round}/${repetitions}`);
      // Each in turn is the first of a round.
      const shift = round % order.length;
      for (const which of [...order.slice(shift), ...order.slice(0, shift)]) {
        const first = await answerOnce(handlers[which], name, environment);
        if (round > 0) samples[which].push(first);
      }
    }
    figures.push(...toFigures(name, samples, most));
  }
  return figures;
}

function toFigures(name: FunctionName, samples: Record<Which, FirstAnswer[]>, most: number): Figure[] {
  const { ours, bare, ourWay, empty } = samples;
  const beside =
    (base: FirstAnswer[], called: string) =>
    (what: string, member: Exclude<keyof FirstAnswer, 'status'>, aim?: Figure['aim']) =>
      comparison(
        `${name}: ${what}`,
        'ms',
        ours.map((one) => one[member]),
        called,
        base.map((one) => one[member]),
        aim,
      );
  const compare = beside(bare, 'bare SDK');
  const compareOurWay = beside(ourWay, 'bare, our way');
  const answers = ours.map(({ answeredMs }) => answeredMs);
  const beyond = answers.map((answeredMs, index) => answeredMs - (bare[index]?.answeredMs ?? Number.NaN));
  return [
    compare('to the answer', 'answeredMs', { of: 'ratio', most }),
    ...(empty.length === 0
      ? []
      : [
          comparison(
            `${name}: to the answer`,
            'ms',
            answers,
            'empty',
            empty.map(({ answeredMs }) => answeredMs),
          ),
        ]),
    compare('until loaded', 'loadedMs'),
    compare('processor time until loaded', 'loadedProcessorMs'),
    compare('processor time', 'processorMs'),
    ...(ourWay.length === 0
      ? []
      : [compareOurWay('to the answer', 'answeredMs'), compareOurWay('processor time', 'processorMs')]),
    figure(`${name}: beyond the bare SDK`, 'ms', beyond),
  ];
}

async function answerOnce(
  handler: HandlerName,
  name: FunctionName,
  environment: Record<string, string>,
): Promise<FirstAnswer> {
  const process = await (await theStage()).start(handler, eventFor(name), environment);
  await process.end();
  const { first } = process;
  if (first.status !== 204 && first.status !== 200) throw new Error(`${handler} answered ${first.status}.`);
  return first;
}
