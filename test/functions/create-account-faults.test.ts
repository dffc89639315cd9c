import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import { type AccountAnswer, accountBody } from '../support/account-calls.ts';
import { CONNECTIONS, type ConnectionId } from '../support/account-connections.ts';
import type { AccountWorld, Target } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';
import { newClient, WorldPool } from '../support/world-pool.ts';

/**
 * Every step of an opening, with every kind of fault: the answer is the contract's and comes in time, the next request
 * works by itself, and a retry gets the one account. What each return code means is tested at the platform.
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
  /** Starts without a session, and without secrets in memory. */
  cold?: boolean;
  /** The server has forgotten the session. */
  forgotten?: boolean;
}
/** The first answer; what the client has then; the answer to a retry. Absent: the retry gets the account. */
type Outcome = [first: string, accounts?: number, retry?: string];

const OPENED = '200';
const UNAVAILABLE = '503 platform_unavailable';
const REFUSED = '502 platform_refused';
const UNKNOWN = '504 account_outcome_unknown';
const INTERNAL = '500 internal_error';
const NEEDS_OPERATOR = '409 account_outcome_unknown';
const ALWAYS = 1_000;
/** The time of a function whose server does not answer, in milliseconds. It stops working four seconds earlier. */
const SHORT_MS = 9_000;
const NOTICES = { send_email: true, send_pop_up: true };
const DEPOSIT = 10_000;

const throttled: AnyFault = { kind: 'throttled' };
const refused: AnyFault = { kind: 'refused' };
const down: AnyFault = { kind: 'down' };
const slow: AnyFault = { kind: 'slow', ms: 400 };
const hanging: AnyFault = { kind: 'slow', ms: 60_000 };
const silent: AnyFault = { kind: 'silence' };
const dropped: AnyFault = { kind: 'session_dropped' };
const garbage: AnyFault = { kind: 'garbage' };
const lost: AnyFault = { kind: 'reply_lost' };
const code = (number: number): AnyFault => ({ kind: 'retcode', code: number });
const times = (fault: AnyFault, count: number): AnyFault => ({ ...fault, times: count });

/** Each SDK client asks three times. */
const forGood = (fault: AnyFault, { calls = 1 }: Step) => times(fault, 3 * calls);
/** A database or a secret store that fails, answers late, or not at all. */
const service = (step: Step, broken: Outcome): [string, Step, AnyFault, Outcome][] => [
  ['throttled for good', step, forGood(throttled, step), broken],
  ['throttled once', step, throttled, [OPENED, 1]],
  ['refusing', step, times(refused, step.calls ?? 1), broken],
  ['down', step, forGood(down, step), broken],
  ['slow', step, times(slow, step.calls ?? 1), [OPENED, 1]],
  ['hanging', step, times(hanging, ALWAYS), broken],
];
const named = (title: string, list: [string, Step, AnyFault, Outcome][]) =>
  list.map(([fault, ...rest]): Row => [`${title}, ${fault}`, ...rest]);
type Row = [title: string, Step, AnyFault, Outcome];

const DATABASE: Row[] = [
  ...named('the claim and the records', service({ target: 'dynamodb', calls: 2 }, [INTERNAL, 0])),
  ...named('the reservation', service({ target: 'dynamodb', after: 2 }, [INTERNAL, 0])),
  ...named('the record and the state', service({ target: 'dynamodb', after: 3, calls: 2, more: NOTICES }, [OPENED, 1])),
  ...named('the last state', service({ target: 'dynamodb', after: 5, more: NOTICES }, [OPENED, 1])),
  ...named(
    'the secret of passwords',
    service({ target: 'secrets', calls: 2, cold: true }, [INTERNAL, 0]).filter(([title]) => title !== 'refusing'),
  ),
  [
    'the secret of the platform, hanging',
    { target: 'secrets', after: 1, cold: true },
    times(hanging, ALWAYS),
    [UNAVAILABLE, 0],
  ],
];

/** Before the command of a session. */
const SESSION: Row[] = [
  ...named('TLS', [
    ['slow', { target: 'tp5', cold: true }, { ...slow, step: 'tls' }, [OPENED, 1]],
    ['silent', { target: 'tp5', cold: true }, { ...silent, step: 'tls' }, [UNAVAILABLE, 0]],
    ['dropped', { target: 'tp5', cold: true }, { ...dropped, step: 'tls' }, [UNAVAILABLE, 0]],
    ['garbage', { target: 'tp5', cold: true }, { ...garbage, step: 'tls' }, [REFUSED, 0]],
  ]),
  ...[0, 1].flatMap((after) => {
    const at = { target: 'tp5', forgotten: true } as const;
    const step = { step: 'authentication', after } as const;
    return named(after === 0 ? 'auth/start' : 'auth/answer', [
      ['slow', at, { ...slow, ...step }, [OPENED, 1]],
      ['silent', at, { ...silent, ...step }, [UNAVAILABLE, 0]],
      ['dropped', at, { ...dropped, ...step }, [UNAVAILABLE, 0]],
      ['refused', at, { ...refused, ...step }, [REFUSED, 0]],
      ['garbage', at, { ...garbage, ...step }, [UNAVAILABLE, 0]],
      ['busy', at, { ...code(1018), ...step }, [UNAVAILABLE, 0]],
    ]);
  }),
];

let logins = 820_000;
/** The opening where the command names the login: a lost answer is settled within the request. */
const KEYED: Row[] = (['tp5-live', 'gw-live'] as const).flatMap((on) =>
  [false, true].flatMap((own) => {
    const at = (): Step => {
      logins += 1;
      return { on, target: CONNECTIONS[on].server, ...(own ? { more: { login: logins }, after: 1 } : {}) };
    };
    return named(`the opening on ${on}${own ? ' with a login of the caller' : ''}`, [
      ['throttled', at(), throttled, [UNAVAILABLE, 0]],
      ['refused', at(), refused, [REFUSED, 0]],
      ['slow', at(), slow, [OPENED, 1]],
      ['lost', at(), lost, [OPENED, 1]],
      ['lost twice', at(), times(lost, 2), [OPENED, 1]],
      ['executed late', at(), { kind: 'late', ms: 1_500 }, [OPENED, 1]],
      ['dropped', at(), dropped, [OPENED, 1]],
      ['silent', at(), silent, [OPENED, 1]],
      ['garbage', at(), garbage, [OPENED, 1]],
      ['silent for good', at(), times(silent, ALWAYS), [UNKNOWN, 0]],
    ]);
  }),
);
const CODES: Row[] = named('the opening on tp5-live, answered with', [
  ['an unknown outcome', { target: 'tp5' }, code(9), [OPENED, 1]],
  ['a code that no list has', { target: 'tp5' }, code(9_999), [OPENED, 1]],
  ['a login that exists', { target: 'tp5' }, code(3004), [OPENED, 1]],
  [
    'a login of the caller that exists',
    { target: 'tp5', more: { login: 810_001 }, after: 1 },
    code(3004),
    ['409 login_taken', 0],
  ],
  [
    'a reserved login of the caller',
    { target: 'tp5', more: { login: 810_002 }, after: 1 },
    code(3003),
    ['400 validation_failed', 0],
  ],
  ['a login outside of the server', { target: 'tp5' }, code(3003), [REFUSED, 0]],
  ['no login left', { target: 'tp5' }, code(3002), ['503 login_range_exhausted', 0]],
  ['no licence left', { target: 'tp5' }, code(3007), ['503 account_limit_reached', 0]],
  ['a refused password', { target: 'tp5' }, code(3006), ['400 password_rejected', 0]],
]);
/** The server is down before the command, or cannot name logins: sent once. */
const OTHERS: Row[] = [
  ...(['tp5-live', 'gw-live', 'reg-live'] as const).map(
    (on): Row => [`the opening on ${on}, down`, { on, target: CONNECTIONS[on].server }, down, [UNAVAILABLE, 0]],
  ),
  ...named('the opening on reg-live', [
    ['throttled', { on: 'reg-live', target: 'reg' }, throttled, [UNAVAILABLE, 0]],
    ['an error', { on: 'reg-live', target: 'reg' }, code(3), [REFUSED, 0]],
    ['slow', { on: 'reg-live', target: 'reg' }, slow, [OPENED, 1]],
    ['lost', { on: 'reg-live', target: 'reg' }, lost, [UNKNOWN, 1, NEEDS_OPERATOR]],
    ['dropped', { on: 'reg-live', target: 'reg' }, dropped, [UNKNOWN, 0, NEEDS_OPERATOR]],
    ['silent', { on: 'reg-live', target: 'reg' }, silent, [UNKNOWN, 0, NEEDS_OPERATOR]],
    ['garbage', { on: 'reg-live', target: 'reg' }, garbage, [UNKNOWN, 1, NEEDS_OPERATOR]],
  ]),
];
/** What comes after the opening changes nothing in the answer. */
const AFTERWARDS: Row[] = [
  ...[throttled, refused, down, slow, lost, dropped, code(4005), silent, garbage].map(
    (fault): Row => [`the deposit, ${fault.kind}`, { on: 'tp5-demo', target: 'tp5', after: 1 }, fault, [OPENED, 1]],
  ),
  ...(['ses', 'sns', 'events'] as const).flatMap((target) =>
    [throttled, refused, down, hanging].map(
      (fault): Row => [`${target}, ${fault.kind}`, { target, more: NOTICES }, times(fault, ALWAYS), [OPENED, 1]],
    ),
  ),
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
  it.each([...DATABASE, ...SESSION, ...KEYED, ...CODES, ...OTHERS, ...AFTERWARDS])('%s', (_, step, fault, outcome) =>
    pool.use((world) => walk(world, step, fault, outcome)),
  );
});

const wordOf = ({ status, body }: AccountAnswer) => (status === 200 ? OPENED : `${status} ${body.type}`);

async function walk(world: AccountWorld, step: Step, fault: AnyFault, [first, count, retry = OPENED]: Outcome) {
  const { on = 'tp5-live', target, after = 0, more, cold, forgotten } = step;
  const server = world.servers[CONNECTIONS[on].server];
  const client = await newClient(world);
  const call = { userId: client.id, body: accountBody(on, more), key: `key-${client.id}` };
  const accounts = () => server.accounts().filter(({ email }) => email === client.email);
  // A process with a session.
  expect(wordOf(await world.ask({ body: accountBody(on) }))).toBe(OPENED);
  if (cold === true) await world.environments.retire();
  if (forgotten === true) world.servers.tp5.forgetSessions();
  world.faults[target].set({ times: 1, after, ...fault });

  const answer = await world.ask({ ...call, ms: fault.kind === 'slow' && fault.ms === slow.ms ? 29_000 : SHORT_MS });
  expect(wordOf(answer)).toBe(first);
  expect(accounts()).toHaveLength(count ?? 0);
  if (first === UNKNOWN) expect(answer.body.operation_id).toMatch(/^[0-9a-f-]{36}$/);
  const isRetried = first === UNAVAILABLE || (first === UNKNOWN && retry === OPENED);
  expect(Number(answer.headers['retry-after'] ?? 0) > 0).toBe(isRetried);

  if (fault.times === ALWAYS || cold === true) world.faults[target].clear();
  expect(wordOf(await world.ask({ body: accountBody(on) }))).toBe(OPENED);
  let last = await world.ask(call);
  while (wordOf(last) === '409 request_in_progress') {
    await sleep(1_000);
    last = await world.ask(call);
  }
  expect(wordOf(last)).toBe(retry);
  if (retry !== OPENED) return;
  if (first === OPENED) expect(last.body).toEqual(answer.body);
  const { login, master_password, investor_password } = last.body;
  expect(accounts()).toMatchObject([{ login }]);
  expect(server.access(Number(login), String(master_password))).toBe('master');
  expect(server.access(Number(login), String(investor_password))).toBe('investor');
  await complete(world, client.id, () => accounts()[0]?.balance === (on === 'tp5-demo' ? DEPOSIT : 0));
}

/** The settler completes what is missing; a payment that may have been lost is reported after a day instead. */
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
