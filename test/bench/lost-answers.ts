import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';
import type { Fault } from '../../infra/local/faults.ts';
import type { SimulatedServer } from '../../infra/local/platforms/simulated-server.ts';
import type { FunctionName } from '../../infra/routes.ts';
import { eventFor } from './events.ts';
import { type Benchmark, type BenchmarkRun, type Figure, figure } from './figures.ts';
import { type Environment, theStage } from './stage.ts';

const REPETITIONS = 5;
const OTHERS = { from: 10_000_000, count: 1_000_000 };
const MAX_MORE = 3;

interface Case {
  what: string;
  name: FunctionName;
  /** Connections with a range of logins. */
  body: { connection_id: string; group: string; account_type_id?: string };
}

const CASES: Case[] = [
  {
    what: 'tp5 account',
    name: 'create-tp5-account',
    body: { connection_id: 'tp5-live-1', group: 'real\\standard' },
  },
  {
    what: 'tp4 account by a gateway',
    name: 'create-tp4-account',
    body: {
      connection_id: 'tp4-gw-1',
      group: 'demoforex',
      account_type_id: DEMO_RECORDS.account_types.find(({ platform }) => platform === 'tp4')?.id ?? '',
    },
  },
];

const LOSSES: { what: string; fault: Fault }[] = [
  { what: 'whose answer was lost', fault: { kind: 'reply_lost', times: 1 } },
  { what: 'that was lost itself', fault: { kind: 'session_dropped', times: 1 } },
];

export const lostAnswers: Benchmark = {
  name: 'lost-answers',
  about:
    `What a lost answer costs on a connection with a range of logins, in a group of ${OTHERS.count.toLocaleString('en')} accounts: commands ` +
    'to the trading server beyond the one that opens the account, and the time of the whole request, answered with 200.',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  const stage = await theStage();
  const figures: Figure[] = [];
  for (const { what, name, body } of CASES) {
    const server = stage.service.platforms.get(body.connection_id);
    if (server === undefined) throw new Error(`There is no trading server ${body.connection_id}.`);
    server.populate({ ...OTHERS, group: body.group });
    const environment = await stage.start(name, eventFor(name, { body }));
    try {
      for (const loss of LOSSES) {
        const all: Observed[] = [];
        const repetitions = quick ? 2 : REPETITIONS;
        for (let round = 1; round <= repetitions; round += 1) {
          progress(`${what} ${loss.what} ${round}/${repetitions}`);
          all.push(await observe(environment, server, eventFor(name, { body }), loss.fault));
        }
        figures.push(...toFigures(`${what} ${loss.what}`, all));
      }
    } finally {
      await environment.end();
    }
  }
  return figures;
}

interface Observed {
  more: number;
  ms: number;
}

async function observe(
  environment: Environment,
  server: SimulatedServer,
  event: unknown,
  fault: Fault,
): Promise<Observed> {
  const before = server.commands;
  server.faults.set(fault);
  const { statuses, ms } = await environment.call([event]);
  if (statuses[0] !== 200) throw new Error(`After ${fault.kind} it was answered with ${statuses[0]}.`);
  return { more: server.commands - before - 1, ms: ms[0] ?? 0 };
}

function toFigures(what: string, all: Observed[]): Figure[] {
  return [
    figure(
      `${what}: further commands`,
      'calls',
      all.map(({ more }) => more),
      { of: 'ours', most: MAX_MORE },
    ),
    figure(
      `${what}: the request`,
      'ms',
      all.map(({ ms }) => ms),
    ),
  ];
}
