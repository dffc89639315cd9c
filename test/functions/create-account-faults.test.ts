import { accountFaults, type Case, INTERNAL, OPENED, UNAVAILABLE } from '../support/account-faults.ts';

/** Every dependency at every step of an opening, with every kind of fault. */
const cases = accountFaults();

const NOTICES = { send_email: true, send_pop_up: true };

/** The calls to the database in their order; the first two are under way together. */
const DATABASE_STEPS = [
  { step: 'the claim and the records', after: 0, calls: 2, first: INTERNAL, leased: true },
  { step: 'the note before the sending', after: 2, calls: 1, first: INTERNAL, leased: true },
  { step: 'the account’s record', after: 3, calls: 1, first: OPENED },
  { step: 'the operation’s end', after: 4, calls: 1, first: OPENED, leased: true },
] as const;

cases(
  'The database',
  DATABASE_STEPS.flatMap(({ step, after, calls, first, ...rest }): [string, Case][] => {
    const at = { on: 'tp5-live', target: 'dynamodb', more: NOTICES, ...rest } as const;
    const accounts = first === OPENED ? 1 : 0;
    return [
      // The client asks three times.
      [
        `throttled for good at ${step}`,
        { ...at, fault: { kind: 'throttled', after, times: 3 * calls }, first, accounts },
      ],
      [
        `throttled for a moment at ${step}`,
        { ...at, fault: { kind: 'throttled', after }, first: OPENED, accounts: 1, leased: false },
      ],
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
    // The platform's secret is read beside it, and has the fault too.
    { step: 'the password key', after: 0, reads: 2, first: INTERNAL },
    { step: 'the platform’s secret', after: 1, reads: 1, first: UNAVAILABLE },
  ].flatMap(({ step, after, reads, first }): [string, Case][] => {
    const at = { on: 'tp5-live', target: 'secrets', cold: true, first, accounts: 0 } as const;
    return [
      [`throttled at ${step}`, { ...at, fault: { kind: 'throttled', after, times: 3 * reads } }],
      [`refusing at ${step}`, { ...at, fault: { kind: 'refused', after } }],
      [`down at ${step}`, { ...at, fault: { kind: 'down', after, times: 3 * reads } }],
      [`hanging at ${step}`, { ...at, fault: { kind: 'slow', ms: 3_500, after, times: 2 * reads } }],
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
