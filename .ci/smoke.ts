import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { bundle, ENTRY_FILE } from '../infra/bundle.ts';
import { FUNCTION_NAMES } from '../infra/functions.ts';
import type { LambdaHandler } from '../infra/local/gateway.ts';
import { processFolder } from '../infra/local/process-folder.ts';
import { startService } from '../infra/local/service.ts';
import { OTP_TYPES } from '../lib/validators/otp-types.ts';

/**
 * The first steps of a new user, as a script: `npm start`, then curl on every route; and the bundles that are
 * deployed, loaded by this Node and called through the gateway. Its last line is `N passed, N failed`.
 */

const run = promisify(execFile);
const { folder } = processFolder('smoke');
const counts = { passed: 0, failed: 0 };
const REGISTRATION = {
  type: 'trader',
  name: 'Smoke Test',
  password: 'correct horse battery',
  repeat_password: 'correct horse battery',
  form_id: 'FORM0001',
  k3J9xQ: 'some',
};
const PHONE = { country_code: '+44', number: '07400 123457' };

async function check(title: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
    counts.passed += 1;
    console.log(`ok      ${title}`);
  } catch (error) {
    counts.failed += 1;
    console.log(`FAILED  ${title}\n        ${error instanceof Error ? error.message : error}`);
  }
}

function must(truth: boolean, what: string): asserts truth {
  if (!truth) throw new Error(what);
}

interface Answer {
  status: number;
  body: string;
}

/** Calls with curl, as the README shows it. */
async function curl(url: string, body?: unknown, source = '203.0.113.1', method?: string): Promise<Answer> {
  const sent =
    body === undefined
      ? []
      : ['-H', 'content-type: application/json', '-H', `x-forwarded-for: ${source}`, '-d', JSON.stringify(body)];
  const how = method === undefined ? [] : ['-X', method];
  const { stdout } = await run('curl', ['-sS', '--max-time', '40', '-w', '\n%{http_code}', ...how, ...sent, url]);
  const end = stdout.lastIndexOf('\n');
  return { status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) };
}

interface Started {
  npm: ChildProcess;
  url: string;
  seconds: number;
  exited: Promise<number | null>;
  output(): string;
}

function npmStart(environment: Record<string, string>): Promise<Started> {
  const began = Date.now();
  const npm = spawn('npm', ['start'], {
    env: { ...process.env, PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const exited = new Promise<number | null>((resolve) => npm.once('exit', (code) => resolve(code)));
  return new Promise((resolve) => {
    const settle = (url: string) =>
      resolve({ npm, url, seconds: (Date.now() - began) / 1_000, exited, output: () => output });
    const read = (bytes: Buffer) => {
      output += bytes.toString();
      const url = /^ready (http:\/\/localhost:\d+)$/m.exec(output)?.[1];
      if (url !== undefined) settle(url);
    };
    npm.stdout.on('data', read);
    npm.stderr.on('data', read);
    exited.then(() => settle(''));
  });
}

async function refusesConnections(url: string): Promise<boolean> {
  return curl(url).then(
    () => false,
    () => true,
  );
}

/** Registers on every channel and opens an account on every protocol. */
async function walk(url: string, first: number): Promise<void> {
  await registerOnEveryChannel(url, first);
  await openOnEveryProtocol(url);
  await meetErrors(url);
}

async function registerOnEveryChannel(url: string, first: number): Promise<void> {
  for (const [index, channel] of OTP_TYPES.entries()) {
    const phone = channel === 'email' ? {} : { otp_type: channel, phone: PHONE };
    const fields = { email: `smoke${first}@example.com`, ...phone };
    await check(`registration by ${channel} answers 204, and a code of six digits is sent`, async () => {
      await curl(`${url}/_local/outbox`, undefined, undefined, 'DELETE');
      const source = `203.0.113.${first + index}`;
      const answer = await curl(`${url}/public/v1/account/register/request`, { ...REGISTRATION, ...fields }, source);
      must(answer.status === 204 && answer.body === '', `answered ${answer.status} ${answer.body}`);
      const outbox = JSON.parse((await curl(`${url}/_local/outbox`)).body) as { kind: string; text: string }[];
      must(outbox.length === 1 && outbox[0]?.kind === channel, `the outbox has ${outbox.map((entry) => entry.kind)}`);
      const digits = outbox[0].text.replace(/\D*(\d)\D+(?=\d\b)/g, '$1');
      must(/\d{6}/.test(outbox[0].text) || /\d{6}/.test(digits), 'the message has no code of six digits');
    });
  }

  await check('the code of a mail confirms the registration, and the CRM has a new client', async () => {
    await curl(`${url}/_local/outbox`, undefined, undefined, 'DELETE');
    const email = `smoke${first}.client@example.com`;
    const source = `203.0.113.${first + OTP_TYPES.length}`;
    await curl(`${url}/public/v1/account/register/request`, { ...REGISTRATION, email }, source);
    const [mail] = JSON.parse((await curl(`${url}/_local/outbox`)).body) as { text: string }[];
    const code = /\b\d{6}\b/.exec(mail?.text ?? '')?.[0];
    const body = { otp_type: 'email', email, password: REGISTRATION.password, code };
    const answer = await curl(`${url}/public/v1/account/register/confirm`, body, source);
    must(answer.status === 204, `answered ${answer.status} ${answer.body}`);
    // The CRM is notified without another call.
    for (let looks = 1; !(await curl(`${url}/_local/clients`)).body.includes(email); looks += 1) {
      must(looks < 50, 'the CRM has no such client');
      await sleep(100);
    }
  });
}

async function openOnEveryProtocol(url: string): Promise<void> {
  const accounts = [
    ['tp5', 'tp5-live-1', 'real\\standard', {}],
    ['tp4', 'tp4-live-1', 'standard', {}],
    ['tp4', 'tp4-gw-1', 'demoforex', { account_type_id: 'ATDEMO04' }],
  ] as const;
  for (const [version, connection, group, more] of accounts) {
    await check(`an account on ${connection} is opened with 200, and both passwords log in`, async () => {
      const body = { connection_id: connection, group, leverage: 100, send_email: true, ...more };
      const answer = await curl(`${url}/public/v1/users/CLIENT01/${version}/accounts`, body);
      must(answer.status === 200, `answered ${answer.status} ${answer.body}`);
      const opened = JSON.parse(answer.body) as { login: number; master_password: string; investor_password: string };
      must(
        Object.keys(opened).sort().join() === 'investor_password,login,master_password',
        `members ${Object.keys(opened)}`,
      );
      const platform = `${url}/_local/platforms/${connection}`;
      const list = JSON.parse((await curl(`${platform}/accounts`)).body) as Record<string, unknown>[];
      const account = list.find(({ login }) => login === opened.login);
      must(account?.group === group && account.leverage === 100 && account.name === 'Ann Lee', 'it is another account');
      for (const [access, password] of [
        ['master', opened.master_password],
        ['investor', opened.investor_password],
      ]) {
        const login = await curl(`${platform}/login`, { login: opened.login, password });
        must((JSON.parse(login.body) as { access: string }).access === access, `no ${access} login`);
      }
    });
  }
}

async function meetErrors(url: string): Promise<void> {
  await check('an unknown connection is answered with tp5_connection_not_found', async () => {
    const body = { connection_id: 'tp4-live-1', group: 'x', leverage: 1 };
    const answer = await curl(`${url}/public/v1/users/CLIENT01/tp5/accounts`, body);
    must(
      answer.status === 400 && answer.body.includes('"tp5_connection_not_found"'),
      `answered ${answer.status} ${answer.body}`,
    );
  });
  await check('all errors of a request are listed at once', async () => {
    const answer = await curl(
      `${url}/public/v1/account/register/request`,
      { email: 'x', form_id: 'y' },
      '203.0.113.99',
    );
    const { type, errors } = JSON.parse(answer.body) as { type: string; errors: unknown[] };
    must(answer.status === 400 && type === 'validation_failed' && errors.length > 4, `answered ${answer.status}`);
  });
}

const started = await npmStart({});
await check(`npm start is ready (after ${started.seconds.toFixed(1)} s)`, async () => {
  must(started.url !== '', `it ended: ${started.output()}`);
});
if (started.url !== '') {
  await walk(started.url, 1);
  await check('Ctrl-C ends everything at once', async () => {
    started.npm.kill('SIGINT');
    const ended = await Promise.race([started.exited.then(() => true), sleep(3_000, false)]);
    must(ended, 'npm did not end within three seconds');
    must(await refusesConnections(started.url), 'something still listens');
  });
  started.npm.kill('SIGKILL');
}

await check('a CRM file with errors ends npm start, every error listed', async () => {
  const file = join(folder, 'crm.json');
  await writeFile(file, JSON.stringify({ clients: [{ id: 'CLIENT01', email: 'x' }], forms: 7 }));
  const bad = await npmStart({ CRM_FILE: file });
  must(bad.url === '', 'it started');
  must((await bad.exited) !== 0, 'it ended with 0');
  for (const fault of ['clients[0].email', 'clients[0].name', 'forms'])
    must(bad.output().includes(fault), `${fault} is missing`);
});

await check('every function is bundled', async () => {
  for (const name of FUNCTION_NAMES) await bundle(name, join(folder, name));
});
const service = await startService({
  load: async (name) => ((await import(join(folder, name, ENTRY_FILE))) as { handler: LambdaHandler }).handler,
});
console.log('The bundled functions:');
await walk(service.url, 11);
await check('the scheduled function runs', () => service.tick());
await service.close();

console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed === 0 ? 0 : 1);
