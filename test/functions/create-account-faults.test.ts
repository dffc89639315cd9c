import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import { type AccountAnswer, accountBody } from '../support/account-calls.ts';
import { CONNECTIONS, type ConnectionId } from '../support/account-connections.ts';
import type { AccountWorld, Target } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';
import { newClient, WorldPool } from '../support/world-pool.ts';

/**
 * Every step of an opening, with faults: the answer follows the contract and comes in time, the next request works, and
 * a retry gets the one account. The meaning of each answer is tested at the platforms, and its consequence in
 * `drive.test.ts`; here each kind occurs once where its effect differs.
 */

type AnyFault = Omit<Fault, 'times'> & { times?: number };
interface Step {
  on?: ConnectionId;
  target: Target;
  /** More fields of the request. */
  more?: Record<string, unknown>;
  /** The first call of this step, counted from 0, and how many calls it makes. */
  after?: number;
  calls?: number;
  /** Starts without a session and without secrets in memory; or with a session that the server has forgotten. */
  session?: 'none' | 'forgotten';
  /** With all the time that a deployed function has. */
  isSlow?: true;
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
const forOperators = (accounts: number): Outcome => [UNKNOWN, accounts, '409 account_outcome_unknown'];

const ALWAYS = 1_000;
/** The time of a function whose server does not answer, in milliseconds. It stops working four seconds earlier. */
const SHORT_MS = 9_000;
const DEPLOYED_MS = 29_000;
const ANSWER_SECONDS = 25;
const NOTICES = { send_email: true, send_pop_up: true };

const [throttled, refused, down, silent, dropped, garbage, lost] = (
  ['throttled', 'refused', 'down', 'silence', 'session_dropped', 'garbage', 'reply_lost'] as const
).map((kind): AnyFault => ({ kind })) as [AnyFault, AnyFault, AnyFault, AnyFault, AnyFault, AnyFault, AnyFault];
const slow: AnyFault = { kind: 'slow', ms: 400 };
const hanging: AnyFault = { kind: 'slow', ms: 60_000, times: ALWAYS };
const code = (number: number): AnyFault => ({ kind: 'retcode', code: number });
const always = (fault: AnyFault): AnyFault => ({ ...fault, times: ALWAYS });

const rows = (title: string, at: () => Step, list: readonly [AnyFault, Outcome, title?: string][]): Row[] =>
  list.map(([fault, outcome, name = fault.kind]): Row => [`${title}: ${name}`, at(), fault, outcome]);

/** A database or a secret store that fails, or does not answer. */
const ofService = (title: string, step: Step, broken: Outcome): Row[] =>
  rows(title, () => step, [
    [{ ...refused, times: step.calls ?? 1 }, broken],
    [hanging, broken, 'hanging'],
  ]);
const SERVICES: Row[] = [
  ...rows('the claim', () => ({ target: 'dynamodb' }), [
    // Each SDK client asks three times.
    [{ ...throttled, times: 6 }, internalError],
    [throttled, opened, 'throttled once'],
    [{ ...down, times: 6 }, internalError],
    [{ ...slow, times: 2 }, opened],
  ]),
  ...ofService('the claim and the records', { target: 'dynamodb', calls: 2 }, internalError),
  ...ofService('the reservation', { target: 'dynamodb', after: 2 }, internalError),
  ...ofService('the record and the state', { target: 'dynamodb', after: 3, calls: 2 }, opened),
  ...ofService('the last state', { target: 'dynamodb', after: 5 }, opened),
  ...ofService('both secrets', { target: 'secrets', calls: 2, session: 'none' }, internalError),
  ['the secret of the platform: hanging', { target: 'secrets', after: 1, session: 'none' }, hanging, unavailable],
  ...(['ses', 'sns', 'events'] as const).flatMap((target) =>
    rows(
      target,
      () => ({ target, more: NOTICES }),
      [refused, hanging].map((one) => [always(one), opened]),
    ),
  ),
];

const steps = (step: 'tls' | 'authentication', after: number, list: readonly [AnyFault, Outcome][]) =>
  list.map(([fault, outcome]): [AnyFault, Outcome] => [{ ...fault, step, after }, outcome]);
/** Before the command of a session. */
const BEFORE: Row[] = [
  ...rows('TLS', () => ({ target: 'tp5', session: 'none' }), [
    ...steps('tls', 0, [
      [silent, unavailable],
      [garbage, platformRefused],
    ]),
  ]),
  ...rows('auth/start', () => ({ target: 'tp5', session: 'forgotten' }), [
    ...steps('authentication', 0, [
      [dropped, unavailable],
      [refused, platformRefused],
    ]),
  ]),
  ...rows('auth/answer', () => ({ target: 'tp5', session: 'forgotten' }), [
    ...steps('authentication', 1, [[code(1018), unavailable]]),
  ]),
  ...(['tp5-live', 'gw-live', 'reg-live'] as const).flatMap((on) =>
    rows(`the connection to ${on}`, () => ({ on, target: CONNECTIONS[on].server }), [[down, unavailable]]),
  ),
];

let logins = 820_000;
/** A login of the caller is looked up first. */
const withLogin = (on: ConnectionId): Step => {
  logins += 1;
  return { on, target: CONNECTIONS[on].server, more: { login: logins }, after: 1 };
};
const OPENINGS: Row[] = [
  // If the command names the login, a lost answer is resolved within the request.
  ...rows('the opening', () => ({ target: 'tp5' }), [
    [throttled, unavailable],
    [refused, platformRefused],
    [lost, opened],
    [{ ...lost, times: 2 }, opened, 'reply_lost twice'],
    [{ kind: 'late', ms: 1_500 }, opened],
    [silent, opened],
    [garbage, opened],
    [always(silent), unknown, 'silence for good'],
  ]),
  ...rows('the opening on gw-live', () => ({ on: 'gw-live', target: 'gw' }), [
    [lost, opened],
    [always(silent), unknown, 'silence for good'],
  ]),
  ...rows('the opening of a caller’s login on gw-live', () => withLogin('gw-live'), [[lost, opened]]),
  ...rows('the opening on tp5-live', () => ({ target: 'tp5' }), [
    [code(9), opened, 'an unknown outcome'],
    [code(3004), opened, 'a login that exists'],
    [code(3006), ['400 password_rejected', 0, '200']],
  ]),
  ...rows('the opening of a caller’s login', () => withLogin('tp5-live'), [
    [lost, opened],
    [code(3004), ['409 login_taken', 0, '200'], 'a login that exists'],
  ]),
  ...rows('the opening on reg-live', () => ({ on: 'reg-live', target: 'reg' }), [
    [throttled, unavailable],
    [lost, forOperators(1)],
    [dropped, forOperators(0)],
  ]),
  ...rows('the deposit', () => ({ on: 'tp5-demo', target: 'tp5', after: 1, logs: 'deposit' }), [
    ...[refused, lost, silent].map((one): [AnyFault, Outcome] => [one, opened]),
  ]),
];
const DEPLOYED: Row[] = [
  ['a server that is silent for good', { target: 'tp5', isSlow: true }, always(silent), unknown],
  ['a plug-in that is silent', { on: 'reg-live', target: 'reg', isSlow: true }, silent, forOperators(0)],
  [
    'an opening and a deposit that take long',
    { on: 'tp5-demo', target: 'tp5', isSlow: true },
    { kind: 'slow', ms: 5_000, times: 2 },
    opened,
  ],
  ['a database that hangs', { target: 'dynamodb', isSlow: true }, hanging, internalError],
];

const WORLDS = 6;
vi.setConfig({ maxConcurrency: WORLDS });
let pool: WorldPool;
beforeAll(async () => {
  const bundles = await bundleInto(inject('bundles'), 'settle-operations');
  const clients = [{ id: 'CLIENT01', email: 'annegret@mailbox.example', name: 'Annegret Leewarden' }];
  pool = new WorldPool(WORLDS, { bundles, clients });
});
afterAll(async () => {
  await pool.close();
});

describe.concurrent('A fault at', () => {
  it.each([...DEPLOYED, ...SERVICES, ...BEFORE, ...OPENINGS])('%s', (_, step, fault, outcome) =>
    pool.use((world) => walk(world, step, fault, outcome)),
  );
});

const wordOf = ({ status, body }: AccountAnswer) => (status === 200 ? '200' : `${status} ${body.type}`);

async function walk(world: AccountWorld, step: Step, fault: AnyFault, [first, count, retry]: Outcome) {
  const { on = 'tp5-live', target, after = 0, more, session, isSlow, logs } = step;
  const server = world.servers[CONNECTIONS[on].server];
  const client = await newClient(world);
  const call = { userId: client.id, body: accountBody(on, more), key: `key-${client.id}` };
  const accounts = () => server.accounts().filter(({ email }) => email === client.email);
  // A process with a session.
  expect(wordOf(await world.ask({ body: accountBody(on) }))).toBe('200');
  if (session === 'none') await world.environments.retire();
  if (session === 'forgotten') world.servers.tp5.forgetSessions();
  world.faults[target].set({ times: 1, after, ...fault });

  const began = performance.now();
  const isBrief = fault.kind === 'slow' && fault.ms === slow.ms;
  const answer = await world.ask({ ...call, ms: isSlow || isBrief ? DEPLOYED_MS : SHORT_MS });
  if (isSlow) expect((performance.now() - began) / 1_000).toBeLessThan(ANSWER_SECONDS);
  expect(wordOf(answer)).toBe(first);
  expect(accounts()).toHaveLength(count);
  if (first === UNKNOWN) expect(answer.body.operation_id).toMatch(/^[0-9a-f-]{36}$/);
  const isRetried = first === UNAVAILABLE || (first === UNKNOWN && retry === '200');
  expect(Number(answer.headers['retry-after'] ?? 0) > 0).toBe(isRetried);

  if (fault.times === ALWAYS || session === 'none') world.faults[target].clear();
  expect(wordOf(await world.ask({ body: accountBody(on) }))).toBe('200');
  let last = await world.ask(call);
  while (wordOf(last) === '409 request_in_progress') {
    await sleep(1_000);
    last = await world.ask(call);
  }
  expect(wordOf(last)).toBe(retry);
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
