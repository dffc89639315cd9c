import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type LocalService, startService } from '../infra/local/service.ts';

/**
 * The examples for integrators as a stranger runs them: each folder is copied into an empty one, outside of this
 * project and without its Node. A person registers and confirms; the receiver makes a client, who opens an account.
 * Its last line is `N passed, N failed`.
 */

const run = promisify(execFile);
const KEY = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
const PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);
const ENVIRONMENT = { PATH, HOME: process.env.HOME ?? '' };

const LANGUAGES = [
  {
    folder: 'typescript',
    install: ['npm', 'install', '--no-audit', '--no-fund'],
    start: ['npx', 'tsx'],
    end: '.ts',
  },
  { folder: 'python', install: ['python3', '--version'], start: ['python3'], end: '.py' },
] as const;

const work = await mkdtemp(join(tmpdir(), 'examples-'));
const counts = { passed: 0, failed: 0 };
console.log(`Node.js ${(await run('node', ['--version'], { env: ENVIRONMENT })).stdout.trim()}`);
for (const [index, language] of LANGUAGES.entries()) {
  const failure = await walk(language, 4_100 + index).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  counts[failure === undefined ? 'passed' : 'failed'] += 1;
  console.log(failure === undefined ? `ok      ${language.folder}` : `FAILED  ${language.folder}\n        ${failure}`);
}
await rm(work, { recursive: true });
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed === 0 ? 0 : 1);

async function walk({ folder, install, start, end }: (typeof LANGUAGES)[number], port: number): Promise<void> {
  const cwd = join(work, folder);
  await cp(fileURLToPath(new URL(`../infra/openapi/${folder}`, import.meta.url)), cwd, {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  });
  const [installer, ...words] = install;
  await run(installer, words, { cwd, env: ENVIRONMENT });
  const [program, ...more] = start;
  const example = async (name: string, environment: Record<string, string>) => {
    const options = { cwd, env: { ...ENVIRONMENT, ...environment }, timeout: 60_000 };
    return (await run(program, [...more, `${name}${end}`], options)).stdout;
  };

  const environment = { ...ENVIRONMENT, WEBHOOK_SECRET: KEY, PORT: String(port) };
  const receiver = spawn(program, [...more, `receiver${end}`], {
    cwd,
    env: environment,
    detached: true,
    stdio: 'ignore',
  });
  const service = await startService({ crmWebhook: { url: `http://127.0.0.1:${port}/events`, key: KEY } });
  try {
    await listens(port);
    const person = { API_URL: service.url, EMAIL: `${folder}@example.com`, PASSWORD: 'correct horse battery' };
    must(await example('register', person), 'Sent the code.');
    const CODE = /\d{6}/.exec(service.outbox.list().at(-1)?.text ?? '')?.[0] ?? '';
    must(await example('register', { ...person, CODE }), 'Confirmed.');
    await delivered(service);
    const order = { USER_ID: 'N0000001', CONNECTION_ID: 'tp5-live-1', GROUP: 'real\\standard' };
    must(await example('account', { API_URL: service.url, ...order }), 'These passwords are shown once');
  } finally {
    stop(receiver);
    await service.close();
  }
}

function must(output: string, text: string): void {
  if (!output.includes(text)) throw new Error(`It does not print "${text}", but: ${output}`);
}

/** Ends an example with the programs that it started. */
function stop({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid);
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(100)) if (await isSo()) return;
  throw new Error(what);
}

function listens(port: number): Promise<void> {
  return until(
    'The receiver does not start.',
    () =>
      new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
        socket.end();
      }),
  );
}

function delivered({ deliveries }: LocalService): Promise<void> {
  return until('The receiver does not accept the event.', async () => deliveries.list()[0]?.state === 'delivered');
}
