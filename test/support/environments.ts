import { type ChildProcess, fork } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle, ENTRY_FILE } from '../../infra/bundle.ts';
import type { GatewayEvent } from '../../infra/local/gateway-event.ts';
import type { Invocation, Message, Order } from './environment.ts';

/** The functions as they are deployed, bundled once into a folder that is deleted with `close`. */
export interface Bundles {
  folder: string;
  close(): Promise<void>;
}

export async function accountBundles(): Promise<Bundles> {
  const folder = await mkdtemp(join(tmpdir(), 'functions-'));
  for (const name of ['create-tp5-account', 'create-tp4-account'] as const) await bundle(name, join(folder, name));
  return { folder, close: () => rm(folder, { recursive: true, force: true }) };
}

/** What came of an event: the function's answer, or why there is none. */
export type Outcome = { kind: 'answer'; answer: unknown } | { kind: 'killed' | 'timed out' | 'crash' };

export interface Run {
  outcome: Promise<Outcome>;
  /** Ends the environment that works on it, wherever it stands. Does nothing when the answer is there. */
  kill(): Promise<void>;
  /** Stops the environment's process for so many milliseconds, wherever it stands, as a frozen machine does. */
  pause(ms: number): Promise<void>;
}

export interface EnvironmentsOptions {
  /** By how much the wall clock of each new environment is wrong, in milliseconds. */
  skewMs?: () => number;
}

const SCRIPT = fileURLToPath(new URL('./environment.ts', import.meta.url));

/**
 * Execution environments of Lambda: processes of which each has one function, works on one event at a time, is kept for
 * later ones, and is gone, with its sessions and all it knew, when it is killed or out of time.
 */
export class Environments {
  readonly #folder: string;
  readonly #variables: Record<string, string>;
  readonly #skewMs: () => number;
  readonly #idle = new Map<string, ChildProcess[]>();
  readonly #all = new Set<ChildProcess>();
  /** Everything that was written to standard output and error. */
  readonly log: string[] = [];
  /** How many were started so far. */
  started = 0;

  constructor({ folder }: Bundles, variables: Record<string, string>, { skewMs = () => 0 }: EnvironmentsOptions = {}) {
    this.#folder = folder;
    this.#variables = variables;
    this.#skewMs = skewMs;
  }

  /** @param ms how long the function may take; its loading does not count */
  run(functionName: string, event: GatewayEvent, ms: number): Run {
    let end: (outcome: Outcome) => void = () => {};
    const ended = new Promise<Outcome>((resolve) => {
      end = resolve;
    });
    const working: Working = { pausedMs: 0 };
    const outcome = this.#work(functionName, { event, ms }, ended, end, working);
    return {
      outcome,
      kill: async () => {
        end({ kind: 'killed' });
        await outcome;
      },
      pause: async (pauseMs) => {
        // The time that it has stands still with it, as on a machine that is frozen.
        working.pausedMs += pauseMs;
        working.process?.kill('SIGSTOP');
        await sleep(pauseMs);
        working.process?.kill('SIGCONT');
      },
    };
  }

  async #work(
    functionName: string,
    invocation: Invocation,
    ended: Promise<Outcome>,
    end: (outcome: Outcome) => void,
    working: Working,
  ): Promise<Outcome> {
    const environment = this.#idleOf(functionName).pop() ?? (await inTurn(() => this.#start(functionName)));
    working.process = environment;
    const onMessage = (message: Message) => {
      if (message.kind === 'answer' || message.kind === 'crash') end(message);
    };
    const onExit = () => end({ kind: 'crash' });
    environment.on('message', onMessage).on('exit', onExit);
    const timer = timeOut(invocation.ms, working, () => end({ kind: 'timed out' }));
    environment.send({ kind: 'invoke', invocation } satisfies Order);
    const outcome = await ended;
    delete working.process;
    timer.stop();
    environment.off('message', onMessage).off('exit', onExit);
    if (outcome.kind === 'answer') this.#idleOf(functionName).push(environment);
    else await this.#end(environment);
    return outcome;
  }

  /** Moves the wall clock of every environment that is there. */
  jump(ms: number): void {
    for (const environment of this.#all) environment.send({ kind: 'jump', ms } satisfies Order);
  }

  /** From now on every event meets a cold start. */
  async retire(): Promise<void> {
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(idle.map((environment) => this.#end(environment)));
  }

  async close(): Promise<void> {
    this.#idle.clear();
    await Promise.all([...this.#all].map((environment) => this.#end(environment)));
  }

  #idleOf(functionName: string): ChildProcess[] {
    const idle = this.#idle.get(functionName) ?? [];
    this.#idle.set(functionName, idle);
    return idle;
  }

  async #start(functionName: string): Promise<ChildProcess> {
    this.started += 1;
    const url = pathToFileURL(join(this.#folder, functionName, ENTRY_FILE)).href;
    const environment = fork(SCRIPT, [functionName, url, String(this.#skewMs())], {
      env: this.#variables,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#all.add(environment);
    for (const stream of [environment.stdout, environment.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.log.push(text));
    }
    environment.on('error', () => {});
    environment.on('message', (message: Message) => {
      if (message.kind === 'refused') tellOfRefusal(message.port);
    });
    await Promise.race([once(environment, 'message'), once(environment, 'exit')]);
    if (environment.exitCode !== null)
      throw new Error(`${functionName} does not start: ${this.log.slice(-3).join('')}`);
    return environment;
  }

  async #end(environment: ChildProcess): Promise<void> {
    this.#all.delete(environment);
    if (environment.exitCode !== null || environment.signalCode !== null) return;
    // With the last of what it wrote.
    const gone = once(environment, 'close');
    environment.kill('SIGKILL');
    await gone;
  }
}

/** What an event is worked on by. */
interface Working {
  process?: ChildProcess;
  /** For how long it was stopped. */
  pausedMs: number;
}

/** Ends the time of an event, later by as much as its process was stopped. */
function timeOut(ms: number, working: Working, end: () => void): { stop(): void } {
  const endsAt = Date.now() + ms;
  let timer = setTimeout(check, ms);
  function check() {
    const leftMs = endsAt + working.pausedMs - Date.now();
    if (leftMs <= 0) end();
    else timer = setTimeout(check, leftMs);
  }
  return { stop: () => clearTimeout(timer) };
}

const AT_ONCE = 2;
let loading = 0;
const waiting: (() => void)[] = [];
/** Loading takes a processor for a while: were many functions loaded at once, the simulated services would seem to hang. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (loading === AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else loading += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) loading -= 1;
    else next();
  }
}

/** In this process, where the simulated services are: they watch its sockets for connections that were refused. */
function tellOfRefusal(port: number): void {
  const socket = new EventEmitter();
  socket.on('error', () => {});
  channel('net.client.socket').publish({ socket });
  socket.emit('error', Object.assign(new Error('refused'), { code: 'ECONNREFUSED', port }));
}
