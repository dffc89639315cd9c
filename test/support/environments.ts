import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { bundle } from '../../infra/bundle.ts';
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

/** How long the loading of a function may take. */
const LOADING_MS = 30_000;

/** What came of an event: the function's answer, or why there is none. */
export type Outcome = { kind: 'answer'; answer: unknown } | { kind: 'killed' | 'timed out' | 'crash' };

export interface Run {
  outcome: Promise<Outcome>;
  /** Ends the environment that works on it, wherever it stands. Does nothing when the answer is there. */
  kill(): Promise<void>;
}

/**
 * Execution environments of Lambda: threads of which each works on one event at a time, is kept for later ones, and is
 * gone, with its sessions and all it knew, when it is killed or out of time.
 */
export class Environments {
  readonly #bundles: string;
  readonly #variables: Record<string, string>;
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  /** Everything that was written to standard output and error. */
  readonly log: string[] = [];
  /** How many were started so far. */
  started = 0;

  constructor(bundles: string, variables: Record<string, string>) {
    this.#bundles = bundles;
    this.#variables = variables;
  }

  /** @param ms how long the function may take */
  run(functionName: string, event: GatewayEvent, ms: number): Run {
    const worker = this.#idle.pop() ?? this.#start();
    let settle: (outcome: Outcome) => void = () => {};
    const outcome = new Promise<Outcome>((resolve) => {
      settle = resolve;
    });
    let over = false;
    const end = (result: Outcome) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      worker.off('message', onMessage).off('error', onError);
      settle(result);
    };
    const kill = async (kind: 'killed' | 'timed out') => {
      if (over) return;
      end({ kind });
      await this.#end(worker);
    };
    const onMessage = (message: Message) => {
      if (message.kind === 'refused') return;
      if (message.kind === 'begun') {
        clearTimeout(timer);
        timer = setTimeout(() => kill('timed out'), ms);
        return;
      }
      this.#idle.push(worker);
      end(message.kind === 'crash' ? message : { kind: 'answer', answer: message.answer });
    };
    let timer = setTimeout(() => kill('timed out'), LOADING_MS);
    const onError = () => end({ kind: 'crash' });
    worker.on('message', onMessage).on('error', onError);
    worker.postMessage({ functionName, event, ms } satisfies Invocation);
    return { outcome, kill: () => kill('killed') };
  }

  /** From now on every event meets a cold start. */
  async retire(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((worker) => this.#end(worker)));
  }

  async close(): Promise<void> {
    this.#idle.length = 0;
    await Promise.all([...this.#all].map((worker) => this.#end(worker)));
  }

  #start(): Worker {
    this.started += 1;
    const worker = new Worker(new URL('./environment.ts', import.meta.url), {
      env: this.#variables,
      workerData: { bundles: this.#bundles } satisfies EnvironmentData,
      stdout: true,
      stderr: true,
    });
    this.#all.add(worker);
    for (const stream of [worker.stdout, worker.stderr]) {
      stream.on('data', (bytes: Buffer) => this.log.push(bytes.toString('utf8')));
    }
    worker.on('error', () => {});
    worker.on('message', (message: Message) => {
      if (message.kind === 'refused') tellOfRefusal(message.port);
    });
    return worker;
  }

  async #end(worker: Worker): Promise<void> {
    this.#all.delete(worker);
    await worker.terminate();
  }
}

/** In this thread, where the simulated services are: they watch this thread's sockets for connections that were refused. */
function tellOfRefusal(port: number): void {
  const socket = new EventEmitter();
  socket.on('error', () => {});
  channel('net.client.socket').publish({ socket });
  socket.emit('error', Object.assign(new Error('refused'), { code: 'ECONNREFUSED', port }));
}
