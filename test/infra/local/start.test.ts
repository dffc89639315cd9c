import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { startService } from '../../../infra/local/service.ts';
import { exitWithParent, explainFailedStart, startOptions } from '../../../infra/local/start-options.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { postJson, register } from '../../support/local-service.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PATH = [join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter);
/** What `npm start` runs. */
const SCRIPT = [process.execPath, ...packageJson.scripts.start.split(' ').slice(1)];
const IN_USE = 'The port is in use. PORT=0 npm start picks a free one.';
const KEY = `whsec_${Buffer.alloc(32).toString('base64')}`;
const folder = temporaryFolder('start');
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

interface Run {
  child: ChildProcess;
  /** Empty when it ended before it was ready. */
  url: string;
  output: { text: string };
  exited: Promise<number | null>;
}

/** Starts it and waits until it is ready or ended. */
async function start(
  [file = '', ...args]: readonly string[],
  environment: Record<string, string> = {},
  cwd = ROOT,
): Promise<Run> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|CRM_FILE$|INIT_CWD$)/.test(name));
  const child = spawn(file, args, {
    cwd,
    env: { ...Object.fromEntries(inherited), PATH, PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const output = { text: '' };
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const ready = new Promise<void>((resolve) => {
    const read = (bytes: Buffer) => {
      output.text += bytes.toString();
      if (output.text.includes('\nready ') || output.text.startsWith('ready ')) resolve();
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
  });
  await Promise.race([ready, exited]);
  const url = /^ready (\S+)$/m.exec(output.text)?.[1] ?? '';
  return { child, url, output, exited };
}

/** Starts the service of this environment in this process; it ends with its test. */
async function startHere(environment: Record<string, string>) {
  const service = await startService(await startOptions({ PORT: '0', ...environment }));
  onTestFinished(() => service.close());
  return service;
}

/** The message of a start in an invalid environment. */
function failedStart(environment: Record<string, string>): Promise<string> {
  return startOptions(environment).then(() => 'nothing', explainFailedStart);
}

async function fileOf(content: unknown): Promise<string> {
  const path = join(folder, `${Math.random()}.json`);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

async function isGone(url: string): Promise<boolean> {
  return fetch(url).then(
    () => false,
    () => true,
  );
}

describe('npm start', () => {
  it('prints its address and that of its page, accepts ten registrations at once, and ends at once on a signal', async () => {
    const run = await start(SCRIPT);
    const { url, output, child, exited } = run;
    expect(output.text).toBe(`ready ${url}\npage ${url}/_local\n`);
    const people = Array.from({ length: 10 }, (_, n) => ({ email: `a${n}@example.com` }));
    const answers = await Promise.all(people.map((person) => register(run, person)));
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    // At its end it has written its whole log: the reason of an internal error, such as a machine that is too busy.
    expect(
      answers.map(({ status }) => status).filter((status) => status !== 204),
      output.text,
    ).toEqual([]);
    expect(await isGone(url)).toBe(true);
  });

  it('and the commands on it work whatever the AWS settings of the user are', async () => {
    const user = { AWS_PROFILE: 'nobody', AWS_USE_FIPS_ENDPOINT: 'true', AWS_USE_DUALSTACK_ENDPOINT: 'true' };
    const { url, output, child, exited } = await start(SCRIPT, user);
    expect(url, output.text).not.toBe('');
    const asked = await Promise.all(
      ['infra/ops/ops.ts list connections', 'infra/doctor/doctor.ts'].map((words) =>
        start([process.execPath, ...words.split(' '), `--local=${url}`], user),
      ),
    );
    for (const one of asked)
      expect([await one.exited, one.output.text]).toEqual([0, expect.stringContaining('tp5-live-1')]);
    child.kill('SIGTERM');
    await exited;
  });

  it('ends if the reader of its output has gone, and does not spin', async () => {
    const run = await start([process.execPath, 'infra/local/start.ts']);
    const ended = once(run.child, 'exit');
    run.child.stdout?.destroy();
    // The functions write to the output.
    await register(run, { email: 'head@example.com' }).catch(() => {});
    expect(await ended).toEqual([0, null]);
  });

  it('listens on the given port, and says in one line that it is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await startHere({ PORT: String(port) }).then(() => 'started', explainFailedStart)).toBe(IN_USE);
  });

  it('prints what is not valid, and ends with 1', async () => {
    const { exited, output } = await start([process.execPath, 'infra/local/start.ts'], { PORT: 'http' });
    expect(await exited).toBe(1);
    expect(output.text).toBe('The settings are not valid:\n  PORT: must be a number from 0 to 65535\n');
  });

  it.each<[environment: Record<string, string>, sentence: string]>([
    [{ PORT: '3000.5' }, 'PORT: must be a number from 0 to 65535'],
    [{ CRM_WEBHOOK: 'http://127.0.0.1.acme.example/', CRM_WEBHOOK_SECRET: KEY }, 'CRM_WEBHOOK: must be an https'],
    [{ CRM_WEBHOOK: 'http://127.0.0.1:4000/hook' }, 'CRM_WEBHOOK_SECRET: is required by CRM_WEBHOOK'],
    [{ PROVIDER_SMS: 'http://sms.acme.example/' }, 'PROVIDER_SMS: must be local, an https address, or http'],
    [{ PROVIDER_SMS: 'local', PROVIDER_SECRET: 'short' }, 'PROVIDER_SECRET: must begin with whsec_'],
    [{ CHANNELS: 'email,pigeon' }, 'CHANNELS: must list email'],
  ])('refuses %j', async (environment, sentence) => {
    expect(await failedStart(environment)).toContain(sentence);
  });
});

describe('ALLOWED_ORIGINS=… CAPTCHA=turnstile PROVIDER_SMS=… npm start', () => {
  it('lets pages of those origins register people, requires a captcha, and sends texts through that provider', async () => {
    const got: unknown[] = [];
    const provider = createHttpServer(async (request, response) => {
      got.push(new Webhook(KEY).verify(await text(request), request.headers as Record<string, string>));
      response.writeHead(202).end();
    }).listen(0, '127.0.0.1');
    await once(provider, 'listening');
    onTestFinished(() => void provider.close());
    const { port } = provider.address() as AddressInfo;
    const run = await startHere({
      ALLOWED_ORIGINS: 'https://test.acme.example,https://www.acme.example',
      ALLOWED_HEADERS: 'x-acme-trace',
      CAPTCHA: 'turnstile',
      PROVIDER_SMS: `http://127.0.0.1:${port}/sms`,
      PROVIDER_SECRET: KEY,
    });
    const { url } = run;
    const preflight = async (origin: string) => {
      const headers = { origin, 'access-control-request-method': 'POST' };
      const answer = await fetch(`${url}/public/v1/account/register/request`, { method: 'OPTIONS', headers });
      return [answer.status, answer.headers.get('access-control-allow-headers')?.includes('x-acme-trace')];
    };
    expect(await preflight('https://www.acme.example')).toEqual([204, true]);
    expect(await preflight('https://www.acme.example:8443')).toEqual([403, undefined]);
    const texted = { otp_type: 'sms', phone: { country_code: '44', number: '7400654321' } };
    expect((await register(run, texted)).status).toBe(400);
    const solved = await fetch(`${url}/_local/captcha`, { method: 'POST' });
    const { token } = (await solved.json()) as { token: string };
    expect((await register(run, texted, { 'captcha-token': token })).status).toBe(204);
    expect(got).toMatchObject([{ to: '+447400654321', kind: 'sms', code: expect.stringMatching(/^\d{6}$/) }]);
  });
});

describe('CRM_FILE=crm.json npm start', () => {
  it('has those records instead of the demo ones', async () => {
    const file = await fileOf({
      forms: [{ id: 'MYFORM01', fields: [{ key: 'q1', type: 'boolean', required: true }] }],
      clients: [{ id: 'MYCLIENT', email: 'me@example.com', name: 'Me' }],
      connections: [
        {
          id: 'mine',
          platform: 'tp5',
          protocol: 'web-api',
          host: 'local',
          port: 443,
          demo: false,
          secret: 'any',
          logins: { from: 500_000, to: 599_999 },
        },
      ],
    });
    const run = await startHere({ CRM_FILE: file });
    const { url } = run;
    const open = async (user: string, connection_id: string) => {
      const body = { connection_id, group: 'real\\standard', leverage: 1 };
      return (await postJson(run, `/public/v1/users/${user}/tp5/accounts`, body)).status;
    };
    expect(await open('MYCLIENT', 'mine')).toBe(200);
    expect(await open('CLIENT01', 'mine')).toBe(404);
    expect(await open('MYCLIENT', 'tp5-live-1')).toBe(400);
    expect(await (await fetch(`${url}/_local/platforms/mine/accounts`)).json()).toHaveLength(1);
  });

  it('finds the file relative to the person’s directory, and leaves no orphan when npm is killed', async () => {
    await writeFile(join(folder, 'here.json'), JSON.stringify(DEMO_RECORDS));
    const npm = ['npm', '--prefix', ROOT, 'start'];
    const { child, url, exited } = await start(npm, { CRM_FILE: 'here.json' }, folder);
    expect(url).toMatch(/^http:\/\/localhost:\d+$/);
    child.kill('SIGKILL');
    // The pipe is closed when the last process that writes to it is gone.
    await exited;
    expect(await isGone(url)).toBe(true);
  });

  it.each([
    ['an error', { clients: [{ id: 'CLIENT01', email: 'nonsense', name: 'A' }] }, 'clients[0].email: must be an email'],
    [
      'no local secret of a real server',
      { connections: [{ ...DEMO_RECORDS.connections[0], host: 'mt5.example.com' }] },
      'local_secrets["platform/tp5-live-1"]: is missing',
    ],
  ])('refuses a file with %s', async (_, content, error) => {
    const file = await fileOf(content);
    expect(await failedStart({ CRM_FILE: file })).toContain(`CRM_FILE ${file} has 1 error`);
    expect(await failedStart({ CRM_FILE: file })).toContain(error);
  });

  it('reports a missing file', async () => {
    const path = join(folder, 'nothing.json');
    expect(await failedStart({ CRM_FILE: path })).toBe(`CRM_FILE ${path}: there is no such file.`);
  });
});

describe('The process of a start', () => {
  /** A process that runs under npm, or alone. */
  function process(env: NodeJS.ProcessEnv) {
    const ends: number[] = [];
    return Object.assign(new EventEmitter(), { env, ends, exit: (code: number) => void ends.push(code) });
  }
  type Process = Parameters<typeof exitWithParent>[0];

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('ends with 0 on %s', (signal) => {
    const alone = process({});
    exitWithParent(alone as unknown as Process);
    alone.emit(signal);
    expect(alone.ends).toEqual([0]);
  });

  it.each([
    ['ends when npm is gone', { npm_lifecycle_event: 'start' }, [0]],
    ['that npm has not started survives its parent', {}, []],
  ])('%s', (_, env, ends) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const own = process(env);
    let parents = '7 6';
    exitWithParent(own as unknown as Process, () => parents);
    vi.advanceTimersByTime(1_000);
    expect(own.ends).toEqual([]);
    parents = '7 1';
    vi.advanceTimersByTime(250);
    expect(own.ends).toEqual(ends);
  });
});
