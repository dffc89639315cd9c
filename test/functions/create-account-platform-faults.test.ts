import { CONNECTIONS } from '../support/account-connections.ts';
import {
  accountFaults,
  type Case,
  DEPOSIT,
  type Expected,
  OPENED,
  REFUSED,
  SOON,
  UNAVAILABLE,
  UNKNOWN,
  UNSETTLED,
} from '../support/account-faults.ts';

/** Every protocol at every step of an opening, with every kind of fault. */
const cases = accountFaults();

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
