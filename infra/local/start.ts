import { enableCompileCache } from 'node:module';
import { explain, isNpmStart, startOptions } from './start-options.ts';

/**
 * `npm start`: the whole service on this machine, in this one process. Prints `ready` and the address once it can be
 * called, and the functions' log after that. The script of `package.json` replaces its shell (`exec`), so that npm's
 * signals reach it.
 */

const PARENT_WATCH_MS = 250;

endWithItsCaller();
try {
  const options = await startOptions(process.env);
  // Loaded after that, so that a fault in the file or the port is told at once; compiled once and for all starts.
  enableCompileCache();
  const { startService } = await import('./service.ts');
  const { url } = await startService({ ...options, quiet: false, clock: true });
  // Were this a Lambda function, the next call would find a fresh process: here the same one goes on.
  process.on('uncaughtException', (error) => process.stderr.write(`${error.stack ?? error}\n`));
  process.stdout.write(`ready ${url}\n`);
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
}

/** Ends at once when it is told to, and, run by npm, also when npm is gone without a word. Nothing has to be saved. */
function endWithItsCaller(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(0));
  if (!isNpmStart(process.env)) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(0);
  }, PARENT_WATCH_MS).unref();
}
