import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { startService } from '../../infra/local/service.ts';
import { loadForTests } from './registration-world.ts';

interface Loud {
  url: string;
  /** Everything that it has written to its standard output and error. */
  lines: string[];
  /** Calls the functions of the clock while the database is down. */
  tick(): void;
  stop(): void;
}

/**
 * Starts the local service in a process of its own, with all its logs, so that a test can read them.
 * @param isHurried its requests may be short of time (`remainingTime`), and its password hashes are cheap
 */
export async function loudService(settings: Record<string, unknown>, isHurried = false): Promise<Loud> {
  const child = fork(import.meta.filename, [JSON.stringify(settings), String(isHurried)], {
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr])
    if (input !== null) createInterface({ input }).on('line', (line) => lines.push(line));
  const [url] = (await once(child, 'message')) as [string];
  return { url, lines, tick: () => void child.send('tick'), stop: () => void child.kill() };
}

if (import.meta.main) {
  const [, , settings = '{}', isHurried] = process.argv;
  const load = isHurried === 'true' ? { load: loadForTests } : {};
  const service = await startService({ settings: JSON.parse(settings), quiet: false, ...load });
  process.on('message', async () => {
    service.faults('dynamodb').set({ kind: 'refused', times: 100 });
    await service.tick().catch(() => {});
    service.faults('dynamodb').clear();
  });
  process.on('disconnect', () => process.exit());
  process.send?.(service.url);
}
