import { channel } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { bundle, ENTRY_FILE } from '../../infra/bundle.ts';
import type { GatewayEvent } from '../../infra/local/gateway.ts';
import type { EnvironmentData, Invocation, Message } from './environment.ts';

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
}

/**
 * Execution environments of Lambda: threads of which each has one function, works on one event at a time, is kept for
 * later ones, and is gone, with its sessions and all it knew, when it is killed or out of time.
 */
export class Environments {
  readonly #folder: string;
  readonly #variables: Record<string, string>;
  readonly #idle = new Map<string, Worker[]>();
  readonly #all = new Set<Worker>();
  /** Everything that was written to standard output and error. */
  readonly log: string[] = [];
  /** How many were started so far. */
  started = 0;

  constructor({ folder }: Bundles, variables: Record<string, string>) {
    this.#folder = folder;
    this.#variables = variables;
  }

  /** @param ms how long the function may take; its loading does not count */
  run(functionName: string, event: GatewayEvent, ms: number): Run {
    let end: (outcome: Outcome) => void = () => {};
    const ended = new Promise<Outcome>((resolve) => {
      end = resolve;
    });
    const outcome = this.#work(functionName, { event, ms }, ended, end);
    const kill = async () => {
      end({ kind: 'killed' });
      await outcome;
    };
    return { outcome, kill };
  }

  async #work(
    functionName: string,
    invocation: Invocation,
    ended: Promise<Outcome>,
    end: (outcome: Outcome) => void,
  ): Promise<Outcome> {
    const worker = this.#idleOf(functionName).pop() ?? (await inTurn(() => this.#start(functionName)));
    const onMessage = (message: Message) => {
      if (message.kind === 'answer' || message.kind === 'crash') end(message);
    };
    const onError = () => end({ kind: 'crash' });
    worker.on('message', onMessage).on('error', onError);
    const timer = setTimeout(() => end({ kind: 'timed out' }), invocation.ms);
    worker.postMessage(invocation);
    const outcome = await ended;
    clearTimeout(timer);
    worker.off('message', onMessage).off('error', onError);
    if (outcome.kind === 'answer') this.#idleOf(functionName).push(worker);
    else await this.#end(worker);
    return outcome;
  }

  /** From now on every event meets a cold start. */
  async retire(): Promise<void> {
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(idle.map((worker) => this.#end(worker)));
  }

  async close(): Promise<void> {
    this.#idle.clear();
    await Promise.all([...this.#all].map((worker) => this.#end(worker)));
  }

  #idleOf(functionName: string): Worker[] {
    const idle = this.#idle.get(functionName) ?? [];
    this.#idle.set(functionName, idle);
    return idle;
  }

  async #start(functionName: string): Promise<Worker> {
    this.started += 1;
    const url = pathToFileURL(join(this.#folder, functionName, ENTRY_FILE)).href;
    const worker = new Worker(new URL('./environment.ts', import.meta.url), {
      env: this.#variables,
      workerData: { functionName, url } satisfies EnvironmentData,
      stdout: true,
      stderr: true,
    });
    this.#all.add(worker);
    for (const stream of [worker.stdout, worker.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => this.log.push(text));
    }
    worker.on('error', () => {});
    worker.on('message', (message: Message) => {
      if (message.kind === 'refused') tellOfRefusal(message.port);
    });
    await once(worker, 'message');
    return worker;
  }

  async #end(worker: Worker): Promise<void> {
    this.#all.delete(worker);
    await worker.terminate();
  }
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

/** In this thread, where the simulated services are: they watch this thread's sockets for connections that were refused. */
function tellOfRefusal(port: number): void {
  const socket = new EventEmitter();
  socket.on('error', () => {});
  channel('net.client.socket').publish({ socket });
  socket.emit('error', Object.assign(new Error('refused'), { code: 'ECONNREFUSED', port }));
}
