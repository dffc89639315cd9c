import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { quantile } from './figures.ts';
import { audit, type Finding } from './load/audit.ts';
import { carryOut, newOperation, type Operation } from './load/callers.ts';
import { makeTrouble } from './load/faults.ts';
import { type ServiceProcess, startServiceProcess } from './load/service.ts';

/**
 * `npm run load`: many callers at once on all three routes of the local service, while its surroundings fail and recover;
 * afterwards everything that was promised is looked up. Ends with 1 when anything was lost or done twice.
 *
 *     npm run load -- --callers 200 --seconds 60
 */

const HELP = `npm run load -- [--callers 200] [--seconds 60] [--no-faults]`;
/**
 * How long after the end callers go on repeating what is not done yet: longer than the second pause between two messages
 * to one recipient, which counts where the database could not be told that the first was not sent.
 */
const DRAIN_SECONDS = 180;
const SETTLE_SECONDS = 20;
const TROUBLE_EVERY_MS = 3_000;
const PROGRESS_EVERY_MS = 5_000;
/** Of what is broken, how much is shown. */
const MAX_SHOWN = 10;

const say = (line = '') => process.stdout.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    callers: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
    'no-faults': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const callers = Number(values.callers);
const seconds = Number(values.seconds);
if (values.help || !between(callers, 1, 2_000) || !between(seconds, 1, 3_600)) {
  say(HELP);
  process.exit(values.help ? 0 : 2);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
const service = await startServiceProcess(SETTLE_SECONDS);
let lost: boolean;
try {
  lost = await load(service);
} finally {
  await service.stop();
}
process.exit(lost ? 1 : 0);

function between(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

async function load(service: ServiceProcess): Promise<boolean> {
  say(`${callers} callers for ${seconds} s on ${service.url}${values['no-faults'] ? '' : ', with faults'}`);
  const operations: Operation[] = [];
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1_000;
  const stop = new AbortController();
  const trouble = values['no-faults'] ? undefined : makeTrouble(service, TROUBLE_EVERY_MS, stop.signal);
  const timer = setInterval(() => progress(operations, startedAt, trouble?.state.now), PROGRESS_EVERY_MS);

  const callersDone = Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < endAt && service.running()) {
        const operation = newOperation();
        operations.push(operation);
        await carryOut(service.url, operation, endAt + DRAIN_SECONDS * 1_000);
      }
    }),
  );
  await sleep(seconds * 1_000);
  stop.abort();
  await trouble?.done;
  await service.allWell();
  const open = operations.filter(({ end }) => end === 'running').length;
  say(`time is over; ${open} operations are carried to their end`);
  await callersDone;
  clearInterval(timer);

  const findings = await audit(service, operations);
  figures(operations, seconds);
  const memory = await service.peakMemory();
  say(
    `\nfaults switched ${trouble?.state.count ?? 0} times; the service's most memory: ${memory === undefined ? 'unknown' : `${(memory / 1024 ** 2).toFixed(0)} MB`}`,
  );
  if (service.errors.size > 0) say('\nlogged as errors');
  for (const [name, count] of [...service.errors].sort(([, a], [, b]) => b - a))
    say(`  ${String(count).padStart(6)}  ${name}`);
  return report(findings);
}

function progress(operations: readonly Operation[], startedAt: number, now = ''): void {
  const elapsed = (performance.now() - startedAt) / 1_000;
  const done = operations.filter(({ end }) => end === 'done').length;
  const running = operations.filter(({ end }) => end === 'running').length;
  const numbers = `${elapsed.toFixed(0).padStart(4)} s  ${String(done).padStart(6)} done  ${String(running).padStart(4)} open`;
  say(now === '' ? numbers : `${numbers}  (${now})`);
}

/** A table by route: how much was done, how fast, and what the tries were answered with. */
function figures(operations: readonly Operation[], seconds: number): void {
  say('\nroute          done     /s  at once  tries  p50 ms  p99 ms  slowest');
  for (const route of ['registration', 'tp5', 'tp4'] as const) {
    const own = operations.filter((operation) => operation.route === route);
    const done = own.filter(({ end }) => end === 'done');
    const first = done.filter(({ attempts }) => attempts.length === 1).length;
    const times = own.flatMap(({ attempts }) => attempts.map(({ ms }) => ms));
    say(
      [
        route.padEnd(12),
        String(done.length).padStart(7),
        (done.length / seconds).toFixed(1).padStart(7),
        `${done.length === 0 ? 0 : ((first / done.length) * 100).toFixed(0)}%`.padStart(8),
        String(times.length).padStart(7),
        quantile(times, 0.5).toFixed(0).padStart(8),
        quantile(times, 0.99).toFixed(0).padStart(8),
        quantile(times, 1).toFixed(0).padStart(9),
      ].join(''),
    );
  }
  const answers = new Map<string, number>();
  for (const { route, attempts } of operations) {
    for (const { status, type = '' } of attempts) {
      const name = `${route.padEnd(13)} ${status === 0 ? 'no answer' : status} ${type}`.trimEnd();
      answers.set(name, (answers.get(name) ?? 0) + 1);
    }
  }
  say('\nanswers');
  for (const [name, count] of [...answers].sort(([a], [b]) => (a < b ? -1 : 1)))
    say(`  ${String(count).padStart(6)}  ${name}`);
}

/** @returns true when a promise was broken */
function report(findings: readonly Finding[]): boolean {
  say('\npromises');
  for (const { promise, looked, broken, note } of findings) {
    say(
      `  ${broken.length === 0 ? 'kept  ' : 'BROKEN'}  ${promise}: ${looked} looked at, ${broken.length} broken${note === undefined ? '' : `; ${note}`}`,
    );
    for (const one of broken.slice(0, MAX_SHOWN)) say(`            ${one}`);
  }
  const lost = findings.some(({ broken }) => broken.length > 0);
  say(lost ? '\nsomething was lost or done twice' : '\nnothing was lost, nothing was done twice');
  return lost;
}
