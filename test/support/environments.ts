import { type ChildProcess, fork } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pLimit from 'p-limit';
import { ENTRY_FILE } from '../../infra/bundle.ts';
import { SCRIPT } from './bundles.ts';
import type { Invocation, Message } from './environment.ts';

/** The result of an event: the function's answer, or the reason for its absence. */
export type Outcome = { kind: 'answer'; answer: unknown } | { kind: 'killed' | 'timed out' | 'crash' };

export interface Run {
  outcome: Promise<Outcome>;
  /** Kills the environment that works on the event, at any step. Does nothing after the answer. */
  kill(): Promise<void>;
  /**
   * Stops the environment's process at any step, like a frozen machine. The process resumes after this many
   * milliseconds.
   */
  stop(ms: number): Promise<void>;
}

export interface EnvironmentsOptions {
  /** The clock of the functions' world. */
  clock?: WorldClock;
  /** The error of the wall clock of each new environment, in milliseconds. */
  skewMs?: () => number;
}

/** A process with one function. */
interface Environment {
  process: ChildProcess;
  clock: { path: string; file: number };
  /** The error of the environment's wall clock, in milliseconds. */
  skewMs: number;
}

/** An event that is worked on. */
interface Working {
  environment?: Environment;
  /** When the process was stopped, in milliseconds of this machine. Absent: it runs. */
  stoppedAt?: number;
  /** How long the process has been stopped in all, in milliseconds of this machine. */
  stoppedMs: number;
}

/**
 * Execution environments of Lambda, as processes. Each has one function, works on one event at a time, and is kept for
 * later events. A killed one, and one that runs out of time, is gone with its sessions and everything it knew.
 */
export class Environments {
  readonly #bundles: string;
  readonly #variables: (functionName: string) => Record<string, string>;
  readonly #clock: WorldClock;
  readonly #skewMs: () => number;
  readonly #idle = new Map<string, Environment[]>();
  readonly #all = new Set<Environment>();
  readonly #working = new Set<Working>();
  /** Everything that was written to standard output and error. */
  readonly log: string[] = [];

  /**
   * @param bundles the folder of `bundleInto`
   * @param variables of a function
   */
  constructor(
    bundles: string,
    variables: (functionName: string) => Record<string, string>,
    options: EnvironmentsOptions = {},
  ) {
    const { clock = new WorldClock(), skewMs = () => 0 } = options;
    this.#bundles = bundles;
    this.#variables = variables;
    this.#clock = clock;
    this.#skewMs = skewMs;
    clock.onMove = () => {
      for (const one of this.#all) this.#setClock(one);
    };
    clock.settled = () => this.#settled();
  }

  /** @param ms the time of the function; loading it does not count */
  run(functionName: string, event: object, ms: number): Run {
    let end: (outcome: Outcome) => void = () => {};
    const ended = new Promise<Outcome>((resolve) => {
      end = resolve;
    });
    const working: Working = { stoppedMs: 0 };
    // The event counts as working only from here on: the world's time must not pass while the function is loaded.
    this.#working.add(working);
    const outcome = this.#work(functionName, { event, ms }, ended, end, working).finally(() =>
      this.#working.delete(working),
    );
    return {
      outcome,
      kill: async () => {
        end({ kind: 'killed' });
        await outcome;
      },
      stop: (forMs) => this.#stop(working, forMs),
    };
  }

  async #work(
    functionName: string,
    invocation: Invocation,
    ended: Promise<Outcome>,
    end: (outcome: Outcome) => void,
    working: Working,
  ): Promise<Outcome> {
    const environment = this.#idleOf(functionName).pop() ?? (await loading(() => this.#start(functionName)));
    working.environment = environment;
    const onMessage = (message: Message) => {
      if (message.kind === 'answer' || message.kind === 'crash') end(message);
    };
    const onExit = () => end({ kind: 'crash' });
    environment.process.on('message', onMessage).on('exit', onExit);
    const timer = timeOut(invocation.ms, working, () => end({ kind: 'timed out' }));
    environment.process.send(invocation);
    const outcome = await ended;
    this.#goOn(working);
    delete working.environment;
    timer.stop();
    environment.process.off('message', onMessage).off('exit', onExit);
    if (outcome.kind === 'answer') this.#idleOf(functionName).push(environment);
    else await this.#end(environment);
    return outcome;
  }

  async #stop(working: Working, ms: number): Promise<void> {
    const process = working.environment?.process;
    if (process === undefined || working.stoppedAt !== undefined) return;
    working.stoppedAt = performance.now();
    process.kill('SIGSTOP');
    // If the process has answered in the meantime, it resumes.
    while (working.stoppedAt !== undefined && !isStopped(process)) await sleep(1);
    this.#clock.sleep(ms).then(() => this.#goOn(working));
  }

  #goOn(working: Working): void {
    if (working.stoppedAt === undefined) return;
    // The remaining time of the event is frozen too.
    working.stoppedMs += performance.now() - working.stoppedAt;
    delete working.stoppedAt;
    working.environment?.process.kill('SIGCONT');
  }

  /** Resolves when every worker has ended or is stopped, and its calls have arrived. */
  async #settled(): Promise<void> {
    while ([...this.#working].some(({ stoppedAt }) => stoppedAt === undefined)) await sleep(2);
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  }

  /** Shifts the wall clock of every environment. */
  jump(ms: number): void {
    for (const environment of this.#all) {
      environment.skewMs = ms;
      this.#setClock(environment);
    }
  }

  /** Makes every later event have a cold start. */
  async retire(): Promise<void> {
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(idle.map((environment) => this.#end(environment)));
  }

  async close(): Promise<void> {
    this.#idle.clear();
    await Promise.all([...this.#all].map((environment) => this.#end(environment)));
  }

  #idleOf(functionName: string): Environment[] {
    const idle = this.#idle.get(functionName) ?? [];
    this.#idle.set(functionName, idle);
    return idle;
  }

  #setClock({ clock, skewMs }: Environment): void {
    writeSync(clock.file, new Float64Array([this.#clock.aheadMs + skewMs]), 0, 8, 0);
  }

  async #start(functionName: string): Promise<Environment> {
    const folder = this.#bundles;
    const url = pathToFileURL(join(folder, functionName, ENTRY_FILE)).href;
    const path = join(folder, `clock-${process.pid}-${clocks++}`);
    const clock = { path, file: openSync(path, 'w') };
    const child = fork(join(folder, SCRIPT), [functionName, url, path], {
      env: this.#variables(functionName),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const environment: Environment = { process: child, clock, skewMs: this.#skewMs() };
    this.#setClock(environment);
    this.#all.add(environment);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.log.push(text));
    }
    child.on('error', () => {});
    child.on('message', (message: Message) => {
      if (message.kind === 'refused') reportRefusedConnection(message.port);
    });
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`${functionName} does not start: ${this.log.slice(-3).join('')}`);
    return environment;
  }

  async #end(environment: Environment): Promise<void> {
    if (!this.#all.delete(environment)) return;
    const { process, clock } = environment;
    if (process.exitCode === null && process.signalCode === null) {
      // The event `close` comes after the last output.
      const gone = once(process, 'close');
      process.kill('SIGKILL');
      await gone;
    }
    closeSync(clock.file);
    rmSync(clock.path, { force: true });
  }
}

let clocks = 0;

/** Whether the stop signal has reached a process: the third word of its state, after a name in brackets. */
function isStopped({ pid, exitCode, signalCode }: ChildProcess): boolean {
  if (exitCode !== null || signalCode !== null) return true;
  try {
    return /^\d+ \(.*\) [TZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // The process has ended, or this system does not report its state.
    return true;
  }
}

/** Ends the time of an event. The end moves by the time for which its process was stopped. */
function timeOut(ms: number, working: Working, end: () => void): { stop(): void } {
  const endsAt = performance.now() + ms;
  let timer = setTimeout(check, ms);
  function check() {
    const leftMs = endsAt + working.stoppedMs - performance.now();
    if (working.stoppedAt !== undefined) timer = setTimeout(check, 50);
    else if (leftMs <= 0) end();
    else timer = setTimeout(check, leftMs);
  }
  return { stop: () => clearTimeout(timer) };
}

/**
 * The number of functions that are loaded at once. Loading takes a processor for a while: with many at once, the
 * simulated services would seem to hang.
 */
const loading = pLimit(2);

/** Reports a refused connection of a function's process. The simulated services watch only sockets of this process. */
function reportRefusedConnection(port: number): void {
  const socket = new EventEmitter();
  socket.on('error', () => {});
  channel('net.client.socket').publish({ socket });
  socket.emit('error', Object.assign(new Error('refused'), { code: 'ECONNREFUSED', port }));
}

interface Sleeper {
  /** The time at which the sleeper wakes, in milliseconds by this clock. */
  at: number;
  wake(): unknown;
}

/**
 * The clock of a world. It runs normally, and can be advanced: due timers run in order, at their times.
 */
export class WorldClock {
  readonly #sleepers = new Set<Sleeper>();
  /** The difference between this clock and this machine's, in milliseconds. */
  aheadMs = 0;
  /** Called after the clock has moved. */
  onMove: () => void = () => {};
  /** Awaited before the clock moves, and after its timers: then no sent data is pending. */
  settled: () => Promise<void> = async () => {};

  now(): number {
    return Date.now() + this.aheadMs;
  }

  /** Ends without an error when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper: Sleeper = { at: this.now() + ms, wake: () => wake() };
      const wake = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', wake);
        this.#sleepers.delete(sleeper);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      timer.unref();
      signal?.addEventListener('abort', wake);
      this.#sleepers.add(sleeper);
    });
  }

  /** Advances the clock. */
  async pass(ms: number): Promise<void> {
    await this.settled();
    const end = this.now() + ms;
    for (let next = this.#first(end); next !== undefined; next = this.#first(end)) {
      this.#moveTo(next.at);
      next.wake();
      await nextTurn();
      await this.settled();
    }
    this.#moveTo(end);
  }

  #first(end: number): Sleeper | undefined {
    const [first] = [...this.#sleepers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
    return first;
  }

  /** Moves the clock, which never goes back. */
  #moveTo(at: number): void {
    this.aheadMs = Math.max(this.aheadMs, at - Date.now());
    this.onMove();
  }
}
