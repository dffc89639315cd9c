import { accountFaults, type Case, OPENED, REFUSED, SOON, UNAVAILABLE } from '../support/account-faults.ts';

/** An opening with a login, with every kind of fault. */
const cases = accountFaults();

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

/** A login of the connection’s own: whatever becomes of an answer, it is settled within the request, if there is time. */
cases(
  'The opening with a login of the connection’s own',
  (['tp5-range', 'gw-range'] as const).flatMap((on): [string, Case][] => {
    const at = { on, target: on === 'tp5-range' ? 'tp5' : 'gw' } as const;
    return [
      [`on ${on} throttled`, { ...at, fault: { kind: 'throttled' }, first: UNAVAILABLE, accounts: 0 }],
      [`on ${on} refused`, { ...at, fault: { kind: 'refused' }, first: REFUSED, accounts: 0 }],
      [`on ${on} down`, { ...at, fault: { kind: 'down' }, first: UNAVAILABLE, accounts: 0 }],
      [`on ${on} slow`, { ...at, fault: { kind: 'slow', ms: 400 }, first: OPENED, accounts: 1 }],
      [`on ${on} too slow`, { ...at, fault: { kind: 'slow', ms: 2_500 }, first: SOON }],
      [`on ${on} whose reply is lost`, { ...at, fault: { kind: 'reply_lost' }, first: SOON, accounts: 1 }],
      [
        `on ${on} whose reply is lost twice`,
        { ...at, fault: { kind: 'reply_lost', times: 2 }, first: SOON, accounts: 1 },
      ],
      [`on ${on} dropped`, { ...at, fault: { kind: 'session_dropped' }, first: SOON }],
      [`on ${on} dropped twice`, { ...at, fault: { kind: 'session_dropped', times: 2 }, first: SOON }],
      [`on ${on} met with silence`, { ...at, fault: { kind: 'silence' }, first: SOON }],
      [`on ${on} answered with garbage`, { ...at, fault: { kind: 'garbage' }, first: SOON, accounts: 1 }],
    ];
  }),
);

cases('A login of the connection’s own that the server', [
  [
    'says exists is followed by the next one',
    { on: 'tp5-range', target: 'tp5', fault: { kind: 'retcode', code: 3004 }, first: OPENED, accounts: 1 },
  ],
  [
    'answers with an outcome that is not known is asked for again',
    { on: 'tp5-range', target: 'tp5', fault: { kind: 'retcode', code: 9 }, first: SOON, accounts: 1 },
  ],
  [
    'says belongs elsewhere is an operator’s matter',
    { on: 'tp5-range', target: 'tp5', fault: { kind: 'retcode', code: 3003 }, first: REFUSED, accounts: 0 },
  ],
]);
