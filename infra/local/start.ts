import { enableCompileCache } from 'node:module';
import { endWithReader } from '../closed-output.ts';
import { exitWithParent, explainFailedStart, startOptions } from './start-options.ts';

/**
 * `npm start`: the whole service in this one process. When it can be called, it prints `ready` with its address and
 * `page` with the address of its page, then the functions' log.
 */

exitWithParent(process);
endWithReader();
try {
  const options = await startOptions(process.env);
  // The service is loaded last, so that an error in the file or the port is printed at once. Its code is compiled once
  // for all starts.
  enableCompileCache();
  const { startService } = await import('./service.ts');
  const { url } = await startService({ ...options, quiet: false, clock: true });
  // On Lambda the next call would start a new process. Here the same process continues.
  process.on('uncaughtException', (error) => process.stderr.write(`${error.stack ?? error}\n`));
  process.stdout.write(`ready ${url}\npage ${url}/_local\n`);
} catch (error) {
  process.stderr.write(`${explainFailedStart(error)}\n`);
  process.exit(1);
}
