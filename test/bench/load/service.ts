import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SentMessage } from '../../../infra/local/outbox.ts';
import type { SimulatedAccount } from '../../../infra/local/platforms/simulated-server.ts';
import { RECORDS } from './records.ts';

/** The local service in a process of its own. */
export interface ServiceProcess {
  url: string;
  outbox(): Promise<SentMessage[]>;
  accounts(connectionId: string): Promise<SimulatedAccount[]>;
  access(connectionId: string, login: number, password: string): Promise<string>;
  /** Makes the next calls to a service or a connection go wrong. */
  goWrong(target: string, fault: object): Promise<void>;
  allWell(): Promise<void>;
  /** What points an AWS client to the embedded services. */
  environment(): Promise<Record<string, string>>;
  /** What it logged as errors, by event and reason. */
  readonly errors: ReadonlyMap<string, number>;
  /** The accounts whose record it could not write, as it logged them: client and login. */
  readonly notRecorded: ReadonlySet<string>;
  /** The most memory that it had so far, in bytes; undefined where the system does not tell. */
  peakMemory(): Promise<number | undefined>;
  running(): boolean;
  stop(): Promise<void>;
}

const ROOT = new URL('../../../', import.meta.url).pathname;
const START_MS = 60_000;

/** @param settleSeconds how long after a lost answer an account that is not there certainly never comes */
export async function startServiceProcess(settleSeconds: number): Promise<ServiceProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'load-'));
  const crmFile = join(folder, 'crm.json');
  await writeFile(crmFile, JSON.stringify(RECORDS));
  const child = await spawnService({ CRM_FILE: crmFile, SETTLE_SECONDS: String(settleSeconds) });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const errors = new Map<string, number>();
  const notRecorded = new Set<string>();
  const url = await ready(child, (line) => {
    noteUnrecorded(line, notRecorded);
    return count(line, errors);
  }).catch((error: unknown) => {
    end();
    throw error;
  });

  return {
    url,
    ...localCalls(url),
    errors,
    notRecorded,
    peakMemory: () => peakMemory(child.pid),
    running: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      process.off('exit', end);
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit');
        end();
        await ended;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function spawnService(settings: Record<string, string>): Promise<ChildProcess> {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { scripts: { start: string } };
  // The line of `npm start`, which replaces its shell: the child is the service itself.
  return spawn('/bin/sh', ['-c', scripts.start], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH ?? ''}`,
      // By this it ends with its parent, whatever becomes of that.
      npm_lifecycle_event: 'start',
      PORT: '0',
      ...settings,
      LOG_LEVEL: 'ERROR',
    },
  });
}

type LocalCalls = Pick<ServiceProcess, 'outbox' | 'accounts' | 'access' | 'goWrong' | 'allWell' | 'environment'>;

/** What the local service shows beside the API. */
function localCalls(url: string): LocalCalls {
  const get = async (path: string): Promise<unknown> => {
    const answer = await fetch(url + path, { headers: { accept: 'application/json' } });
    if (!answer.ok) throw new Error(`GET ${path} was answered with ${answer.status}.`);
    return answer.json();
  };
  return {
    outbox: async () => (await get('/_local/outbox')) as SentMessage[],
    accounts: async (id) => (await get(`/_local/platforms/${id}/accounts`)) as SimulatedAccount[],
    async access(id, login, password) {
      const body = JSON.stringify({ login, password });
      const answer = await fetch(`${url}/_local/platforms/${id}/login`, { method: 'POST', body });
      return ((await answer.json()) as { access: string }).access;
    },
    async goWrong(target, fault) {
      const answer = await fetch(`${url}/_local/faults/${target}`, { method: 'PUT', body: JSON.stringify(fault) });
      if (!answer.ok) throw new Error(`The fault of ${target} was answered with ${answer.status}.`);
    },
    async allWell() {
      await fetch(`${url}/_local/faults`, { method: 'DELETE' });
    },
    environment: async () => (await get('/_local/environment')) as Record<string, string>,
  };
}

/**
 * @param log takes every line of its log from then on; false where it is none
 * @returns its address, once it can be called
 */
async function ready(child: ChildProcess, log: (line: string) => boolean): Promise<string> {
  if (child.stdout === null || child.stderr === null) throw new Error('The service has no output.');
  const lines = createInterface({ input: child.stdout });
  // The log of errors; what else is said there is for whoever reads this.
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (!log(line)) process.stderr.write(`${line}\n`);
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('The service did not start in time.')), START_MS);
    lines.on('line', (line) => {
      const url = /^ready (\S+)$/.exec(line)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`The service ended with ${code}.`));
    });
  });
}

/** Counts a line of the log by its event and its reason. @returns false where it is none */
function count(line: string, errors: Map<string, number>): boolean {
  const event = /"message":"(\w+)"/.exec(line)?.[1];
  if (event === undefined) return false;
  const reason = /"reason":"([^"]*)"/.exec(line)?.[1];
  const name = [event, reason].filter(Boolean).join(' ');
  errors.set(name, (errors.get(name) ?? 0) + 1);
  return true;
}

function noteUnrecorded(line: string, notRecorded: Set<string>): void {
  if (!line.includes('"message":"AccountNotRecorded"')) return;
  const { user_id, login } = JSON.parse(line) as { user_id: string; login: number };
  notRecorded.add(`${user_id} ${login}`);
}

async function peakMemory(pid: number | undefined): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
}
