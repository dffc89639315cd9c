import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { FRONT_SETTINGS, frontHeaders } from '../support/front.ts';
import { type RegistrationWorld, registrationOf, registrationWorld } from '../support/registration-world.ts';
import { type Benchmark, type BenchmarkRun, type Figure, quantile } from './figures.ts';

const USUAL_PAIRS = 20;

export const privacy: Benchmark = {
  name: 'privacy',
  about:
    `The time of a registration with a client's address next to that with a stranger's, in ${USUAL_PAIRS} pairs unless --pairs says ` +
    'otherwise, over HTTP, with a captcha and a proxy. Passwords have a cheap hash: the time of a real one would hide the ' +
    'rest. "Slower" is the share of pairs in which the first takes longer: 50 % reveals nothing. 20 pairs show a difference ' +
    'of a fifth.',
  run,
};

/** In a process of its own: it needs another local service than the other benchmarks. */
async function run({ pairs = USUAL_PAIRS }: BenchmarkRun): Promise<Figure[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, String(pairs)]);
  return JSON.parse(stdout) as Figure[];
}

/** Requests of each kind that warm the function up and are not counted. */
const WARM_UP = 5;

const KINDS = ['client', 'stranger'] as const;

/** The times of registrations by clients and by strangers, in milliseconds. */
async function timesOf(world: RegistrationWorld, channel: Channel, pairs: number) {
  const times = { client: [] as number[], stranger: [] as number[] };
  for (let pair = -WARM_UP; pair < pairs; pair += 1) {
    if (pair % 10 === 0) await world.forgetLimits();
    for (const kind of randomInt(2) === 0 ? KINDS : KINDS.toReversed()) {
      const body = registrationOf(world[kind](), { otp_type: channel });
      const headers = frontHeaders(world.service);
      const startedAt = performance.now();
      const { status } = await world.post(body, headers);
      const took = performance.now() - startedAt;
      if (status !== 204) throw new Error(`A ${kind} was answered with ${status}.`);
      if (pair >= 0) times[kind].push(took);
    }
  }
  return times;
}
/** How well the times of the two can be distinguished. */
function difference(what: string, ours: readonly number[], theirs: readonly number[]): Figure[] {
  const slower = ours.map((time) => theirs.filter((other) => other < time).length / theirs.length);
  const share = slower.reduce((sum, one) => sum + one, 0) / ours.length;
  const only = (value: number) => ({ median: value, low: value, high: value, runs: ours.length });
  const [mine, base] = [quantile(ours, 0.5), quantile(theirs, 0.5)];
  return [
    { what, unit: 'ms', ours: only(mine), base: { of: 'a stranger', ...only(base) }, ratio: only(mine / base) },
    { what: `${what}: slower`, unit: '%', ours: only(share * 100) },
  ];
}

async function measure(pairs: number): Promise<Figure[]> {
  const clients = (pairs + WARM_UP) * OTP_TYPES.length;
  const world = await registrationWorld({ clients, settings: FRONT_SETTINGS });
  const figures: Figure[] = [];
  try {
    for (const channel of OTP_TYPES) {
      const { client, stranger } = await timesOf(world, channel, pairs);
      figures.push(...difference(`registering by ${channel}`, client, stranger));
    }
  } finally {
    await world.close();
  }
  return figures;
}

if (import.meta.main) process.stdout.write(JSON.stringify(await measure(Number(process.argv[2]))));
