import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';

/**
 * A process that runs one bundled function, as Lambda's runtime does: loads it, gives it the first event, and then one
 * event after the other as its parent sends them. `runner <bundle> <event>`
 */

interface Result {
  statusCode: number;
}
type Handler = (event: unknown, context: unknown) => Promise<Result>;

/** The end of the cold start, as the process itself sees it. */
export interface FirstAnswer {
  status: number;
  /** From the start of the process until the function was loaded, and until it had answered, in milliseconds. */
  loadedMs: number;
  answeredMs: number;
  /** Processor time of all threads until then, in milliseconds. */
  processorMs: number;
  /** Bytes. */
  rss: number;
}

/** The outcomes of a list of events. */
export interface LaterAnswers {
  statuses: number[];
  /** How long each call took, in milliseconds. */
  ms: number[];
  /** Processor time of all of them together, in milliseconds. */
  processorMs: number;
}

/** Time that an invocation may take; more than any takes. */
const TIMEOUT_MS = 29_000;

const [file = '', first = ''] = process.argv.slice(2);
const { handler } = (await import(pathToFileURL(file).href)) as { handler: Handler };
const loadedMs = performance.now();
const { statusCode } = await handler(JSON.parse(first), context());
const answeredMs = performance.now();
const answer: FirstAnswer = {
  status: statusCode,
  loadedMs,
  answeredMs,
  processorMs: processorMs(),
  rss: process.memoryUsage.rss(),
};
process.send?.(answer);

process.on('message', async (events: unknown[]) => {
  const statuses: number[] = [];
  const ms: number[] = [];
  const before = processorMs();
  for (const event of events) {
    const startedAt = performance.now();
    const { statusCode: status } = await handler(event, context());
    ms.push(performance.now() - startedAt);
    statuses.push(status);
  }
  const later: LaterAnswers = { statuses, ms, processorMs: processorMs() - before };
  process.send?.(later);
});

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
