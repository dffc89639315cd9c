import { randomUUID } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import { type AccountAnswer, accountBody, statusAndType } from '../support/account-calls.ts';
import { CONNECTIONS, type ConnectionId } from '../support/account-connections.ts';
import { type AccountWorld, newClient, type Target, WorldPool } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';
import { searchedMarks } from '../support/secret-search.ts';
import { listenForTest } from '../support/servers.ts';
import { localCertificate } from '../support/web-api.ts';

/**
 * Every step of an opening, with faults: the answer follows the contract and comes in time, the next request works, and
 * a retry gets the one account. The meaning of each answer is tested at the platforms, and its consequence in
 * `test/lib/openings`; here each kind occurs once where its effect differs.
 */

type AnyFault = Omit<Fault, 'times'> & { times?: number };
interface Step {
  on?: ConnectionId;
  target: Target | readonly Target[];
  /** More fields of the request. */
  more?: Record<string, unknown>;
  /** The first call of this step, counted from 0. */
  after?: number;
  /** Starts without a session and without secrets in memory; or with a session that the server has forgotten. */
  session?: 'none' | 'forgotten';
  /** The step that the log of the failure names. */
  logs?: string;
}
/** The first answer; how many accounts the client has then; the answer to a retry. */
type Outcome = [first: string, accounts: number, retry: string];
type Row = [title: string, Step, AnyFault, Outcome];

const UNAVAILABLE = '503 platform_unavailable';
const UNKNOWN = '504 account_outcome_unknown';
const opened: Outcome = ['200', 1, '200'];
const unavailable: Outcome = [UNAVAILABLE, 0, '200'];
const platformRefused: Outcome = ['502 platform_refused', 0, '200'];
const internalError: Outcome = ['500 internal_error', 0, '200'];
const unknown: Outcome = [UNKNOWN, 0, '200'];
/** An operator must decide, also about a retry. */
const undecidable: Outcome = [UNKNOWN, 0, UNKNOWN];
const forOperators = (accounts: number): Outcome => [UNKNOWN, accounts, UNKNOWN];

const ALWAYS = 1_000;
/** The time of a function, in milliseconds. It stops working four seconds earlier. */
const FUNCTION_MS = 20_000;
/** The same if something does not answer, which uses all of it. */
const SHORT_MS = 9_000;
/** The services that are called after an account is open. */
const NOTICES = ['ses', 'sns', 'events'] as const;
const BOTH_NOTICES = { send_email: true, send_pop_up: true };

const refused: AnyFault = { kind: 'refused' };
const lost: AnyFault = { kind: 'reply_lost' };
const silent: AnyFault = { kind: 'silence' };
const hanging: AnyFault = { kind: 'slow', ms: 60_000, times: ALWAYS };
const code = (number: number): AnyFault => ({ kind: 'retcode', code: number });
const always = (fault: AnyFault): AnyFault => ({ ...fault, times: ALWAYS });

const SERVICES: Row[] = [
  ['the claim', { target: 'dynamodb' }, refused, internalError],
  ['the claim and the records, which hang', { target: 'dynamodb' }, hanging, internalError],
  ['the reservation', { target: 'dynamodb', after: 2 }, refused, internalError],
  ['the reservation, which hangs', { target: 'dynamodb', after: 2 }, hanging, internalError],
  ['the record and the state', { target: 'dynamodb', after: 3 }, { ...refused, times: 2 }, opened],
  ['the record and the state, which hang', { target: 'dynamodb', after: 3 }, hanging, opened],
  ['the last state', { target: 'dynamodb', after: 5 }, refused, opened],
  ['both secrets', { target: 'secrets', session: 'none' }, { ...refused, times: 2 }, internalError],
  ['the secret of the platform, which hangs', { target: 'secrets', after: 1, session: 'none' }, hanging, unavailable],
  ['the notices and the event', { target: NOTICES, more: BOTH_NOTICES }, always(refused), opened],
  ['the notices and the event, which hang', { target: NOTICES, more: BOTH_NOTICES }, hanging, opened],
];

let logins = 820_000;
/** A login of the caller is looked up first. */
const withLogin = (on: ConnectionId): Step => {
  logins += 1;
  return { on, target: CONNECTIONS[on].server, more: { login: logins }, after: 1 };
};
/** The commands of a platform. If one names the login, a lost answer is resolved within the request. */
const COMMANDS: Row[] = [
  ...(['tp5-live', 'reg-live'] as const).map(
    (on): Row => [`the connection to ${on}`, { on, target: CONNECTIONS[on].server }, { kind: 'down' }, unavailable],
  ),
  [
    'the authentication',
    { target: 'tp5', session: 'forgotten' },
    { kind: 'session_dropped', step: 'authentication' },
    unavailable,
  ],
  ['the opening, throttled', { target: 'tp5' }, { kind: 'throttled' }, unavailable],
  ['the opening, answered with an unknown code', { target: 'tp5' }, code(9_999), unavailable],
  ['the opening, refused', { target: 'tp5' }, refused, platformRefused],
  ['the opening, with a lost answer', { target: 'tp5' }, { ...lost, times: 2 }, opened],
  ['the opening, executed late', { target: 'tp5' }, { kind: 'late', ms: 1_500 }, opened],
  ['the opening, with a silent server', { target: 'tp5' }, silent, opened],
  ['the opening, with a server that stays silent', { target: 'tp5' }, always(silent), unknown],
  ['the opening, with a login that exists and is not shown', { target: 'tp5' }, code(3004), undecidable],
  ['the opening, executed and answered 10', { target: 'tp5' }, { kind: 'executed_retcode', code: 10 }, opened],
  [
    'the opening, executed and refused for its content',
    { target: 'tp5' },
    { kind: 'executed_retcode', code: 3 },
    opened,
  ],
  ['the opening on tp5-live, repeated by the server', { target: 'tp5' }, { kind: 'executed_twice' }, opened],
  [
    'the opening on gw-live, repeated by the server',
    { on: 'gw-live', target: 'gw' },
    { kind: 'executed_twice' },
    [UNKNOWN, 1, UNKNOWN],
  ],
  [
    'the deposit, made and answered 10',
    { on: 'tp5-demo', target: 'tp5', after: 1, logs: 'deposit' },
    { kind: 'executed_retcode', code: 10 },
    opened,
  ],
  ['the opening, with a password', { target: 'tp5' }, code(3006), ['400 password_rejected', 0, '200']],
  ['the opening of a caller’s login, with a lost answer', withLogin('tp5-live'), lost, opened],
  ['the opening of a caller’s login, which exists and is not shown', withLogin('tp5-live'), code(3004), undecidable],
  ['the opening on a gateway, with a lost answer', { on: 'gw-live', target: 'gw' }, lost, opened],
  ['the opening of a caller’s login on a gateway', withLogin('gw-live'), lost, [UNKNOWN, 1, UNKNOWN]],
  ['the opening on a plug-in, with a lost answer', { on: 'reg-live', target: 'reg' }, lost, forOperators(1)],
  ['the opening on a plug-in, with a silent server', { on: 'reg-live', target: 'reg' }, silent, forOperators(0)],
  [
    'the opening and the deposit, which take long',
    { on: 'tp5-demo', target: 'tp5' },
    { kind: 'slow', ms: 1_000, times: 2 },
    opened,
  ],
  ...[refused, lost, silent].map(
    (fault): Row => [
      `the deposit, ${fault.kind}`,
      { on: 'tp5-demo', target: 'tp5', after: 1, logs: 'deposit' },
      fault,
      opened,
    ],
  ),
];

const WORLDS = 3;
vi.setConfig({ maxConcurrency: WORLDS });
const ANN = { id: 'CLIENT01', email: 'annegret@mailbox.example', name: 'Annegret Leewarden' };
let pool: WorldPool;
beforeAll(async () => {
  const bundles = await bundleInto(inject('bundles'), 'settle-operations');
  pool = new WorldPool(WORLDS, { bundles, clients: [ANN] });
});
afterAll(async () => {
  await pool.close();
});

describe.concurrent('A fault at', () => {
  it.each([...SERVICES, ...COMMANDS])('%s', (_, step, fault, outcome) =>
    pool.use((world) => walk(world, step, fault, outcome)),
  );
});

function isUnanswered({ kind, times }: AnyFault): boolean {
  return kind === 'silence' || kind === 'slow' || times === ALWAYS;
}

async function walk(world: AccountWorld, step: Step, fault: AnyFault, [first, count, retry]: Outcome) {
  const { on = 'tp5-live', target, after = 0, more, session, logs } = step;
  const server = world.servers[CONNECTIONS[on].server];
  const client = await newClient(world);
  const call = { userId: client.id, body: accountBody(on, more), key: `key-${client.id}` };
  const accounts = () => server.accounts().filter(({ email }) => email === client.email);
  const openAnother = async () => expect(statusAndType(await world.ask({ body: accountBody(on) }))).toBe('200');
  // A process with a session; only this server has them.
  if (server === world.servers.tp5) await openAnother();
  if (session === 'none') await world.environments.retire();
  if (session === 'forgotten') world.servers.tp5.forgetSessions();
  for (const one of [target].flat()) world.faults[one].set({ times: 1, after, ...fault });

  const answer = await world.ask({ ...call, ms: isUnanswered(fault) ? SHORT_MS : FUNCTION_MS });
  expect(statusAndType(answer)).toBe(first);
  expect(accounts()).toHaveLength(count);
  if (first === UNKNOWN) expect(answer.body.operation_id).toMatch(/^[0-9a-f-]{36}$/);
  const isRetried = first === UNAVAILABLE || (first === UNKNOWN && retry === '200');
  expect(Number(answer.headers['retry-after'] ?? 0) > 0).toBe(isRetried);

  if (fault.times === ALWAYS || session === 'none') world.clearFaults();
  // A retry that opens the account is itself the next request.
  if (first === '200' || retry !== '200') await openAnother();
  let last = await world.ask(call);
  while (statusAndType(last) === '409 request_in_progress') {
    await world.clock.pass(1_000);
    last = await world.ask(call);
  }
  expect(statusAndType(last)).toBe(retry);
  if (retry !== '200') return;
  if (first === '200') expect(last.body).toEqual(answer.body);
  const { login, master_password, investor_password } = last.body;
  const failure = new RegExp(`"OperationNotSettled".*"step":"${logs}".*"login":${login}\\b`);
  if (logs !== undefined) expect(world.environments.log.join('')).toMatch(failure);
  expect(accounts()).toMatchObject([{ login }]);
  expect(server.access(Number(login), String(master_password))).toBe('master');
  expect(server.access(Number(login), String(investor_password))).toBe('investor');
  await complete(world, client.id, () => accounts()[0]?.balance === (on === 'tp5-demo' ? 10_000 : 0));
}

/** The settler completes the account; a payment that may have been lost is reported after a day instead. */
async function complete(world: AccountWorld, userId: string, isPaid: () => boolean) {
  await world.clock.pass(61_000);
  expect((await world.settle().outcome).kind).toBe('answer');
  if (!isPaid()) {
    await world.clock.pass(25 * 60 * 60_000);
    await world.settle().outcome;
    expect(world.environments.log.some((line) => line.includes('DepositFailed') && line.includes(userId))).toBe(true);
  }
  const [record, ...others] = await world.records(userId);
  expect(others).toEqual([]);
  expect(world.published()).toContain(record?.operation_id);
}

describe.concurrent('An account', () => {
  it.each(['tp5-live', 'gw-live'] as const)('on %s at the login of a stranger is refused, and nothing is sent', (on) =>
    pool.use(async (world) => {
      const server = world.servers[CONNECTIONS[on].server];
      server.populate({ group: 'standard', from: 800_000, count: 10 });
      const [commands, { length }] = [server.commands, server.accounts()];
      expect(statusAndType(await world.ask({ body: accountBody(on, { login: 800_005 }) }))).toBe('409 login_taken');
      expect(server.accounts()).toHaveLength(length);
      // One look-up; a gateway is also asked for the password.
      expect(server.commands - commands).toBeLessThanOrEqual(2);
    }),
  );

  it('is that of its key, caller and client: a repeat makes three calls to the database, and none to the server', () =>
    pool.use(async (world) => {
      const [one, other] = [await newClient(world), await newClient(world)];
      const call = { userId: one.id, body: accountBody('tp5-live'), key: randomUUID() };
      const calls = [call, { ...call, caller: 'arn:aws:iam::000000000000:user/other' }, { ...call, userId: other.id }];
      const answers: AccountAnswer[] = [];
      for (const first of calls) answers.push(await world.ask(first));
      expect(new Set(answers.map(({ body }) => body.login)).size).toBe(3);
      const [commands, made] = [world.servers.tp5.commands, world.database.calls.length];
      for (const [index, again] of calls.entries()) {
        const replayed = { 'idempotent-replayed': 'true' };
        expect(await world.ask(again)).toMatchObject({ body: answers[index]?.body, headers: replayed });
      }
      expect([world.servers.tp5.commands, world.database.calls.length]).toEqual([commands, made + 9]);
    }));

  it('is opened on each protocol, and found again, after the secret of passwords was rotated', async () => {
    const rotated = new WorldPool(1, { bundles: inject('bundles'), clients: [ANN], isRotated: true });
    await rotated.use(async (world) => {
      for (const on of ['tp5-live', 'gw-live', 'reg-live'] as const) {
        const call = { body: accountBody(on), key: randomUUID() };
        const first = await world.ask(call);
        expect(first.status, on).toBe(200);
        expect((await world.ask(call)).body, on).toEqual(first.body);
      }
    });
    await rotated.close();
  });

  it('leaves no password and no secret in a table, a log line, a message or a refusal, and no client’s data in the last', () =>
    pool.use(async (world) => {
      await world.ask({ body: accountBody('tp5-live', BOTH_NOTICES) });
      await world.ask({ body: accountBody('tp5-live', { leverage: 0 }) });
      // The search has texts to search in. Each world is searched again when it ends.
      const { tables, log, messages, refusals } = await world.written();
      expect(tables).toContain('"open"');
      expect(log).toMatch(/AccountOpened[\s\S]*CloudWatchMetrics/);
      for (const mark of searchedMarks(ANN)) expect(tables).toContain(mark);
      expect(messages).toContain(ANN.email);
      expect(refusals).toContain('validation_failed');
      expect(world.passwords.size).toBeGreaterThan(1);
      expect(await world.leaks()).toEqual([]);
    }));
});

/** A server that records what it is sent, after the handshake if it speaks TLS. */
async function recordingServer(speaksTls: boolean): Promise<{ port: number; received: string[] }> {
  const received: string[] = [];
  const record = (socket: Socket) => void socket.on('data', (bytes) => received.push(String(bytes)));
  const { key, cert } = await localCertificate();
  const server = speaksTls ? createTlsServer({ key, cert }, record) : createServer(record);
  return { port: await listenForTest(server), received };
}

describe('The password of a trading server', () => {
  it.each(['tp5-live', 'reg-live', 'gw-live'] as const)(
    'is not sent to another server that a connection like %s leads to: 502, with the alarm’s event',
    (on) =>
      pool.use(async (world) => {
        const { server, version } = CONNECTIONS[on];
        const secret = `platform/listed-${on}`;
        await world.putSecret(secret, { version, server, hosts: [`127.0.0.1:${world.servers[server].port}`] });
        const { port, received } = await recordingServer(server === 'tp5');
        const listed = { ...world.connections[on], id: `listed-${on}`, secret };
        const client = await newClient(world);
        const call = {
          version,
          userId: client.id,
          body: accountBody(on, { connection_id: listed.id }),
          key: randomUUID(),
        };

        await world.writeRecords({ connections: [{ ...listed, port }] });
        const lines = world.environments.log.length;
        expect(statusAndType(await world.ask(call))).toBe('502 platform_refused');
        expect(received).toEqual([]);
        const log = world.environments.log.slice(lines).join('');
        expect(log).toMatch(/"PlatformRefused".*"reason":"host_not_listed".*"PlatformRefused":1/);

        await world.writeRecords({ connections: [listed] });
        expect(statusAndType(await world.ask(call))).toBe('200');
      }),
  );
});
