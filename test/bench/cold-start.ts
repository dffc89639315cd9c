import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certificate } from '../../infra/local/platforms/web-api-server.ts';
import { eventFor } from '../support/gateway-events.ts';
import { platformsFarAway, servicesFarAway } from './far-away.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure } from './figures.ts';
import type { FirstAnswer } from './runner.ts';
import { BARE, type HandlerName, MEASURED, type MeasuredFunction, openStage } from './stage.ts';

const REPETITIONS = 15;

const BARE_SDK =
  '"bare SDK" has the same AWS clients, at the start those that every request needs, sends the same calls (the password hash and the ' +
  'trading protocol with them), one after the other where one needs the other, does nothing else, and is bundled as CDK does.';

export const coldStart: Benchmark = {
  name: 'cold-start',
  about:
    'A fresh process of Node 24 loads a bundle and answers its first request, with the environment of a deployment and the ' +
    `local services; from the start of the process to the answer. ${BARE_SDK} Processor time is that of all threads, which ` +
    'other work on the machine changes less. Memory is resident memory after that answer.',
  run: (run) => measure(run, {}, 1),
};

/** Typical round trips within a region, and to a trading server in another one; in milliseconds. */
const ROUND_TRIPS_MS = { DYNAMODB: 3, SECRETS_MANAGER: 10, SES: 10, EVENTBRIDGE: 10 } as const;
const TO_PLATFORM_MS = 20;

export const coldStartFarAway: Benchmark = {
  name: 'cold-start-far-away',
  about:
    `The same with modeled networks: TLS and a round trip of ${ROUND_TRIPS_MS.DYNAMODB} ms to DynamoDB, ` +
    `${ROUND_TRIPS_MS.SECRETS_MANAGER} ms to Secrets Manager, SES and EventBridge, ${TO_PLATFORM_MS} ms to the trading server. ${BARE_SDK}`,
  run: measureFarAway,
};

async function measureFarAway(run: BenchmarkRun): Promise<Figure[]> {
  const stage = await openStage();
  const own = await certificate();
  const folder = await mkdtemp(join(tmpdir(), 'bench-authority-'));
  const authority = join(folder, 'authority.pem');
  await writeFile(authority, own.cert);
  const services = await servicesFarAway(stage, ROUND_TRIPS_MS, own);
  const restore = await platformsFarAway(stage, TO_PLATFORM_MS);
  try {
    return await measure(run, { ...services.environment, NODE_EXTRA_CA_CERTS: authority }, 0.8);
  } finally {
    await restore();
    await services.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param most the aim: the time to the answer, relative to the bare SDK */
async function measure(
  { quick, progress }: BenchmarkRun,
  environment: Record<string, string>,
  most: number,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const name of MEASURED) {
    const ours: FirstAnswer[] = [];
    const bare: FirstAnswer[] = [];
    const repetitions = quick ? 3 : REPETITIONS;
    // The first round fills the file cache and is not counted.
    for (let round = 0; round <= repetitions; round += 1) {
      progress(`${name} ${round}/${repetitions}`);
      const turns = [
        { handler: name, into: ours },
        { handler: BARE[name], into: bare },
      ];
      // Each is the first of a round in turn.
      for (const { handler, into } of round % 2 === 0 ? turns : turns.toReversed()) {
        const first = await answerOnce(handler, name, environment);
        if (round > 0) into.push(first);
      }
    }
    figures.push(...toFigures(name, ours, bare, most));
  }
  return figures;
}

function toFigures(name: MeasuredFunction, ours: FirstAnswer[], bare: FirstAnswer[], most: number): Figure[] {
  const compare = (what: string, unit: Figure['unit'], of: (one: FirstAnswer) => number, aim?: Figure['aim']) =>
    comparison(`${name}: ${what}`, unit, ours.map(of), 'bare SDK', bare.map(of), aim);
  return [
    compare('to the answer', 'ms', ({ answeredMs }) => answeredMs, { of: 'ratio', most }),
    compare('until loaded', 'ms', ({ loadedMs }) => loadedMs),
    compare('processor time', 'ms', ({ processorMs }) => processorMs),
    compare('memory', 'MB', ({ rss }) => rss / 1e6, { of: 'ratio', most: 1 }),
  ];
}

async function answerOnce(
  handler: HandlerName,
  name: MeasuredFunction,
  environment: Record<string, string>,
): Promise<FirstAnswer> {
  const process = await (await openStage()).start(handler, eventFor(name), environment);
  await process.end();
  const { first } = process;
  if (first.status !== 204 && first.status !== 200) throw new Error(`${handler} answered ${first.status}.`);
  return first;
}
