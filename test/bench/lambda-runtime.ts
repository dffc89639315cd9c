import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { FunctionName } from '../../infra/routes.ts';
import { type ProcessorShare, processorShare } from './cgroup.ts';
import { eventFor } from './events.ts';
import { type Benchmark, type BenchmarkRun, comparison, type Figure, skipped } from './figures.ts';
import { BARE, type HandlerName, theStage } from './stage.ts';

const REPETITIONS = 6;
const NAMES: FunctionName[] = ['request-registration', 'create-tp5-account'];
/** The processors that a function of so many megabytes has while it answers. While it is loaded it has one at least. */
const SHARES = [
  { megabytes: 1_769, processors: 1 },
  { megabytes: 1_024, processors: 1_024 / 1_769 },
];
/** No dependency of the project: it is compiled when it is installed, with cmake, autoconf and libtool. */
const CLIENT = fileURLToPath(new URL('../../node_modules/aws-lambda-ric/bin/index.mjs', import.meta.url));

export const lambdaRuntime: Benchmark = {
  name: 'lambda-runtime',
  about:
    'A cold start under the runtime interface client that Lambda runs (aws-lambda-ric), which asks a stand-in of the Lambda ' +
    'service for its event: until it asks (init, with one processor), and from then to the answer (with the share of one that ' +
    'the memory buys).',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  if (!existsSync(CLIENT)) {
    return [skipped('init and first answer', 'no aws-lambda-ric (npm install --no-save aws-lambda-ric compiles it)')];
  }
  const share = await processorShare();
  if (typeof share === 'string') return [skipped('init and first answer', share)];
  const figures: Figure[] = [];
  try {
    for (const name of NAMES) {
      for (const { megabytes, processors } of SHARES) {
        const ours: ColdStart[] = [];
        const bare: ColdStart[] = [];
        const repetitions = quick ? 2 : REPETITIONS;
        for (let round = 0; round < repetitions; round += 1) {
          progress(`${name}, ${megabytes} MB ${round + 1}/${repetitions}`);
          ours.push(await coldStart(name, name, share, processors));
          bare.push(await coldStart(BARE[name], name, share, processors));
        }
        const compare = (what: string, member: keyof ColdStart) =>
          comparison(
            `${name}, ${megabytes} MB: ${what}`,
            'ms',
            ours.map((one) => one[member]),
            'bare SDK',
            bare.map((one) => one[member]),
          );
        figures.push(compare('init', 'initMs'), compare('first answer', 'answerMs'));
      }
    }
  } finally {
    await share.close();
  }
  return figures;
}

interface ColdStart {
  /** From the start of the process until it asks for its first event, in milliseconds. */
  initMs: number;
  /** From then until it answers. */
  answerMs: number;
}

async function coldStart(
  handler: HandlerName,
  name: FunctionName,
  share: ProcessorShare,
  processors: number,
): Promise<ColdStart> {
  const stage = await theStage();
  const service = await lambdaService(eventFor(name), () => share.set(processors));
  await share.set(1);
  const startedAt = performance.now();
  const child = spawn(...share.within(process.execPath, [CLIENT, 'index.handler']), {
    cwd: stage.folderOf(handler),
    env: { ...stage.environment, AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${service.port}`, AWS_LAMBDA_FUNCTION_NAME: name },
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  try {
    const died = ended.then(() => Promise.reject(new Error(`The process of ${handler} ended.`)));
    const { askedAt, answeredAt } = await Promise.race([service.answered, died]);
    return { initMs: askedAt - startedAt, answerMs: answeredAt - askedAt };
  } finally {
    child.kill('SIGKILL');
    await ended;
    service.close();
  }
}

/** The Lambda service as its runtime API shows it: it has one event, and takes its answer. */
async function lambdaService(event: unknown, onAsked: () => Promise<void>) {
  const { promise: answered, resolve, reject } = Promise.withResolvers<{ askedAt: number; answeredAt: number }>();
  let askedAt: number | undefined;
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const { url = '' } = request;
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += String(piece);
    if (url.endsWith('/invocation/next')) {
      // Asked once more, the event has been answered: nothing comes after it.
      if (askedAt !== undefined) return;
      askedAt = performance.now();
      await onAsked();
      response.writeHead(200, {
        'content-type': 'application/json',
        'lambda-runtime-aws-request-id': 'request-1',
        'lambda-runtime-deadline-ms': String(Date.now() + 29_000),
        'lambda-runtime-invoked-function-arn': 'arn:aws:lambda:eu-west-1:123456789012:function:benchmark',
      });
      response.end(JSON.stringify(event));
      return;
    }
    response.writeHead(202).end();
    const status = url.endsWith('/response') ? (JSON.parse(body) as { statusCode?: number }).statusCode : undefined;
    if (askedAt !== undefined && (status === 200 || status === 204))
      resolve({ askedAt, answeredAt: performance.now() });
    else reject(new Error(`The runtime told ${url}: ${body.slice(0, 500)}`));
  };
  const server = createServer((request, response) => {
    take(request, response).catch(reject);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { port: (server.address() as AddressInfo).port, answered, close: () => server.close().closeAllConnections() };
}
