import { type ChildProcess, spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import project from '../../package.json' with { type: 'json' };
import { accountBody, mayBeFloodGuard, registrationBody, sourceOf } from './events.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure, quantile } from './figures.ts';

const REPETITIONS = 2;
const SECONDS = 1;
const WARMING_SECONDS = 1;
const CONNECTIONS = [10, 100];

interface Load {
  what: string;
  path: string;
  body(number: number): object;
  status: number;
}

const ACCOUNTS = '/public/v1/users/CLIENT01';
const LOADS: Load[] = [
  {
    what: 'validation that fails',
    path: '/public/v1/account/register/request',
    body: () => ({ email: 'x', form_id: 'y', type: 'trader' }),
    status: 400,
  },
  { what: 'registration', path: '/public/v1/account/register/request', body: registrationBody, status: 204 },
  { what: 'tp5 account', path: `${ACCOUNTS}/tp5/accounts`, body: () => accountBody('tp5'), status: 200 },
  { what: 'tp4 account', path: `${ACCOUNTS}/tp4/accounts`, body: () => accountBody('tp4'), status: 200 },
];

export const throughput: Benchmark = {
  name: 'throughput',
  about:
    'The local service (npm start: gateway, functions, database, mail service and trading servers in one process) under ' +
    'requests over 10 and 100 connections, each of another person from another address; beside the same gateway in ' +
    'front of functions that do nothing. It shows what one process of a laptop carries, not what a deployment does: there ' +
    'every request at once has a processor of its own.',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  const service = await start('infra/local/start.ts');
  const empty = await start('test/bench/empty-service.ts');
  try {
    const figures: Figure[] = [];
    for (const load of LOADS) {
      const doingNothing = { ...load, status: 204 };
      await drive(service.url, load, 10, WARMING_SECONDS);
      if (load === LOADS[0]) await drive(empty.url, doingNothing, 10, WARMING_SECONDS);
      for (const connections of CONNECTIONS) {
        const ours: Driven[] = [];
        const base: Driven[] = [];
        const repetitions = quick ? 1 : REPETITIONS;
        for (let round = 1; round <= repetitions; round += 1) {
          progress(`${load.what}, ${connections} connections ${round}/${repetitions}`);
          ours.push(await drive(service.url, load, connections, quick ? 1 : SECONDS));
          base.push(await drive(empty.url, doingNothing, connections, quick ? 1 : SECONDS));
        }
        const what = `${load.what}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`;
        const pick = (runs: Driven[], member: keyof Driven) => runs.map((one) => one[member]);
        figures.push(comparison(what, '/s', pick(ours, 'perSecond'), 'empty functions', pick(base, 'perSecond')));
        for (const [name, member] of [
          ['median', 'p50'],
          ['99 %', 'p99'],
        ] as const) {
          figures.push(comparison(`${what}: ${name}`, 'ms', pick(ours, member), 'empty functions', pick(base, member)));
        }
      }
    }
    return figures;
  } finally {
    for (const { child } of [service, empty]) child.kill('SIGTERM');
  }
}

interface Driven {
  perSecond: number;
  p50: number;
  p99: number;
}

let people = 0;

/** @throws when an answer has another status */
async function drive(url: string, load: Load, connections: number, seconds: number): Promise<Driven> {
  const ms: number[] = [];
  const others: number[] = [];
  const setupRequest = () => {
    people += 1;
    return {
      method: 'POST',
      path: load.path,
      // Autocannon has no host for requests that are made as they are sent.
      headers: { host: new URL(url).host, 'content-type': 'application/json', 'x-forwarded-for': sourceOf(people) },
      body: JSON.stringify(load.body(people)),
    };
  };
  const running = autocannon({ url, connections, duration: seconds, timeout: 30, requests: [{ setupRequest }] });
  running.on('response', (_, status, __, milliseconds) => {
    ms.push(milliseconds);
    if (status !== load.status) others.push(status);
  });
  const startedAt = performance.now();
  const { errors, timeouts } = await running;
  const elapsed = (performance.now() - startedAt) / 1_000;
  // The requests that the run has left behind come first.
  const { path, headers, body, method } = setupRequest();
  await (await fetch(`${url}${path}`, { method, headers, body })).arrayBuffer();
  if (errors > 0 || timeouts > 0 || (others.length > 0 && !mayBeFloodGuard(others))) {
    throw new Error(`${load.what}: ${errors} errors, ${timeouts} timeouts; other answers: ${others.join(', ')}.`);
  }
  if (ms.length === 0) throw new Error(`${load.what}: no answer in ${seconds} seconds.`);
  return { perSecond: ms.length / elapsed, p50: quantile(ms, 0.5), p99: quantile(ms, 0.99) };
}

/** A service in a process of its own, as `npm start` runs it; its log is read away. */
function start(script: string): Promise<{ url: string; child: ChildProcess }> {
  const command = project.scripts.start.replace('infra/local/start.ts', script);
  const child = spawn('sh', ['-c', command], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}.`)));
    child.stdout.on('data', (bytes: Buffer) => {
      const url = /^ready (http:\S+)$/m.exec(bytes.toString())?.[1];
      if (url !== undefined) resolve({ url, child });
    });
  });
}
