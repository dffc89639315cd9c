import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { startService } from '../../infra/local/service.ts';
import { ServiceError } from '../../infra/local/stand-ins/stand-in.ts';
import { loadForTests } from './registration-world.ts';

interface Loud {
  url: string;
  /** All lines that the service has written to its standard output and error. */
  lines: string[];
  /** Calls the functions of the clock once. @returns whether all calls have succeeded */
  tick(): Promise<boolean>;
  /** Moves the clock of the service. */
  wait(ms: number): Promise<unknown>;
  /** Makes the database refuse the calls to this table from now on. Undefined: no calls. */
  refuse(table: string | undefined): Promise<unknown>;
  stop(): Promise<unknown>;
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
  const ask = async (asked: Asked) => {
    child.send(asked);
    return ((await once(child, 'message')) as [boolean])[0];
  };
  const stop = () => {
    const ended = once(child, 'exit');
    child.disconnect();
    return ended;
  };
  return {
    url,
    lines,
    stop,
    tick: () => ask({ tick: true }),
    wait: (ms) => ask({ wait: ms }),
    refuse: (refused) => ask({ refused }),
  };
}

type Asked = { tick: true } | { wait: number } | { refused: string | undefined };

if (import.meta.main) {
  const [, , settings = '{}', isHurried] = process.argv;
  const load = isHurried === 'true' ? { load: loadForTests } : {};
  let ahead = 0;
  const wallClock = Date.now;
  globalThis.Date = class extends Date {
    constructor(...given: unknown[]) {
      // @ts-expect-error: the arguments are those of Date, in any form
      super(...(given.length === 0 ? [wallClock() + ahead] : given));
    }
    static override now(): number {
      return wallClock() + ahead;
    }
  } as DateConstructor;
  const service = await startService({ settings: JSON.parse(settings), quiet: false, ...load });
  const { calls } = service.database;
  process.on('message', async (asked: Asked) => {
    let isDone = true;
    if ('wait' in asked) ahead += asked.wait;
    else if ('tick' in asked)
      isDone = await service.tick().then(
        () => true,
        () => false,
      );
    else
      service.faults('dynamodb').onCall = async () => {
        if (asked.refused !== undefined && calls.at(-1)?.table.includes(asked.refused))
          throw new ServiceError('AccessDeniedException');
      };
    process.send?.(isDone);
  });
  process.on('disconnect', () => process.exit());
  process.send?.(service.url);
}
