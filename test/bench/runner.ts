import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';

/**
 * A process that runs one bundled function, as Lambda's runtime does: loads it, gives it the first event, and then one
 * event after the other as its parent sends them. `runner <bundle> <event>`
 *
 * Lambda's runtime client has loaded the modules below before it loads a function. Times begin after that.
 */
await Promise.all([import('node:http'), import('node:assert'), import('node:fs'), import('node:util')]);

type Handler = (event: unknown, context: unknown) => Promise<{ statusCode: number }>;

/** The outcomes of a list of events. */
export interface Answers {
  statuses: number[];
  /** Processor time of all threads for all of them together, in milliseconds. */
  processorMs: number;
}

/** The end of the cold start, as the process itself sees it. */
export interface FirstAnswer extends Answers {
  /** From the begin of loading until the function was loaded, and until it had answered, in milliseconds. */
  loadedMs: number;
  answeredMs: number;
  /** Bytes. */
  rss: number;
}

/** Time that an invocation may take; more than any takes. */
const TIMEOUT_MS = 29_000;

const [file = '', first = ''] = process.argv.slice(2);
const startedAt = performance.now();
const processorBefore = processorMs();
const { handler } = (await import(pathToFileURL(file).href)) as { handler: Handler };
const loadedMs = performance.now() - startedAt;
const answers = await callAll([JSON.parse(first)]);
const answeredMs = performance.now() - startedAt;
process.send?.({
  ...answers,
  processorMs: processorMs() - processorBefore,
  loadedMs,
  answeredMs,
  rss: process.memoryUsage.rss(),
});
process.on('message', async (events: unknown[]) => process.send?.(await callAll(events)));
process.on('disconnect', () => process.exit());

async function callAll(events: readonly unknown[]): Promise<Answers> {
  const done: Answers = { statuses: [], processorMs: 0 };
  const before = processorMs();
  for (const event of events) {
    const { statusCode } = await handler(event, context());
    done.statuses.push(statusCode);
  }
  return { ...done, processorMs: processorMs() - before };
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function context() {
  const endsAt = Date.now() + TIMEOUT_MS;
  return {
    awsRequestId: randomUUID(),
    functionName: 'benchmark',
    functionVersion: '$LATEST',
    memoryLimitInMB: '1769',
    getRemainingTimeInMillis: () => endsAt - Date.now(),
  };
}
