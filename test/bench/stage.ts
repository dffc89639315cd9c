import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { bundle, bundleFile, ENTRY_FILE } from '../../infra/bundle.ts';
import type { FunctionName } from '../../infra/functions.ts';
import { type LocalService, startService } from '../../infra/local/service.ts';
import type { FirstAnswer, LaterAnswers } from './runner.ts';

/** Handlers that others would write: the same calls with the SDK alone, or a route with packages for it. */
const BARE_HANDLERS = ['bare-registration', 'bare-tp5', 'bare-tp4', 'routed'] as const;
type BareHandler = (typeof BARE_HANDLERS)[number];

/** Other handlers to compare with; each is bundled as the functions are. */
const HANDLERS = ['instant-registration', 'instant-account', 'rules-registration', 'rules-account', 'parse'] as const;
export type HandlerName = MeasuredFunction | (typeof HANDLERS)[number] | BareHandler;

/** Of each function: its bare handler, bundled as CDK does. */
export const BARE = {
  'request-registration': 'bare-registration',
  'create-tp5-account': 'bare-tp5',
  'create-tp4-account': 'bare-tp4',
} as const satisfies Partial<Record<FunctionName, BareHandler>>;
export type MeasuredFunction = keyof typeof BARE;
export const MEASURED = Object.keys(BARE) as MeasuredFunction[];

/** The environment of the measurements: bundles, and their services. */
export interface Stage {
  service: LocalService;
  /**
   * A fresh process of Node 24 that loads a handler and answers one event, as a Lambda environment does.
   * @param environment additional variables
   */
  start(name: HandlerName, event: unknown, environment?: Record<string, string>): Promise<Environment>;
  close(): Promise<void>;
}

/** A process that has answered its first event. */
export interface Environment {
  first: FirstAnswer;
  /** Calls it with one event after the other. */
  call(events: readonly unknown[]): Promise<LaterAnswers>;
  end(): Promise<void>;
}

let stage: Promise<Stage> | undefined;

/** The one stage of this process; created for the first benchmark. */
export function openStage(): Promise<Stage> {
  stage ??= setStage();
  return stage;
}

export async function closeStage(): Promise<void> {
  await (await stage)?.close();
}

async function setStage(): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  for (const name of MEASURED) await bundle(name, join(folder, name));
  for (const name of HANDLERS) await bundleFile(`test/bench/handlers/${name}.ts`, join(folder, name));
  for (const name of BARE_HANDLERS) await plainBundle(`test/bench/handlers/${name}.ts`, join(folder, name));
  await bundleFile('test/bench/runner.ts', join(folder, 'runner'));
  // The services alone: the functions run in processes of their own.
  const service = await startService({ load: async () => async () => ({ statusCode: 204 }) });
  const children = new Set<ChildProcess>();

  const given = withLogs(service.environment);
  return {
    service,
    async start(name, event, environment = {}) {
      const child = fork(join(folder, 'runner', ENTRY_FILE), [join(folder, name, ENTRY_FILE), JSON.stringify(event)], {
        env: { ...given, ...environment },
        execArgv: [],
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      });
      children.add(child);
      const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      const first = await nextMessage<FirstAnswer>(child);
      return {
        first,
        call(events) {
          child.send(events);
          return nextMessage<LaterAnswers>(child);
        },
        async end() {
          child.kill('SIGKILL');
          await exited;
          children.delete(child);
        },
      };
    },
    async close() {
      for (const child of children) child.kill('SIGKILL');
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Bundles a file as CDK's `NodejsFunction` does for an ES module that is minified and has the SDK in it: all in one
 * file, complete.
 * @param entry its path in the project
 */
async function plainBundle(entry: string, outdir: string): Promise<void> {
  await build({
    absWorkingDir: new URL('../..', import.meta.url).pathname,
    entryPoints: [entry],
    outfile: join(outdir, ENTRY_FILE),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    minify: true,
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
  });
}

/** As deployed, logs and metrics are written. */
function withLogs(environment: Readonly<Record<string, string>>): Record<string, string> {
  const { LOG_LEVEL: _, ...rest } = environment;
  return rest;
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    let said = '';
    const read = (bytes: Buffer) => {
      said += bytes.toString();
    };
    const settle = (message?: unknown) => {
      child.stderr?.off('data', read);
      child.off('exit', onExit).off('message', settle);
      resolve(message as T);
    };
    const onExit = () => reject(new Error(`The process of a handler ended: ${said}`));
    child.stderr?.on('data', read);
    child.once('message', settle).once('exit', onExit);
  });
}
