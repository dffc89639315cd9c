import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundle, bundleFile, ENTRY_FILE } from '../../infra/bundle.ts';
import { exitOnSignals, processFolder } from '../../infra/local/process-folder.ts';
import { startService } from '../../infra/local/service.ts';
import type { Answers, FirstAnswer } from './runner.ts';

/** Of each measured function: the handler that makes the same calls with the SDK alone. */
export const BARE = {
  'request-registration': 'bare-registration',
  'create-tp5-account': 'bare-tp5',
  'create-tp4-account': 'bare-tp4',
} as const;
export type MeasuredFunction = keyof typeof BARE;

/** `refusing` is a part of ours; the other handlers are what others would write. */
export type HandlerName = MeasuredFunction | (typeof BARE)[MeasuredFunction] | 'refusing' | 'parse';

/** A process that has answered its first event. */
export interface Environment {
  first: FirstAnswer;
  /** Calls it with one event after the other. */
  call(events: readonly unknown[]): Promise<Answers>;
  end(): void;
}

/** Bundles, the service that they call, and processes of them, until this process ends. */
export async function openStage() {
  exitOnSignals(process, 1);
  const { folder } = processFolder('bench');
  await bundleFile('test/bench/runner.ts', join(folder, 'runner'));
  // The services alone: the functions run in processes of their own.
  const service = await startService({ load: async () => async () => ({ statusCode: 204 }) });
  // As deployed, logs and metrics are written.
  const { LOG_LEVEL: _, ...given } = service.environment;
  const bundles = new Map<HandlerName, Promise<unknown>>();
  return {
    /**
     * A fresh process of Node 24 that loads a handler and answers one event, as a Lambda environment does.
     * @throws Error if it is answered with another status; by default: with no success
     */
    async start(name: HandlerName, event: unknown, status?: number): Promise<Environment> {
      const made = bundles.get(name) ?? bundleHandler(name, join(folder, name));
      await bundles.set(name, made).get(name);
      const child = fork(join(folder, 'runner', ENTRY_FILE), [join(folder, name, ENTRY_FILE), JSON.stringify(event)], {
        env: given,
        execArgv: [],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      });
      const ended = new Promise<never>((_, reject) => {
        child.once('exit', () => reject(new Error(`The process of ${name} has ended.`)));
      });
      // It is ended after its last answer.
      ended.catch(() => {});
      const answer = async <T>() => (await Promise.race([once(child, 'message'), ended]))[0] as T;
      const first = await answer<FirstAnswer>();
      const [answered = 0] = first.statuses;
      if (status === undefined ? answered >= 300 : answered !== status)
        throw new Error(`${name} answered ${answered}.`);
      return {
        first,
        call(events) {
          child.send(events);
          return answer<Answers>();
        },
        end: () => void child.kill('SIGKILL'),
      };
    },
  };
}
export type Stage = Awaited<ReturnType<typeof openStage>>;

function bundleHandler(name: HandlerName, outdir: string): Promise<unknown> {
  const file = `test/bench/handlers/${name}.ts`;
  if (Object.hasOwn(BARE, name)) return bundle(name as MeasuredFunction, outdir);
  if (name === 'refusing') return bundleFile(file, outdir);
  // As CDK's `NodejsFunction` does for an ES module that is minified and has the SDK in it: all in one file, complete.
  return build({
    absWorkingDir: fileURLToPath(new URL('../..', import.meta.url)),
    entryPoints: [file],
    outfile: join(outdir, ENTRY_FILE),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    minify: true,
    logLevel: 'warning',
  });
}
