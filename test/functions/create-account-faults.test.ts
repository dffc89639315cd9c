import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import {
  type AccountAnswer,
  type AccountCall,
  type AccountWorld,
  accountBody,
  CONNECTIONS,
  type ConnectionId,
} from '../support/account-world.ts';
import { accountBundles, type Bundles } from '../support/environments.ts';
import { newClient, WorldPool } from '../support/world-pool.ts';

/**
 * Every dependency at every step of an opening, with every kind of fault: the contract's answer in time, at most one
 * account, and the next request works by itself.
 */

/** The function stops working four seconds before its end: so a silent server costs a test two seconds. */
const MS = 6_000;
const COLD_MS = 8_000;
/** Longer by far than what a slow server of these cases is late: the machine may be busy. */
const SETTLE_SECONDS = 2;
const WORLDS = 6;
const CLIENT = { id: 'CLIENT01', email: 'annegret@mailbox.example', name: 'Annegret Leewarden' };

vi.setConfig({ maxConcurrency: WORLDS });

let bundles: Bundles;
let pool: WorldPool;
beforeAll(async () => {
  bundles = await accountBundles();
  pool = new WorldPool(WORLDS, { bundles, settleSeconds: SETTLE_SECONDS, clients: [CLIENT] });
});
afterAll(async () => {
  await pool.close();
  await bundles.close();
});

/** Status and type of an answer; several where the clock decides, and a busy machine with it. */
type Expected = string | string[];

interface Case {
  on: ConnectionId;
  more?: Record<string, unknown>;
  target: keyof AccountWorld['faults'];
  fault: Omit<Fault, 'times'> & { times?: number };
  /** Without a session, and without secrets that were read before. */
  cold?: boolean;
  first: Expected;
  /** How many accounts the client has after the first answer. */
  accounts?: number | undefined;
  /** The answer to a retry with the same key; 200 where absent. */
  retry?: Expected;
  /** What may be on the account in the end: the deposit, or nothing, which is told. */
  balance?: readonly number[];
}

const DEPOSIT = 10_000;

const OPENED = '200';
const UNAVAILABLE = '503 platform_unavailable';
const REFUSED = '502 platform_refused';
const UNKNOWN = '504 account_outcome_unknown';
/** Settled within the request, if there is time. */
const SOON = [OPENED, UNKNOWN];
const UNSETTLED = '409 account_outcome_unknown';
const INTERNAL = '500 internal_error';

const wordOf = ({ status, body }: AccountAnswer) => (status === 200 ? OPENED : `${status} ${body.type}`);
const among = (expected: Expected) => (Array.isArray(expected) ? expected : [expected]);

/** The connections to which a world's environment has a session that stands. */
const warm = new WeakMap<AccountWorld, Set<ConnectionId>>();

async function walk(world: AccountWorld, one: Case): Promise<void> {
  const { on, target, fault } = one;
  const server = world.servers[CONNECTIONS[on].server];
  const client = await newClient(world);
  const call: AccountCall = { userId: client.id, body: accountBody(on, one.more), key: `key-${client.id}` };
  const count = () => server.accounts().filter(({ email }) => email === client.email).length;
  const { login: _, ...rest } = one.more ?? {};
  const next = { body: accountBody(on, rest) };

  // Whatever the case before has left behind, this begins with a session that stands, or with none.
  if (!warm.get(world)?.has(on)) expect(wordOf(await world.ask(next))).toBe(OPENED);
  warm.delete(world);
  if (one.cold === true) await world.environments.retire();
  world.faults[target].set({ times: 1, ...fault });

  const ms = one.cold === true ? COLD_MS : MS;
  const began = Date.now();
  const first = await world.ask({ ...call, ms });
  expect(among(one.first)).toContain(wordOf(first));
  expect(Date.now() - began).toBeLessThan(one.cold === true ? 25_000 : ms - 1_000);
  if (first.status === 504) expect(first.body.operation_id).toMatch(/^[0-9a-f-]{36}$/);
  if (wordOf(first) === UNAVAILABLE || (wordOf(first) === UNKNOWN && one.retry !== UNSETTLED)) {
    expect(Number(first.headers['retry-after'])).toBeGreaterThan(0);
  } else if (wordOf(first) === UNKNOWN) {
    expect(first.headers['retry-after']).toBeUndefined();
  }
  expect(count()).toBeLessThanOrEqual(1);
  if (one.accounts !== undefined) expect(count()).toBe(one.accounts);
  const balance = () => server.accounts().find(({ email }) => email === client.email)?.balance;
  const isTold = () =>
    world.environments.log.some((line) => line.includes('DepositFailed') && line.includes(client.id));

  // By itself: nothing is cleared. A refusal or a silence uses its fault up, a short outage too.
  expect(wordOf(await world.ask(next))).toBe(OPENED);
  warm.set(world, new Set([on]));

  let retry = await world.ask(call);
  for (let tries = 0; tries < 12 && ['409 request_in_progress', UNKNOWN].includes(wordOf(retry)); tries += 1) {
    await sleep(Math.min(1_000, Number(retry.headers['retry-after']) * 1_000));
    retry = await world.ask(call);
  }
  expect(among(one.retry ?? OPENED)).toContain(wordOf(retry));
  expect(count()).toBe(among(one.retry ?? OPENED).includes(OPENED) ? 1 : Math.min(1, count()));
  if (retry.status === 200) {
    if (first.status === 200) expect(retry.body).toEqual(first.body);
    const { login, master_password, investor_password } = retry.body;
    expect(server.access(Number(login), String(master_password))).toBe('master');
    expect(server.access(Number(login), String(investor_password))).toBe('investor');
    const records = await world.records(client.id);
    expect(records.map((record) => record.login)).toEqual([login]);
    if (one.balance !== undefined) {
      for (let requests = 0; requests < 12 && balance() !== DEPOSIT && !isTold(); requests += 1) {
        await sleep(500);
        expect((await world.ask(call)).body).toEqual(retry.body);
      }
      expect(one.balance).toContain(balance());
      expect(isTold()).toBe(balance() !== DEPOSIT);
    }
  }
}

/** Runs the cases side by side, each in a world of its own. */
function cases(title: string, list: [string, Case][]): void {
  describe.concurrent(title, () => {
    it.each(list)('%s', (_, one) => pool.use((world) => walk(world, one)));
  });
}

const NOTICES = { send_email: true, send_pop_up: true };

/** The calls to the database in their order; the first two are under way together. */
const DATABASE_STEPS = [
  { step: 'the claim and the records', after: 0, calls: 2, first: INTERNAL },
  { step: 'the note before the sending', after: 2, calls: 1, first: INTERNAL },
  { step: 'the account’s record', after: 3, calls: 1, first: OPENED },
  { step: 'the operation’s end', after: 4, calls: 1, first: OPENED },
] as const;

cases(
  'The database',
  DATABASE_STEPS.flatMap(({ step, after, calls, first }): [string, Case][] => {
    const at = { on: 'tp5-live', target: 'dynamodb', more: NOTICES } as const;
    const accounts = first === OPENED ? 1 : 0;
    return [
      // The client asks three times.
      [
        `throttled for good at ${step}`,
        { ...at, fault: { kind: 'throttled', after, times: 3 * calls }, first, accounts },
      ],
      [`throttled for a moment at ${step}`, { ...at, fault: { kind: 'throttled', after }, first: OPENED, accounts: 1 }],
      [`refusing at ${step}`, { ...at, fault: { kind: 'refused', after, times: calls }, first, accounts }],
      [`down at ${step}`, { ...at, fault: { kind: 'down', after, times: 3 * calls }, first, accounts }],
      [`slow at ${step}`, { ...at, fault: { kind: 'slow', ms: 300, after, times: calls }, first: OPENED, accounts: 1 }],
      [`hanging at ${step}`, { ...at, fault: { kind: 'slow', ms: 3_500, after, times: calls }, first, accounts }],
    ];
  }),
);

cases(
  'The secrets',
  [
    { step: 'the password key', after: 0, first: INTERNAL },
    { step: 'the platform’s secret', after: 1, first: UNAVAILABLE },
  ].flatMap(({ step, after, first }): [string, Case][] => {
    const at = { on: 'tp5-live', target: 'secrets', cold: true, first, accounts: 0 } as const;
    return [
      [`throttled at ${step}`, { ...at, fault: { kind: 'throttled', after, times: 3 } }],
      [`refusing at ${step}`, { ...at, fault: { kind: 'refused', after } }],
      [`down at ${step}`, { ...at, fault: { kind: 'down', after, times: 3 } }],
      [`hanging at ${step}`, { ...at, fault: { kind: 'slow', ms: 3_500, after, times: 2 } }],
    ];
  }),
);

cases(
  'The notices',
  (['ses', 'sns'] as const).flatMap((target): [string, Case][] =>
    (['throttled', 'refused', 'down'] as const)
      .map((kind): [string, Case] => [
        `by ${target}, ${kind}, change nothing`,
        { on: 'tp5-live', target, more: NOTICES, fault: { kind }, first: OPENED, accounts: 1 },
      ])
      .concat([
        [
          `by ${target}, hanging, change nothing`,
          { on: 'tp5-live', target, more: NOTICES, fault: { kind: 'slow', ms: 3_500 }, first: OPENED, accounts: 1 },
        ],
      ]),
  ),
);

/** What each return code of the Web API comes to at the opening. */
const TP5_CODES: [number, Expected][] = [
  ...[3, 4, 13].map((code): [number, Expected] => [code, REFUSED]),
  ...[5, 6, 10, 11, 12, 15, 1018].map((code): [number, Expected] => [code, UNAVAILABLE]),
  // Looked up; certainly absent after the settling time.
  ...[2, 7, 9, 14, 16, 17].map((code): [number, Expected] => [code, [UNAVAILABLE, UNKNOWN]]),
  ...[8, 1000, 1001, 1002, 1012, 1022].map((code): [number, Expected] => [code, REFUSED]),
  [3002, '503 login_range_exhausted'],
  [3003, REFUSED],
  [3004, REFUSED],
  [3006, '400 password_rejected'],
  [3007, '503 account_limit_reached'],
];

cases('The opening on tp5', [
  ...TP5_CODES.map(([code, first]): [string, Case] => [
    `answered with code ${code}`,
    { on: 'tp5-live', target: 'tp5', fault: { kind: 'retcode', code }, first, accounts: 0 },
  ]),
  ...([3003, 3004] as const).map((code): [string, Case] => [
    `with a login of its own answered with code ${code}`,
    {
      on: 'tp5-live',
      target: 'tp5',
      more: { login: 800_000 + code },
      fault: { kind: 'retcode', code },
      first: code === 3003 ? '400 validation_failed' : '409 login_taken',
      accounts: 0,
    },
  ]),
  ...[false, true].flatMap((cold): [string, Case][] => {
    const at = { on: 'tp5-live', target: 'tp5', cold } as const;
    const session = cold ? 'a new session' : 'a kept session';
    return [
      [`throttled on ${session}`, { ...at, fault: { kind: 'throttled' }, first: UNAVAILABLE, accounts: 0 }],
      [`refused on ${session}`, { ...at, fault: { kind: 'refused' }, first: REFUSED, accounts: 0 }],
      [`down on ${session}`, { ...at, fault: { kind: 'down' }, first: UNAVAILABLE, accounts: 0 }],
      [`slow on ${session}`, { ...at, fault: { kind: 'slow', ms: 400 }, first: OPENED, accounts: 1 }],
      [`whose reply is lost on ${session}`, { ...at, fault: { kind: 'reply_lost' }, first: SOON, accounts: 1 }],
      [
        `dropped on ${session}`,
        { ...at, fault: { kind: 'session_dropped' }, first: [UNAVAILABLE, UNKNOWN], accounts: 0 },
      ],
      [`met with silence on ${session}`, { ...at, fault: { kind: 'silence' }, first: UNKNOWN, accounts: 0 }],
      [`answered with garbage on ${session}`, { ...at, fault: { kind: 'garbage' }, first: SOON, accounts: 1 }],
    ];
  }),
  [
    'too slow: the account is there in the end, and the retry has it',
    { on: 'tp5-live', target: 'tp5', fault: { kind: 'slow', ms: 2_500 }, first: UNKNOWN },
  ],
  [
    'whose reply is lost with a login of its own',
    {
      on: 'tp5-live',
      target: 'tp5',
      more: { login: 810_001 },
      fault: { kind: 'reply_lost' },
      first: SOON,
      accounts: 1,
    },
  ],
  [
    'dropped with a login of its own',
    {
      on: 'tp5-live',
      target: 'tp5',
      more: { login: 810_002 },
      fault: { kind: 'session_dropped' },
      first: SOON,
    },
  ],
  ...(['refused', 'session_dropped', 'garbage'] as const).map((kind): [string, Case] => [
    `${kind}, and so is the question that follows`,
    {
      on: 'tp5-live',
      target: 'tp5',
      fault: { kind, times: 2 },
      first: { refused: REFUSED, session_dropped: [UNAVAILABLE, UNKNOWN], garbage: SOON }[kind],
      accounts: kind === 'garbage' ? 1 : 0,
    },
  ]),
]);

cases(
  'The deposit on tp5',
  (
    [
      ['throttled', {}, [0, DEPOSIT]],
      ['refused', {}, [0]],
      ['down', {}, [0, DEPOSIT]],
      ['slow', { ms: 400 }, [DEPOSIT]],
      ['reply_lost', {}, [DEPOSIT]],
      ['session_dropped', {}, [0]],
      ['retcode', { code: 4005 }, [0]],
      ['silence', {}, [0]],
      ['garbage', {}, [DEPOSIT]],
    ] as const
  ).map(([kind, more, balance]): [string, Case] => [
    `${kind} changes nothing in the answer: in the end it is on the account, once, or its lack is told`,
    {
      on: 'tp5-demo',
      target: 'tp5',
      fault: { kind, after: 1, ...more },
      first: OPENED,
      accounts: 1,
      balance,
    },
  ]),
);

/** What the `ERROR` that stands for each code comes to, in both dialects. */
const TEXT_CODES: [number, Expected][] = [
  [3, REFUSED],
  [8, '400 group_not_found'],
  [10, UNAVAILABLE],
  [12, UNAVAILABLE],
  [1001, REFUSED],
  [1012, REFUSED],
  [3004, REFUSED],
  [3006, '400 password_rejected'],
  [9, REFUSED],
];

cases(
  'The opening over the text protocols',
  (['reg-live', 'gw-live'] as const).flatMap((on): [string, Case][] => {
    const { server } = CONNECTIONS[on];
    const at = { on, target: server } as const;
    // Nothing can be looked up: an operator must settle it.
    const blind = { ...at, first: UNKNOWN, retry: UNSETTLED };
    return [
      ...TEXT_CODES.map(([code, first]): [string, Case] => [
        `on ${on} answered with the error of code ${code}`,
        { ...at, fault: { kind: 'retcode', code }, first, accounts: 0 },
      ]),
      [`on ${on} throttled`, { ...at, fault: { kind: 'throttled' }, first: UNAVAILABLE, accounts: 0 }],
      [
        `on ${on} refused`,
        server === 'gw'
          ? { ...at, fault: { kind: 'refused' }, first: REFUSED, accounts: 0 }
          : { ...blind, fault: { kind: 'refused' }, accounts: 0 },
      ],
      [`on ${on} down`, { ...at, fault: { kind: 'down' }, first: UNAVAILABLE, accounts: 0 }],
      [`on ${on} slow`, { ...at, fault: { kind: 'slow', ms: 400 }, first: OPENED, accounts: 1 }],
      [`on ${on} too slow`, { ...blind, fault: { kind: 'slow', ms: 2_500 } }],
      [`on ${on} whose reply is lost`, { ...blind, fault: { kind: 'reply_lost' }, accounts: 1 }],
      [`on ${on} dropped`, { ...blind, fault: { kind: 'session_dropped' }, accounts: 0 }],
      [`on ${on} met with silence`, { ...blind, fault: { kind: 'silence' }, accounts: 0 }],
      [`on ${on} answered with garbage`, { ...blind, fault: { kind: 'garbage' }, accounts: 1 }],
    ];
  }),
);

let logins = 820_000;
const OWN_LOGIN: [string, Omit<Case, 'on' | 'target'>][] = [
  ['throttled', { fault: { kind: 'throttled' }, first: UNAVAILABLE, accounts: 0 }],
  ['refused', { fault: { kind: 'refused' }, first: REFUSED, accounts: 0 }],
  ['down', { fault: { kind: 'down' }, first: UNAVAILABLE, accounts: 0 }],
  ['slow', { fault: { kind: 'slow', ms: 400 }, first: OPENED, accounts: 1 }],
  ['dropped', { fault: { kind: 'session_dropped' }, first: SOON }],
  ['met with silence', { fault: { kind: 'silence' }, first: SOON }],
  ['answered with garbage', { fault: { kind: 'garbage' }, first: SOON, accounts: 1 }],
  ['whose reply is lost', { fault: { kind: 'reply_lost' }, first: SOON, accounts: 1 }],
];
cases(
  'The opening with a login of its own on a gateway',
  OWN_LOGIN.map(([title, one]): [string, Case] => {
    logins += 1;
    return [title, { ...one, on: 'gw-live', target: 'gw', more: { login: logins } }];
  }),
);
