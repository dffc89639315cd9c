import { randomUUID } from 'node:crypto';
import type { FunctionName } from '../../infra/routes.ts';
import { eventFor } from './events.ts';
import { type Benchmark, type BenchmarkRun, type Figure, figure } from './figures.ts';
import { type CONNECTIONS, standBefore } from './platforms.ts';
import { type Call, depth, type PlatformRecorder, recordHttp, recordTcp } from './recorder.ts';
import { type Environment, theStage } from './stage.ts';

const REPETITIONS = 3;
/** How long each call to AWS is held up, in milliseconds: longer than what is sent side by side may be apart. */
const HOLD_MS = 60;
const MAX_BEFORE = 3;

const AWS = ['DYNAMODB', 'SECRETS_MANAGER', 'SES', 'SNS', 'S3'] as const;

interface Case {
  what: string;
  name: FunctionName;
  /** The fields that differ from the usual request. */
  body?(): Record<string, unknown>;
  keyed?: boolean;
  /** Only once: of one address only one message in a while is let through. */
  once?: boolean;
  /** Until when calls count: the service that sends the message, or the trading server. */
  until: (typeof AWS)[number] | (typeof CONNECTIONS)[number];
}

const CASES: Case[] = [
  { what: 'registration by e-mail', name: 'request-registration', until: 'SES' },
  {
    what: 'registration of a client’s address',
    name: 'request-registration',
    until: 'SES',
    body: () => ({ email: 'ann@example.com' }),
    once: true,
  },
  { what: 'registration with an Idempotency-Key', name: 'request-registration', until: 'SES', keyed: true },
  { what: 'registration by SMS', name: 'request-registration', until: 'SNS', body: byText },
  { what: 'registration with a document', name: 'request-registration', until: 'SES', body: withDocument },
  { what: 'tp5 account', name: 'create-tp5-account', until: 'tp5-live-1', keyed: true },
  { what: 'tp4 account', name: 'create-tp4-account', until: 'tp4-live-1', keyed: true },
];

let phones = 0;
/** Numbers of other prefixes, because few messages are let through to one. */
function byText() {
  phones += 1;
  return { otp_type: 'sms', phone: { country_code: '44', number: `7400 ${10 + phones}3457` } };
}

function withDocument() {
  const doc = Buffer.from('%PDF-1.7\n%âãÏÓ\n').toString('base64');
  return { d0cUpl: [{ id: '1', name: 'passport.pdf', doc }] };
}

export const roundTrips: Benchmark = {
  name: 'round-trips',
  about:
    'Calls of one request to a warm function, as a recorder between the bundled function and the local services sees them. ' +
    'Every call to AWS is held up there, so that what was sent side by side overlaps: "one after the other" is the longest row of ' +
    'database calls of which each began when the one before had ended, up to the moment at which the message is handed ' +
    'over or the trading server is called.',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  const stage = await theStage();
  const services = await Promise.all(
    AWS.map((name) => recordHttp(name, stage.service.environment[`AWS_ENDPOINT_URL_${name}`] ?? '', HOLD_MS)),
  );
  const platforms = await standBefore(stage, recordTcp);
  const endpoints = Object.fromEntries(services.map(({ url }, index) => [`AWS_ENDPOINT_URL_${AWS[index]}`, url]));
  const environments = new Map<FunctionName, Environment>();

  async function observe({ what, name, body, keyed, until }: Case): Promise<Observed> {
    const environment = environments.get(name) ?? (await stage.start(name, eventFor(name), endpoints));
    environments.set(name, environment);
    for (const { calls } of services) calls.length = 0;
    for (const { place } of platforms.values()) place.reset();
    const event = eventFor(name, { body: body?.() ?? {}, ...(keyed && { idempotencyKey: randomUUID() }) });
    const { statuses } = await environment.call([event]);
    if ((statuses[0] ?? 500) >= 300) throw new Error(`${what} was answered with ${statuses[0]}.`);
    return toObserved(
      services.flatMap(({ calls }) => calls),
      platforms.get(until)?.place,
      until,
    );
  }

  try {
    const figures: Figure[] = [];
    for (const one of CASES) {
      // The first one opens the channel or the trading session.
      if (one.once !== true) await observe(one);
      const all: Observed[] = [];
      const repetitions = one.once === true ? 1 : quick ? 2 : REPETITIONS;
      for (let round = 1; round <= repetitions; round += 1) {
        progress(`${one.what} ${round}/${repetitions}`);
        all.push(await observe(one));
      }
      figures.push(...toFigures(one, all));
    }
    return figures;
  } finally {
    for (const environment of environments.values()) await environment.end();
    await Promise.all([...platforms.values()].map(({ restore }) => restore()));
    await Promise.all(services.map((one) => one.close()));
  }
}

interface Observed {
  database: number;
  before: number;
  turns: number | undefined;
  connections: number | undefined;
}

function toObserved(calls: Call[], platform: PlatformRecorder | undefined, until: string): Observed {
  const database = calls.filter(({ service }) => service === 'DYNAMODB');
  const handedOverAt =
    platform === undefined ? calls.find(({ service }) => service === until)?.startedAt : platform.turns.at(-1);
  return {
    database: database.length,
    before: depth(database.filter(({ endedAt }) => endedAt <= (handedOverAt ?? 0))),
    turns: platform?.turns.length,
    connections: platform?.connections,
  };
}

function toFigures({ what, until }: Case, all: Observed[]): Figure[] {
  const figures = [
    figure(
      `${what}: database calls`,
      'calls',
      all.map(({ database }) => database),
    ),
    figure(
      `${what}: one after the other until ${/^tp/.test(until) ? 'the platform is called' : 'the message is sent'}`,
      'calls',
      all.map(({ before }) => before),
      { of: 'ours', most: MAX_BEFORE },
    ),
  ];
  const turns = all.flatMap((one) => one.turns ?? []);
  if (turns.length > 0) {
    figures.push(figure(`${what}: round trips to the trading server`, 'calls', turns, { of: 'ours', most: 1 }));
    figures.push(
      figure(
        `${what}: connections made to it`,
        'calls',
        all.flatMap((one) => one.connections ?? []),
      ),
    );
  }
  return figures;
}
