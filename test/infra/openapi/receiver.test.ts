import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../../../infra/local/service.ts';
import { signedPost } from '../../../lib/crm-webhook/post.ts';
import { postJson, register } from '../../support/local-service.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';

const KEY = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
const OTHER_KEY = `whsec_${Buffer.alloc(32, 'o').toString('base64')}`;

const file = (name: string) => fileURLToPath(new URL(`../../../infra/openapi/${name}`, import.meta.url));
const RECEIVERS: readonly (readonly [language: string, command: readonly string[]])[] = [
  ['TypeScript', [process.execPath, file('typescript/receiver.ts')]],
  ['Python', ['python3', file('python/receiver.py')]],
];
const isHere = (program: string) => spawnSync(program, ['--version']).status === 0;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const answersOn = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.end();
  });

/** Starts a receiver as an integrator would. @returns its address */
async function start([program = '', ...args]: readonly string[], more = {}): Promise<string> {
  const port = await freePort();
  const environment = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    WEBHOOK_SECRET: KEY,
    PORT: String(port),
    ...more,
  };
  const child = spawn(program, args, { env: environment, stdio: 'ignore' });
  onTestFinished(() => void child.kill());
  await expect.poll(() => answersOn(port)).toBe(true);
  return `http://127.0.0.1:${port}/events`;
}

const message = (type: string, data: object) => JSON.stringify({ type, timestamp: '2026-11-23T00:00:00.000Z', data });
const confirmed = (data: object) =>
  message('RegistrationConfirmed', { email: 'zoë@example.com', verified: 'email', ...data });
const CONFIRMED = confirmed({});

describe.each(RECEIVERS)('The receiver in %s', (_, command) => {
  it.runIf(isHere(command[0] ?? ''))('verifies the signature, and answers each event once', async () => {
    const url = await start(command);
    const post = (id: string, body = CONFIRMED, keys = [KEY]) =>
      signedPost(url, async () => keys as [string])({ id, body }, NEVER_ABORTED);
    expect(await post('r-1')).toEqual({ client_id: 'N0000001' });
    expect(await post('r-1')).toEqual({ client_id: 'N0000001' });
    expect(await post('r-2', CONFIRMED, [OTHER_KEY, KEY])).toEqual({ client_id: 'N0000002' });
    expect(await post('o-1', message('AccountOpened', { login: 1 }))).toEqual({});
    await expect(post('r-4', CONFIRMED, [OTHER_KEY])).rejects.toMatchObject({ reason: 'http_401' });
    const old = signedPost(url, async () => [KEY], { now: () => Date.now() - 400_000 });
    await expect(old({ id: 'r-5', body: CONFIRMED }, NEVER_ABORTED)).rejects.toMatchObject({ reason: 'http_401' });
  });
});

it('The local service posts to a receiver of its own, whose client can open an account', async () => {
  const service = await startService({
    crmWebhook: { url: await start([process.execPath, file('typescript/receiver.ts')]), key: KEY },
  });
  onTestFinished(() => service.close());
  const requested = await register(service, { email: 'zoe@example.com' });
  expect(requested.status).toBe(204);
  const code = /\d{6}/.exec(service.outbox.list().at(-1)?.text ?? '')?.[0];
  const confirm = { registration_id: requested.headers.get('registration-id'), code };
  expect((await postJson(service, '/public/v1/account/register/confirm', confirm)).status).toBe(204);
  await expect.poll(() => service.deliveries.list()).toMatchObject([{ state: 'delivered' }]);
  const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
  expect((await postJson(service, '/public/v1/users/N0000001/tp5/accounts', order)).status).toBe(200);
});
